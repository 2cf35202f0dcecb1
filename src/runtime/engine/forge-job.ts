/**
 * The leader's look at the forge: it follows the pull requests of finished goals, and where no local work is left, issues become goals. It runs next to the loop, because a forge may take
 * minutes to answer. When it is due is kept in memory only: an engine that starts looks at once.
 */
import { localBacklog } from '../../store/backlog.ts'
import type { Context } from '../core/context.ts'
import { importIssues } from '../goal/import-issues.ts'
import { followPullRequests, opensPullRequests } from '../landing/pull-request.ts'

/** Local work first, then issues. */
const isIdle = async ({ db }: Context): Promise<boolean> =>
  Object.values((await localBacklog(db)).local).every((count) => count === 0)

/** Its own warnings are logged when they are new, so that a forge that does not answer fills no log. */
export const createForgeJob = (): ((context: Context) => Promise<void>) => {
  let dueAt = 0
  let told = ''
  return async (context) => {
    const { forge } = context.config()
    if (forge.kind === 'off' || context.clock.elapsed() < dueAt) return
    dueAt = context.clock.elapsed() + forge.pollSeconds * 1000
    const problems = opensPullRequests(context) ? await followPullRequests(context) : []
    const warnings = [...problems, ...((await isIdle(context)) ? (await importIssues(context)).warnings : [])]
    const text = warnings.join('\n')
    if (text !== '' && text !== told) context.log.warn({ warnings }, 'the forge did not take part as configured')
    told = text
  }
}
