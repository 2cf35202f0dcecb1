/** Which trigger a person means. */
import { isTrigger, triggers, type Trigger } from '../../domain/trigger.ts'
import { AppError } from '../../errors.ts'
import { nearestWord } from '../../validation.ts'

/** What the configuration says about the forge. */
interface ForgeSettings {
  kind: string
  label: string
}

const listText = `allowed: ${triggers.map((name) => `"${name}"`).join(', ')}`

/** Throws INPUT_INVALID for a name that is none, or that needs a forge where there is none. */
export const checkTrigger = (name: string, { kind, label }: ForgeSettings): Trigger => {
  if (name.split(':')[0] === 'issue-labelled') {
    const which = label === '' ? 'that names a role' : `with the label "${label}"`
    throw new AppError(
      'INPUT_INVALID',
      `trigger: "${name}" needs no schedule: with a forge, an engine without other work makes a goal of each issue ${which} by itself; set forge.kind and forge.label in .unstuck/config.json (docs/forge.md)`,
    )
  }
  if (!isTrigger(name)) {
    const guess = nearestWord(name, triggers)
    throw new AppError(
      'INPUT_INVALID',
      `trigger: "${name}" is unknown; ${guess === undefined ? listText : `did you mean "${guess}"? ${listText}`}`,
    )
  }
  if (name === 'ci-failed' && kind === 'off')
    throw new AppError(
      'INPUT_INVALID',
      'trigger: "ci-failed" reads the checks of a forge, and forge.kind is "off"; set forge.kind to "github" in .unstuck/config.json (docs/forge.md), then add the schedule again',
    )
  return name
}
