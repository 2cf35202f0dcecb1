/** Finds failing tests that the work removed: a check that passes without them proves nothing about them. */
import type { Weakening } from '../../domain/run.ts'
import { isNamedByTask } from '../../recovery/named-by-task.ts'
import { recoveriesOf } from '../../store/recovery.ts'
import type { Baseline } from '../checks/check-cache.ts'
import type { RunContext } from '../core/run-context.ts'

const takesAway: readonly Weakening['kind'][] = ['file deleted', 'test removed', 'test renamed', 'test skipped']

/** Whether this change removed the named test, or may have removed a failure without a name. */
const tookAway = async (
  runContext: RunContext,
  { kind, path, detail }: Weakening,
  name: string | null,
): Promise<boolean> => {
  if (name === null) return true
  const short = name.split(' > ').at(-1) ?? name
  if (kind !== 'test skipped') return detail.includes(short)
  const before = await runContext.context.ports.git.textAt(
    runContext.context.shadow,
    runContext.run.baseCommit ?? '',
    path,
  )
  return before?.includes(short) === true
}

/** Names of the failures that earlier rounds of this run reported to the agent. */
const reportedBefore = async ({ context, run, task }: RunContext): Promise<string[]> =>
  (await recoveriesOf(context.db, task.id))
    .filter(({ runId }) => runId === run.id)
    .flatMap(({ action }) => (action['feedback'] as { failing?: string[] } | undefined)?.failing ?? [])

/** Null = a failure without a name. */
const failedOn = (base: Baseline): (string | null)[] => {
  if (base.state !== 'fails' || base.set.infra) return []
  return base.set.tests ?? (base.set.label === 'test_failure' ? [null] : [])
}

/**
 * Results of the currently passing checks on other commits. Called only if tests were removed, because it runs the
 * checks again.
 */
interface Elsewhere {
  onBase(): Promise<Baseline[]>
  /** On the work, with these files as in the base commit. */
  withTests(paths: string[]): Promise<Baseline[]>
}

const goneOf = async (
  runContext: RunContext,
  gone: readonly Weakening[],
  failed: readonly (string | null)[],
): Promise<string[]> => {
  const found: string[] = []
  for (const name of new Set(failed))
    for (const entry of gone)
      if (await tookAway(runContext, entry, name))
        found.push(`${name ?? 'a failing test'} (${entry.kind}: ${entry.path})`)
  return [...new Set(found)].slice(0, 20)
}

/** Tests that failed on the base commit, in an earlier round or with the work itself, and that the work removed. */
export const removedFailures = async (
  runContext: RunContext,
  weakened: readonly Weakening[],
  elsewhere: Elsewhere,
): Promise<string[]> => {
  const gone = weakened.filter((entry) => takesAway.includes(entry.kind) && !isNamedByTask(runContext.task, entry.path))
  if (gone.length === 0) return []
  const failed = [...(await reportedBefore(runContext)), ...(await elsewhere.onBase()).flatMap(failedOn)]
  const found = await goneOf(runContext, gone, failed)
  if (found.length > 0) return found
  const hidden = (await elsewhere.withTests(gone.map(({ path }) => path))).flatMap(failedOn)
  // In a file that still exists, other tests may fail for a good reason: the work changed them on purpose.
  const areDeleted = gone.every(({ kind }) => kind === 'file deleted')
  return goneOf(runContext, gone, areDeleted ? hidden : hidden.filter((name) => name !== null))
}
