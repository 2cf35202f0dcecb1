/** Tests that failed, or that fail with the work, and that it took away: a check that passes without them shows nothing about them. */
import type { Weakening } from '../../domain/run.ts'
import { isNamed } from '../../recovery/named-by-task.ts'
import { recoveriesOf } from '../../store/recovery.ts'
import type { Baseline } from '../checks/kept-checks.ts'
import type { Session } from '../core/session.ts'

const takesAway: readonly Weakening['kind'][] = ['file deleted', 'test removed', 'test renamed', 'test skipped']

/** Whether this entry took away the test of this name, or one of a failure without names. */
const tookAway = async (session: Session, { kind, path, detail }: Weakening, name: string | null): Promise<boolean> => {
  if (name === null) return true
  const short = name.split(' > ').at(-1) ?? name
  if (kind !== 'test skipped') return detail.includes(short)
  const before = await session.context.ports.git.textAt(session.context.shadow, session.run.baseCommit ?? '', path)
  return before?.includes(short) === true
}

/** Names of what failed in the rounds of this run before. */
const toldBefore = async ({ context, run, task }: Session): Promise<string[]> =>
  (await recoveriesOf(context.db, task.id))
    .filter(({ runId }) => runId === run.id)
    .flatMap(({ action }) => (action['feedback'] as { failing?: string[] } | undefined)?.failing ?? [])

/** Null = something failed there that has no name. */
const failedOn = (base: Baseline): (string | null)[] => {
  if (base.state !== 'fails' || base.set.infra) return []
  return base.set.tests ?? (base.set.label === 'test_failure' ? [null] : [])
}

/** What the checks that pass now do elsewhere; asked only where tests are gone at all. */
interface Elsewhere {
  onBase(): Promise<Baseline[]>
  /** On the work with these files as they were on the base commit. */
  withTests(paths: string[]): Promise<Baseline[]>
}

const goneOf = async (
  session: Session,
  gone: readonly Weakening[],
  failed: readonly (string | null)[],
): Promise<string[]> => {
  const found: string[] = []
  for (const name of new Set(failed))
    for (const entry of gone)
      if (await tookAway(session, entry, name)) found.push(`${name ?? 'a failing test'} (${entry.kind}: ${entry.path})`)
  return [...new Set(found)].slice(0, 20)
}

/** What failed, on the base commit, in an earlier round or by the work itself, and is gone from the tests. */
export const removedFailures = async (
  session: Session,
  weakened: readonly Weakening[],
  elsewhere: Elsewhere,
): Promise<string[]> => {
  const gone = weakened.filter((entry) => takesAway.includes(entry.kind) && !isNamed(session.task, entry.path))
  if (gone.length === 0) return []
  const failed = [...(await toldBefore(session)), ...(await elsewhere.onBase()).flatMap(failedOn)]
  const found = await goneOf(session, gone, failed)
  if (found.length > 0) return found
  const hidden = (await elsewhere.withTests(gone.map(({ path }) => path))).flatMap(failedOn)
  // In a file that is still there, other tests may fail because the work changed them rightly.
  const areDeleted = gone.every(({ kind }) => kind === 'file deleted')
  return goneOf(session, gone, areDeleted ? hidden : hidden.filter((name) => name !== null))
}
