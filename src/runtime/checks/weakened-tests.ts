/** Looks whether the collected work weakened the tests it is judged by: texts from the base commit and the collected tree. */
import type { Weakening } from '../../domain/run.ts'
import { planCommand } from '../../recovery/command/plan.ts'
import { packageScript } from '../../recovery/command/script.ts'
import { mayHoldTests, weakenedBy, type TextChange } from '../../recovery/weakened.ts'
import type { ChangeList } from '../../workspace/contract.ts'
import type { Session } from '../core/session.ts'

/** Each costs two looks into the object store. */
const maxFiles = 200

const readBoth = async (session: Session, found: ChangeList, path: string): Promise<TextChange> => {
  const { git } = session.context.ports
  const { shadow } = session.context
  return {
    path,
    before: await git.textAt(shadow, found.base, path),
    after: await git.textAt(shadow, found.tree, path),
  }
}

const scriptsIn = (text: string | undefined): Record<string, string> => {
  try {
    const parsed = JSON.parse(text ?? '{}') as { scripts?: Record<string, unknown> }
    const written = Object.entries(parsed.scripts ?? {})
    return Object.fromEntries(written.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
  } catch {
    return {} // a broken manifest has no scripts to compare
  }
}

/** Scripts by which the checks run, and which the work changed: such a check is no longer the one that was asked for. */
const redefined = async (session: Session, found: ChangeList, commands: readonly string[]): Promise<Weakening[]> => {
  const called = commands.flatMap((command) => {
    const plan = planCommand(command)
    return plan.ok ? plan.steps.flatMap(({ argv }) => packageScript(argv)?.script ?? []) : []
  })
  const manifest = 'package.json'
  if (called.length === 0 || !found.changes.some(({ path }) => path === manifest)) return []
  const both = await readBoth(session, found, manifest)
  const [before, after] = [scriptsIn(both.before), scriptsIn(both.after)]
  return [...new Set(called.flatMap((name) => [`pre${name}`, name, `post${name}`]))]
    .filter((name) => before[name] !== undefined && before[name] !== after[name])
    .map((name) => ({
      kind: 'check redefined',
      path: manifest,
      count: 1,
      detail: `${name}: ${before[name] ?? ''} -> ${after[name] ?? 'removed'}`.slice(0, 500),
    }))
}

export const weakenedIn = async (
  session: Session,
  found: ChangeList,
  commands: readonly string[],
): Promise<Weakening[]> => {
  const paths = found.changes.map(({ path }) => path).filter(mayHoldTests)
  const texts: TextChange[] = []
  for (const path of paths.slice(0, maxFiles)) texts.push(await readBoth(session, found, path))
  return [...(await redefined(session, found, commands)), ...weakenedBy(texts)]
}
