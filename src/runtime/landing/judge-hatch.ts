/**
 * The runtime hatch of the judge. The judge is a job of the leading engine: it is down while no engine leads, and until there is something
 * to judge. Work to judge arms the hatch, and then whichever engine leads does the job. A person's switch outranks that.
 */
import { countOpenPullRequests } from '../../store/forge-link.ts'
import { armHatch, readHatch } from '../../store/hatch.ts'
import { countPendingReviews } from '../../store/judged-run.ts'
import type { Context } from '../core/context.ts'

/** Whether the judge works in this pass, in which something waits for it. Read from the store each time, because a person may use the switch on another engine. */
export const judgeWorks = async ({ db }: Context): Promise<boolean> => {
  const { state } = await readHatch(db)
  if (state !== 'idle') return state === 'armed'
  const backlog = { pendingJudgeTaskCount: await countPendingReviews(db), openPrCount: await countOpenPullRequests(db) }
  const isArmed = backlog.openPrCount > 0 || backlog.pendingJudgeTaskCount > 0
  if (isArmed) await db.transaction((tx) => armHatch(tx, backlog))
  return isArmed
}
