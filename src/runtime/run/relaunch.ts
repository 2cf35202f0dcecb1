/** Actions of scope `launch`: the same run starts its agent again with something changed. */
import type { LoopState } from '../../domain/loop.ts'
import { carriedVerdict, lastLaunch, type Run } from '../../domain/run.ts'
import { nextLaunch } from '../agent/next-launch.ts'
import { firstCorrections } from '../agent/first-corrections.ts'
import { correctedLaunch } from '../agent/start-launch.ts'
import { progressSummary } from '../agent/progress-summary.ts'
import type { ActionOf, ChosenRecovery } from '../core/recovery-record.ts'
import { saveProgress, type RunContext } from '../core/run-context.ts'
import { recordIntent } from '../core/store-record.ts'
import { detectCapabilities } from '../harness/detected-capabilities.ts'
import { startTurn } from './loop/start-turn.ts'
import type { PhaseResult } from './phase.ts'

/** A new session does not know the previous one, so its hint also describes the work so far. */
const actionFor = async (runContext: RunContext, { step: { action } }: ChosenRecovery<ActionOf<'relaunch'>>) =>
  action.fresh === true ? { ...action, hint: `${action.hint}\n${await progressSummary(runContext)}` } : action

/** The worker continues its turn where the checks of its iteration could not begin; a question about a check is no turn. */
const loopAfter = ({ loop }: Run, { ask }: ActionOf<'relaunch'>): LoopState | null =>
  loop?.stage === 'tests' && ask === undefined ? { ...loop, stage: 'turn' } : loop

/** Work that was complete and did not pass its last verification goes through all roles again, with what was found. */
const feedIntoLoop = (
  runContext: RunContext,
  chosen: ChosenRecovery<ActionOf<'relaunch'>>,
  loop: LoopState,
): Promise<PhaseResult> => {
  const { context } = runContext
  const [iteration, open] = [loop.iteration + 1, chosen.step.action.hint]
  // Bounded by the budget of the playbook instead of the number of iterations.
  const limit = Math.max(loop.limit, iteration)
  return startTurn(
    runContext,
    { ...loop, iteration, limit, open, role: 'planner', before: runContext.run.tree, tests: null },
    (tx) => recordIntent(context, tx, runContext.run, chosen),
  )
}

/** Stores the corrected launch; phase `launch` starts it, also after a restart of the engine. */
export const relaunch = async (
  runContext: RunContext,
  chosen: ChosenRecovery<ActionOf<'relaunch'>>,
): Promise<PhaseResult> => {
  const { context, run } = runContext
  // A run that only checks work of the run before it has started no agent yet.
  const last = lastLaunch(run)
  if (run.loop?.stage === 'landing' && chosen.step.action.ask === undefined)
    return feedIntoLoop(runContext, chosen, run.loop)
  const { capabilities: can } = await detectCapabilities(runContext)
  const action = await actionFor(runContext, chosen)
  const change = nextLaunch(
    last?.corrections ?? (await firstCorrections(runContext)),
    action,
    can.resume ? run.sessionId : null,
  )
  await context.db.transaction(async (tx) => {
    // Recorded with the complete hint, so that the event shows the text the agent receives.
    await recordIntent(context, tx, runContext.run, { ...chosen, step: { ...chosen.step, action } })
    // Dropped checks and installs are kept, so that the next verification runs under the same conditions.
    const verdict = carriedVerdict(runContext.run.verdict)
    const launches = [...runContext.run.launches, correctedLaunch(last ?? { number: 0 }, change)]
    await saveProgress(runContext, { phase: 'launch', launches, tree: null, verdict, loop: loopAfter(run, action) }, tx)
  })
  context.at('recovery-intended')
  return 'on'
}
