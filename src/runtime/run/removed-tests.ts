/** Tests that failed and that the work took away: a check that passes without them shows nothing about what they asked. */
import type { Weakening } from '../../domain/run.ts'
import { recoveriesOf } from '../../store/recovery.ts'
import type { Baseline } from '../checks/baseline.ts'
import type { Session } from '../core/session.ts'

const takesAway: readonly Weakening['kind'][] = ['file deleted', 'test removed', 'test skipped']

/** The owner named the file itself, not a pattern: then what becomes of it is the task. */
const isOrdered = ({ task }: Session, { path }: Weakening): boolean => task.allowedPaths.includes(path)

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

/**
 * What failed, on the base commit or in an earlier round, and is gone from the tests. `bases`: what the checks that pass now
 * do on the base commit; asked only where tests are gone at all.
 */
export const removedFailures = async (
  session: Session,
  weakened: readonly Weakening[],
  bases: () => Promise<Baseline[]>,
): Promise<string[]> => {
  const gone = weakened.filter((entry) => takesAway.includes(entry.kind) && !isOrdered(session, entry))
  if (gone.length === 0) return []
  const failed = [...(await toldBefore(session)), ...(await bases()).flatMap(failedOn)]
  const found: string[] = []
  for (const name of new Set(failed))
    for (const entry of gone)
      if (await tookAway(session, entry, name)) found.push(`${name ?? 'a failing test'} (${entry.kind}: ${entry.path})`)
  return [...new Set(found)].slice(0, 20)
}
