/** Reads what `unstuck policy test` decides again: stored violations, and the runs after which a task had to continue. */
import type { Recovery, Requeue, Run, TaskView } from '../api/contract.ts'
import type { FailureCase, PathCase } from '../recovery/policy/replay.ts'
import { fruitlessCalls } from '../recovery/fruitless.ts'
import type { RecordedRecovery } from '../runtime/core/recovery-record.ts'
import { callsOf, notByWork } from '../runtime/core/call-results.ts'
import { comparable, failureOf } from '../runtime/run/requeue-facts.ts'
import type { Repository } from '../workspace/repository-types.ts'
import { pathFactsOf } from '../workspace/path-facts.ts'
import type { Io } from './io.ts'
import { inBase, pathTaskOf } from './policy-explain.ts'

interface Stored {
  tasks: ReadonlyMap<string, TaskView>
  runs: readonly Run[]
  recoveries: readonly Recovery[]
  requeues: readonly Requeue[]
}

/** What a recovery was about stands in its post-condition, whether its action left paths out, allowed them, asked, or told the agent. */
const pathsOf = ({ postCondition }: Recovery): string[] => {
  const { paths } = postCondition as { paths?: unknown }
  return Array.isArray(paths) ? paths.filter((path) => typeof path === 'string') : []
}

/** Violations that ended a run, and those that a recovery within a run decided. */
const pathCases = async (repository: Repository, { tasks, runs, recoveries }: Stored): Promise<PathCase[]> => {
  const ended = runs.flatMap(({ id, taskId, errorMeta }) =>
    (errorMeta?.policyViolations ?? []).map(({ path, kind }) => ({ taskId, runId: id, path, kind })),
  )
  const recovered = recoveries
    .filter(({ label }) => label === 'policy_violation')
    .flatMap((recovery) =>
      pathsOf(recovery).map((path) => ({ taskId: recovery.taskId, runId: recovery.runId, path, kind: 'outside' })),
    )
  const found: PathCase[] = []
  for (const entry of [...recovered, ...ended]) {
    const task = tasks.get(entry.taskId)
    if (task === undefined) continue
    const facts = inBase(await pathFactsOf(repository, entry.path))
    found.push({ ...entry, title: task.title, task: pathTaskOf(task), facts })
  }
  return found
}

type Failed = Run & { errorMeta: NonNullable<Run['errorMeta']> }

/** Only these ends are followed by a decision of the rules: the others are faults of the machine, or were ended by a person. */
const bySource: ReadonlySet<string> = new Set(['execution', 'verification', 'policy'])

const failedOf = ({ runs }: Stored, { id, countFromEpoch }: TaskView): Failed[] =>
  runs.filter(
    (run): run is Failed =>
      run.taskId === id &&
      run.state === 'failed' &&
      run.epoch > countFromEpoch &&
      run.errorMeta !== null &&
      !notByWork.has(run.errorMeta.failureCode),
  )

/** The failed runs of the tasks that this one continues. A person's retry begins a new count. */
const earlierRuns = (stored: Stored, task: TaskView): Failed[] => {
  const found: Failed[] = []
  const seen = new Set([task.id])
  for (let at = task; at.rework !== null && at.countFromEpoch === 0;) {
    const parent = stored.tasks.get(at.rework.parent)
    if (parent === undefined || seen.has(parent.id)) break
    seen.add(parent.id)
    found.unshift(...failedOf(stored, parent))
    at = parent
  }
  return found
}

/** The checks as they were: a corrected list no longer has the command that failed. */
const commandsThen = ({ commands, originalCommands }: TaskView, { errorMeta: { adjustment } }: Failed): string[] =>
  adjustment === undefined || commands.includes(adjustment.command) ? commands : originalCommands

/** After a run that waits for a path it is decided several times; the last decision has no row, or one that ends the wait. */
const decisionsAfter = (rows: readonly Requeue[]): number[] => {
  const waits = rows.findIndex(({ cause }) => cause !== 'suppressed')
  return Array.from({ length: (waits === -1 ? rows.length : waits) + 1 }, (_, index) => index)
}

const failureCases = (stored: Stored, task: TaskView): FailureCase[] => {
  const [earlier, own] = [earlierRuns(stored, task), failedOf(stored, task)]
  const rows = stored.requeues.filter(({ taskId, epoch }) => taskId === task.id && epoch > task.countFromEpoch)
  return own.flatMap((run, index) => {
    if (!bySource.has(run.errorMeta.source)) return []
    const [before, after] = [
      rows.filter(({ epoch }) => epoch < run.epoch),
      rows.filter(({ epoch }) => epoch === run.epoch),
    ]
    const sofar = [...earlier, ...own.slice(0, index + 1)]
    const isCheck = run.errorMeta.source === 'verification'
    const known = {
      status: run.errorMeta.source === 'execution' ? ('failed' as const) : ('blocked(needs_rework)' as const),
      ...{ taskId: task.id, failure: failureOf(run.errorMeta), commands: commandsThen(task, run) },
      runs: sofar.map(comparable),
      fruitless: fruitlessCalls(callsOf(sofar, stored.recoveries as unknown as RecordedRecovery[])),
      solvesConflict: task.rework?.kind === 'conflict',
      ...{ depth: task.rework?.depth ?? 0, hasChild: after.at(-1)?.reason === 'rework_child_already_exists' },
    }
    return decisionsAfter(after).map((count) => ({
      ...{ taskId: task.id, title: task.title, runId: run.id, task: pathTaskOf(task), isCheck },
      facts: { ...known, past: [...before, ...after.slice(0, count)] },
    }))
  })
}

export const storedCases = async (
  io: Io,
  repository: Repository,
): Promise<{ paths: PathCase[]; failures: FailureCase[] }> => {
  const { readOnly } = await import('./engine/read-only.ts')
  const stored = await readOnly(io, async ({ client }): Promise<Stored> => ({
    tasks: new Map((await client.all<TaskView>('/tasks')).map((task) => [task.id, task])),
    runs: await client.all<Run>('/runs'),
    recoveries: await client.all<Recovery>('/recoveries'),
    requeues: await client.all<Requeue>('/requeues'),
  }))
  return {
    paths: await pathCases(repository, stored),
    failures: [...stored.tasks.values()].flatMap((task) => failureCases(stored, task)),
  }
}
