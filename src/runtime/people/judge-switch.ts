/** A person's switch of the judge. It stays as it is until a person changes it, over restarts and on every engine. */
import { countOpenPullRequests } from '../../store/forge-link.ts'
import { readHatch, switchJudge, type Hatch } from '../../store/hatch.ts'
import { countPendingReviews } from '../../store/judged-run.ts'
import type { Context } from '../core/context.ts'
import { actorName } from '../core/person-text.ts'

export interface JudgeView extends Hatch {
  /** Tasks whose work waits for the judge. */
  pendingJudgeTaskCount: number
  /** Pull requests that wait for a review. */
  openPrCount: number
}

export const judgeView = async ({ db }: Pick<Context, 'db'>): Promise<JudgeView> => ({
  ...(await readHatch(db)),
  pendingJudgeTaskCount: await countPendingReviews(db),
  openPrCount: await countOpenPullRequests(db),
})

export const setJudge = async (
  context: Context,
  { off, by }: { off: boolean; by?: string | undefined },
): Promise<JudgeView> => {
  await context.db.transaction((tx) => switchJudge(tx, { off, by: actorName(by) }))
  context.wake()
  return judgeView(context)
}
