/**
 * Part of phase `prepare` for a task of kind `loop`: the run continues with the same turn of the same iteration in which the run before
 * it ended, on its files and reports. Without such a run it begins with the planner.
 */
import { loopRoles, type LoopState } from '../../../domain/loop.ts'
import type { Run } from '../../../domain/run.ts'
import { limitFrom } from '../../../recovery/loop/iteration.ts'
import { listRuns } from '../../../store/run.ts'
import { collectNow } from '../../agent/collected.ts'
import { loopBefore } from '../../agent/resume-from.ts'
import { bringReports, writeOwnReport } from '../../agent/turn-reports.ts'
import { saveProgress, workTreeOf, type RunContext } from '../../core/run-context.ts'
import type { PhaseResult } from '../phase.ts'
import { startTurn } from './start-turn.ts'

const freshLoop = (most: number): LoopState => ({
  ...{ iteration: 1, role: 'planner', stage: 'turn', limit: limitFrom(1, most) },
  ...{ before: null, tests: null, signatures: [], open: '', recoveries: 0 },
})

/** The iteration after one that ended: by a question to a person, or because its work did not land. */
const nextAfter = (loop: LoopState, why: string): LoopState => ({
  ...{ ...loop, iteration: loop.iteration + 1, role: 'planner', stage: 'turn', tests: null },
  open: loop.stage === 'landing' ? why : loop.open,
})

/** Where the loop goes on. A person's retry begins a new count of iterations, and earlier repetitions are forgotten. */
const continued = (runContext: RunContext, { loop, epoch, errorMeta }: Run & { loop: LoopState }): LoopState => {
  const { task, context } = runContext
  const most = context.config().loop.max_iterations
  const isOver = loop.stage === 'asked' || loop.stage === 'landing'
  const at = isOver ? nextAfter(loop, errorMeta?.message ?? 'the work was complete and could not be merged') : loop
  const isNewCount = epoch <= task.countFromEpoch
  const isBeyond = at.iteration > at.limit
  return {
    ...{ ...at, stage: at.stage === 'recovery' ? 'recovery' : 'turn' },
    ...(isNewCount || isBeyond ? { limit: limitFrom(at.iteration, most) } : {}),
    ...(isNewCount ? { signatures: [] } : {}),
  }
}

const reads = (loop: LoopState): boolean => loop.role !== 'worker'

/**
 * Roles that do not change the work get it as it was when their turn began. On another base, or with what a person did, it is other work: what the worker and
 * the checks did for this iteration has to be done again.
 */
const atTurn = async (runContext: RunContext, loop: LoopState, isSameWork: boolean): Promise<LoopState> => {
  const { context } = runContext
  const { tree } = await collectNow(runContext)
  if (!reads(loop)) return { ...loop, before: tree, tests: null }
  if (isSameWork && loop.before !== null) {
    if (loop.before !== tree)
      await context.ports.git.revertFiles(context.shadow, {
        ...{ before: loop.before, after: tree, workTree: workTreeOf(runContext) },
      })
    return loop
  }
  const isTested = loopRoles.indexOf(loop.role) > loopRoles.indexOf('worker')
  return { ...loop, role: isTested ? 'worker' : loop.role, before: tree, tests: null }
}

/** A tree is not handed over: on another host there is none to go back to. */
const isHere = ({ context }: RunContext, tree: string | null): Promise<boolean> =>
  tree === null
    ? Promise.resolve(false)
    : context.ports.git.treeOf(context.shadow, tree).then(
        () => true,
        () => false,
      )

const loopOf = async (runContext: RunContext, runs: readonly Run[], base: string): Promise<LoopState> => {
  const { context, run } = runContext
  const earlier = runs.filter(({ number }) => number < run.number)
  const before = earlier.findLast(({ loop }) => loop !== null)
  if (before?.loop == null) return freshLoop(context.config().loop.max_iterations)
  const at = continued(runContext, { ...before, loop: before.loop })
  // Without the plan, which another host has, the roles after the planner could not work.
  const hasPlan = bringReports(runContext, before.id)
  const isNewest = before.baseCommit === base && loopBefore(earlier, run.number)?.id === before.id
  const isSameWork = isNewest && (await isHere(runContext, at.before))
  return atTurn(runContext, hasPlan ? at : { ...at, role: 'planner', tests: null }, isSameWork)
}

/** What a person asked for, in full: the brief holds only a part of a long text. */
const goalText = ({ goal, task }: RunContext): string =>
  [`# ${task.title}`, task.instructions === '' ? goal.requirement : task.instructions]
    .concat(task.instructions === goal.requirement ? [] : ['# The goal that the task is part of', goal.requirement])
    .join('\n\n')

/** `isReady`: a person's answer or the end of a wait lets a proposed command run, and the checks follow without a turn. */
export const beginLoop = async (runContext: RunContext, base: string, isReady: boolean): Promise<PhaseResult> => {
  const { context, run } = runContext
  const loop = await loopOf(runContext, await listRuns(context.db, { taskId: run.taskId }), base)
  writeOwnReport(runContext, 'goal.md', goalText(runContext))
  const isDeciding = loop.stage === 'recovery' && loop.role === 'tester'
  if (isDeciding && isReady) {
    await saveProgress(runContext, { phase: 'verify', tree: loop.before, loop })
    return 'on'
  }
  // The proposal was rejected, or nobody decides about it any more.
  if (isDeciding) return startTurn(runContext, { ...loop, role: 'reviewer' })
  return startTurn(runContext, loop.before === null ? { ...loop, before: (await collectNow(runContext)).tree } : loop)
}
