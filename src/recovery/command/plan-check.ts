/**
 * The plan of a check. People and models write checks as they type them in a terminal, with the output cut: `npm test 2>&1 | tail -20`. What
 * only shortens or joins output is left out: it changes nothing about what is checked, and in a shell it would hide a failure, because
 * the status of a pipe is that of its last program.
 */
import { planCommand, type CommandPlan } from './command-plan.ts'

const cut = String.raw`\|&?\s*(?:(?:tail|head)(?:\s+-{1,2}[\w=-]+|\s+\d+)*|less|more)`
const ending = new RegExp(String.raw`\s*(?:2>&1|>&2|2>\s*/dev/null|&>\s*/dev/null|>\s*/dev/null|${cut})\s*$`)

/** The command line without what only shortens its output at the end. */
const withoutCut = (text: string): string => {
  for (let left = text; ;) {
    const shorter = left.replace(ending, '')
    if (shorter === left) return left
    left = shorter
  }
}

/** As `planCommand`; a part in quotes is never cut, because what is left of it is no command. */
export const planCheck = (text: string): CommandPlan => {
  const plan = planCommand(text)
  if (plan.ok || text.length > 4_096) return plan
  const shorter = withoutCut(text)
  const again = shorter === text ? plan : planCommand(shorter)
  return again.ok ? again : plan
}
