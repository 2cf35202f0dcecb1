/** Phase `collect`: captures what the agent left, before verification can write into the workspace. */
import type { LoopState } from '../../../domain/loop.ts'
import { mustBeCorrected } from '../../../recovery/diagnosis/launch-failure.ts'
import type { ChangeList } from '../../../workspace/repository-types.ts'
import { collectNow, isUnchanged } from '../../agent/collected.ts'
import { observedDenials, readLaunch, openDenials } from '../../agent/denials.ts'
import { ownLoopStop } from '../../agent/stalled.ts'
import { saveProgress, type RunContext } from '../../core/run-context.ts'
import { messageInWords } from '../../../recovery/agent-words.ts'
import { limitOf } from '../../../recovery/limit.ts'
import { askInWords, wordsOfTurn } from '../agent-question.ts'
import { recover } from '../carry-out.ts'
import type { KeptCommits } from '../../../workspace/snapshot.ts'
import { bringStrayWork } from '../bring-stray-work.ts'
import { encoded } from '../path-fence.ts'
import { leaveOutLitter } from '../leave-out-litter.ts'
import { askAboutLoop } from '../loop/end-iteration.ts'
import { endRoleTurn } from '../loop/end-role-turn.ts'
import { resolveWork } from '../no-change.ts'
import type { PhaseResult, Phase } from '../phase.ts'

/** Keeps the agent's own commits as a snapshot. They are never merged: the commit that lands is built by Unstuck. */
const keepCommits = async (runContext: RunContext, base: string): Promise<KeptCommits['kept']> => {
  const { context, goal, paths, run } = runContext
  if (goal.repoMode === 'direct') return []
  const { kept, reason } = await context.ports.git.keepAgentCommits(context.shadow, {
    workspace: paths.workspace,
    runId: run.id,
    base,
  })
  if (reason !== null) context.log.info({ run: run.id, reason }, "the agent's own commits were not all kept")
  return kept
}

/**
 * Looks for the cause of a turn without a change (a refusal, a loop); without a cause the checks decide whether
 * nothing had to be done.
 */
const causeOfNothing = async (runContext: RunContext): Promise<PhaseResult | undefined> => {
  const reading = readLaunch(runContext)
  const denials = await observedDenials(runContext, reading.denials)
  if (denials.length > 0)
    return recover(runContext, { kind: 'denial', harness: runContext.driver.name, denials, because: 'nothing changed' })
  const stall = await ownLoopStop(runContext, reading)
  if (stall !== undefined) return recover(runContext, { kind: 'stall', stall })
  const refusal = messageInWords(wordsOfTurn(runContext))
  const failure = refusal === undefined ? undefined : ({ source: 'stderr', text: refusal } as const)
  // A CLI that ends well and says only that its provider refused: the turn did not take place.
  if (failure !== undefined && limitOf(failure) !== undefined)
    return recover(runContext, { kind: 'launch', harness: runContext.driver.name, failure, denials: [] })
  return runContext.run.loop === null ? askInWords(runContext) : undefined
}

/**
 * The agent was refused a path that it may be granted, so the work may be incomplete in a way no check notices.
 * Neither other changes nor passing checks make up for that.
 */
const causeOfGap = async (runContext: RunContext): Promise<PhaseResult | undefined> => {
  const denials = (await openDenials(runContext)).filter(mustBeCorrected)
  return denials.length === 0
    ? undefined
    : recover(runContext, { kind: 'denial', harness: runContext.driver.name, denials, because: 'it may be granted' })
}

/** Most roles change nothing, so only what the agent was refused matters here. */
const collectTurn = async (runContext: RunContext, loop: LoopState, found: ChangeList): Promise<PhaseResult> => {
  if (!isUnchanged(found))
    await resolveWork(runContext, { satisfied: true, detail: `${found.changes.length} changed path(s)` })
  const isIdle = loop.role === 'worker' && found.tree === loop.before
  return (await (isIdle ? causeOfNothing : causeOfGap)(runContext)) ?? endRoleTurn(runContext, loop, found)
}

/** Files that only a filter can store, and that may not run: without them a check would fail for what no agent can mend. */
const withoutFilter = async (runContext: RunContext, found: ChangeList): Promise<PhaseResult | undefined> => {
  const filters = [...new Set(found.leftOut.flatMap(({ lacksFilter }) => lacksFilter ?? []))]
  if (filters.length === 0 || runContext.goal.repoMode === 'direct') return undefined
  const violations = encoded(found)
  return recover(
    runContext,
    { kind: 'policy', violations, options: { filters } },
    { source: 'policy', policyViolations: violations },
  )
}

/**
 * Captures the work and keeps the agent's own commits; a turn without a change, or with a refused path, may lead to a
 * recovery.
 */
export const collect: Phase = async (runContext) => {
  const inPlace = await collectNow(runContext)
  const kept = await keepCommits(runContext, inPlace.base)
  const { loop } = runContext.run
  const mayWork = loop === null || loop.role === 'worker'
  const isEmpty = mayWork && isUnchanged({ ...inPlace, nestedRepositories: [] })
  const brought = isEmpty ? await bringStrayWork(runContext, inPlace.base, kept) : undefined
  const found = await leaveOutLitter(runContext, brought ?? inPlace)
  runContext.context.at('collected')
  if (loop?.stage === 'turn') return collectTurn(runContext, loop, found)
  if (loop?.stage === 'asked') return askAboutLoop(runContext, loop)
  const unchanged = loop === null && isUnchanged(found)
  if (!unchanged) await resolveWork(runContext, { satisfied: true, detail: `${found.changes.length} changed path(s)` })
  const next = (await withoutFilter(runContext, found)) ?? (await (unchanged ? causeOfNothing : causeOfGap)(runContext))
  if (next !== undefined) return next
  await saveProgress(runContext, { phase: 'verify', tree: found.tree })
  return 'on'
}
