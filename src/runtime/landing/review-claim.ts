/** Claims of work that a reviewer has to look at, and what such a claim allows. */
import { noSpend } from '../../domain/budget.ts'
import type { Judgement } from '../../domain/judgement.ts'
import { renewIntervalMs } from '../../domain/lease.ts'
import type { Run } from '../../domain/run.ts'
import type { Queryable } from '../../store/db.ts'
import { progressGoal } from '../../store/goal.ts'
import {
  addJudgementSpend,
  claimAgain,
  dueJudgements,
  getJudgement,
  insertJudgement,
  moveJudgement,
  renewClaim,
  requireClaim,
  requireSpender,
  type Judge,
} from '../../store/judgement.ts'
import { getRun, judgeRun, unjudgedRuns } from '../../store/run.ts'
import type { AskClaim, AskContext } from '../agent/ask-context.ts'
import { runPaths, type Context } from '../core/context.ts'
import { freeHarnesses } from '../harness/accounts.ts'
import { harnessesHere } from '../harness/harness-choice.ts'
import { judgeWorks } from './judge-hatch.ts'
import { decide, escalateWork, gateResult, modeOf, judgeableWork, repeatVerdict, type Work } from './judge.ts'

export interface ClaimedReview extends Work {
  judgement: Judgement
}

/**
 * Who reviews the work: the configured reviewer, else a configured harness that did not write it, because a model overlooks its own
 * errors; of these one whose account is not at its limit. Where there is no other, the one that wrote it; so too with a model alone,
 * because another harness does not know that model.
 */
export const reviewerFor = async (context: Context, run: Run): Promise<string> => {
  const { judge, harness } = context.config()
  if (judge.harness !== undefined) return judge.harness
  if (judge.model !== undefined) return run.harness
  const configured = [...new Set([harness.default, ...(harness.failover ?? []), ...Object.keys(harness.named)])]
  const here = harnessesHere(context)
  const others = configured
    .filter((name) => name !== undefined)
    .filter((name) => here.includes(name) && name !== run.harness)
  return (await freeHarnesses(context, others))[0] ?? others[0] ?? run.harness
}

const claimNew = async (context: Context, seen: Run, judge: Judge): Promise<ClaimedReview | undefined> => {
  const found = await judgeableWork(context.db, seen)
  if (found === undefined || modeOf(context, found) !== 'llm') return undefined
  const harness = await reviewerFor(context, seen)
  return context.db.transaction(async (tx) => {
    const work = await judgeableWork(tx, seen)
    if (work === undefined || modeOf(context, work) !== 'llm' || gateResult(context, work).kind !== 'passed')
      return undefined
    const run = await judgeRun(tx, seen.id)
    if (run === undefined) return undefined
    const judgement = await insertJudgement(tx, run, {
      ...{ id: context.newId('j'), mode: 'llm', trigger: 'claimed', engineId: judge.engineId, harness },
      ttlSeconds: context.config().lease.ttlSeconds,
    })
    if (judgement !== undefined) return { ...work, run, judgement }
    await repeatVerdict(context, tx, { ...work, run })
    return undefined
  })
}

/**
 * The owner's settings may have become stricter while the review waited: then a person decides at once, and nothing is spent. Returns
 * whether that is so.
 */
const askedInstead = async (context: Context, tx: Queryable, work: Work, seen: Judgement): Promise<boolean> => {
  const { reason, question } = decide(work, gateResult(context, work), modeOf(context, work))
  if (question === undefined) return false
  const moved = await moveJudgement(tx, seen, 'escalated', { reason, payload: { verdict: 'ask_person' } })
  if (moved.ok) await escalateWork(context, tx, work, { reason, question })
  return true
}

const claimDue = async (
  context: Context,
  seen: Judgement,
  { judge, isOutdated }: { judge: Judge; isOutdated: IsOutdated },
): Promise<ClaimedReview | undefined> => {
  const found = await getRun(context.db, seen.runId)
  if (found === undefined || (await isOutdated(found.taskId))) return undefined
  const harness = await reviewerFor(context, found)
  return context.db.transaction(async (tx) => {
    const work = await judgeableWork(tx, found)
    if (work === undefined || work.task.status !== 'blocked(awaiting_judge)') return undefined
    if (await askedInstead(context, tx, work, seen)) return undefined
    const claim = { engineId: judge.engineId, ttlSeconds: context.config().lease.ttlSeconds, harness }
    const judgement = await claimAgain(tx, seen, claim)
    return judgement === undefined ? undefined : { ...work, judgement }
  })
}

/** Whether what the task reviews has changed: then its reviewer is not asked about the old commit again. */
type IsOutdated = (taskId: string) => Promise<boolean>

/** Claims what a reviewer has to be asked about, at most `most`: first what was begun before. Nothing while the judge is off. */
export const claimReviews = async (
  context: Context,
  judge: Judge,
  most: number,
  isOutdated: IsOutdated = async () => false,
): Promise<ClaimedReview[]> => {
  const claimed: ClaimedReview[] = []
  const waiting = [
    ...(await dueJudgements(context.db, judge)).map((due) => () => claimDue(context, due, { judge, isOutdated })),
    ...(await unjudgedRuns(context.db)).map((run) => () => claimNew(context, run, judge)),
  ]
  if (waiting.length === 0 || !(await judgeWorks(context))) return claimed
  for (const claim of waiting) {
    if (claimed.length >= most || context.stopping.aborted) break
    const found = await claim()
    if (found !== undefined) claimed.push(found)
  }
  return claimed
}

const askClaim = (asking: Pick<AskContext, 'context' | 'abort'>, { judgement, run, goal }: ClaimedReview): AskClaim => {
  const { context, abort } = asking
  const { ttlSeconds } = context.config().lease
  /** A person may have ended the judgement: its agent is stopped, and what it spent still counts. */
  const lose = async (): Promise<void> => {
    const now = await getJudgement(context.db, judgement.id)
    abort.abort(now?.state === 'withdrawn' ? 'cancelled' : 'lease-lost')
  }
  const renew = async (dir: string): Promise<void> => {
    if (await renewClaim(context.db, judgement, ttlSeconds)) context.ports.processes.touchKeepAlive(dir)
    else await lose()
  }
  return {
    commit: run.commit ?? '',
    require: (tx) => requireClaim(tx, judgement),
    addSpend: async (tx, spend) => {
      await requireSpender(tx, judgement)
      await addJudgementSpend(tx, judgement, spend)
      await progressGoal(tx, goal.id, { spend })
    },
    keepAlive: (dir) => {
      const renewNow = (): void =>
        void renew(dir).catch((error: unknown) =>
          context.log.warn({ run: run.id, error: String(error) }, 'the claim of a judgement could not be renewed'),
        )
      renewNow()
      return context.clock.every(renewIntervalMs(ttlSeconds), renewNow)
    },
  }
}

/** The run has ended, and its spend is in the goal's: the limits of a run count for the review by itself. */
export const askContextOf = (context: Context, claimed: ClaimedReview): AskContext => {
  const { goal, task, run } = claimed
  const abort = new AbortController()
  return {
    ...{ context, goal, task, abort, run: { ...run, spend: noSpend }, paths: runPaths(context, run.id) },
    renewedAt: context.clock.elapsed(),
    claim: askClaim({ context, abort }, claimed),
  }
}
