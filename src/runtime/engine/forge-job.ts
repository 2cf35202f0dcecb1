/**
 * The leader polls the forge: it follows the pull requests of finished goals, and where no local work is left, issues become goals. It
 * runs next to the loop, because a forge may take minutes to answer. The time of the next poll is kept in memory only, so an engine
 * polls as soon as it starts.
 */
import { localBacklog } from '../../store/backlog.ts'
import type { Context } from '../core/context.ts'
import { hasIssues } from '../core/forge-issues.ts'
import { importIssues } from '../goal/import-issues.ts'
import { tellIssues } from '../landing/issue-comment.ts'
import type { CancelRunning } from '../people/commands.ts'
import { askAboutIssues, restartGoals } from './changed-issues.ts'
import { followPullRequests, opensPullRequests } from '../landing/pull-request.ts'

/** Local work first, then issues. */
const isIdle = async ({ db }: Context): Promise<boolean> =>
  Object.values((await localBacklog(db)).local).every((count) => count === 0)

/** Equal warnings are logged once, so that a forge that does not answer does not fill the log. */
export const createForgeJob = (cancelRunning: CancelRunning): ((context: Context) => Promise<void>) => {
  let dueAt = 0
  let told = ''
  return async (context) => {
    const { forge } = context.config()
    if (!hasIssues(context) || context.clock.elapsed() < dueAt) return
    dueAt = context.clock.elapsed() + forge.pollSeconds * 1000
    const problems = opensPullRequests(context) ? await followPullRequests(context) : []
    const restarted = await restartGoals(context, cancelRunning)
    const changed = await askAboutIssues(context, cancelRunning)
    const untaken = (await isIdle(context)) ? (await importIssues(context)).warnings : []
    const warnings = [...restarted, ...problems, ...changed, ...untaken, ...(await tellIssues(context))]
    const text = warnings.join('\n')
    if (text !== '' && text !== told) context.log.warn({ warnings }, 'a pull request or an issue could not be handled')
    told = text
  }
}
