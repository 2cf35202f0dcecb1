/** Begins a turn of a loop: a new session, with the harness of the role, in the workspace of the run. */
import type { LoopRole, LoopState } from '../../../domain/loop.ts'
import { carriedVerdict, lastLaunch, type Launch, type LaunchCorrections } from '../../../domain/run.ts'
import { AppError } from '../../../errors.ts'
import type { Queryable } from '../../../store/db.ts'
import { appendEvent } from '../../../store/event.ts'
import { recoveriesOf } from '../../../store/recovery.ts'
import { firstCorrections } from '../../agent/first-corrections.ts'
import { saveProgress, type RunContext } from '../../core/run-context.ts'
import { accountLimitOf } from '../../harness/accounts.ts'
import { harnessNamed, missingProgram, type HarnessChoice } from '../../harness/harness-choice.ts'
import type { PhaseResult } from '../phase.ts'

/** The harness of a role. While its account is at a limit, that of the task takes its place if the owner allows a failover at all. */
const harnessOfRole = async ({ context, task }: RunContext, role: LoopRole): Promise<string> => {
  const { loop, harness: settings } = context.config()
  const { harness = task.harness } = loop.roles[role] ?? {}
  const { failover = [] } = settings
  if (harness === task.harness || failover.length === 0) return harness
  return (await accountLimitOf(context, context.db, harness)) === undefined ? harness : task.harness
}

const choiceOf = ({ context }: RunContext, name: string, role: LoopRole): HarnessChoice => {
  const choice = harnessNamed(context.config(), name)
  const missing = missingProgram(context.ports.files, choice, name, context.environment.PATH)
  if (missing !== undefined) throw new AppError('HARNESS_MISSING', `loop.roles.${role}: ${missing}`)
  return choice
}

/** What was allowed to the turns before, where their harness is the same: the role would be refused the same again. */
const correctionsOf = (runContext: RunContext, harness: string): Promise<LaunchCorrections> | LaunchCorrections => {
  const last = runContext.run.launches.findLast((launch) => launch.harness === harness)
  return last?.corrections ?? firstCorrections({ ...runContext, run: { ...runContext.run, harness } })
}

const launchOf = (runContext: RunContext, loop: LoopState, given: Pick<Launch, 'corrections' | 'harness'>): Launch => ({
  number: (lastLaunch(runContext.run)?.number ?? 0) + 1,
  ...given,
  ...{ resumeSession: null, hint: null, shim: null, gateOpened: false, startedAt: null, spend: null },
  turn: { iteration: loop.iteration, role: loop.role },
})

/** Phase `launch` starts the agent, also after a restart of the engine. `record` writes in the same transaction. */
export const startTurn = async (
  runContext: RunContext,
  loop: LoopState,
  record: (tx: Queryable) => Promise<void> = async () => undefined,
): Promise<PhaseResult> => {
  const { run } = runContext
  const harness = await harnessOfRole(runContext, loop.role)
  const choice = choiceOf(runContext, harness, loop.role)
  const launch = launchOf(runContext, loop, { harness, corrections: await correctionsOf(runContext, harness) })
  await runContext.context.db.transaction(async (tx) => {
    await record(tx)
    const recoveries = (await recoveriesOf(tx, run.taskId)).length
    await saveProgress(
      runContext,
      {
        ...{ phase: 'launch', loop: { ...loop, stage: 'turn', recoveries }, launches: [...run.launches, launch] },
        ...{ harness, sessionId: null, tree: null, verdict: carriedVerdict(run.verdict) },
      },
      tx,
    )
    await appendEvent(tx, {
      type: 'loop.turn_started',
      ...{ goalId: run.goalId, taskId: run.taskId, runId: run.id },
      payload: { iteration: loop.iteration, limit: loop.limit, role: loop.role, harness, launch: launch.number },
    })
  })
  // After the write: if it fails, the run continues with the harness that the store names.
  Object.assign(runContext, choice)
  return 'on'
}
