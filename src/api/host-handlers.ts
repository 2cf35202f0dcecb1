/** Handlers of the routes about the machine of the engine, and about what a start would open on it. */
import { hostContext } from '../runtime/agent/host-snapshot.ts'
import type { Context } from '../runtime/core/context.ts'
import { preflightOf } from '../recovery/plan/recommend-start.ts'
import { forgeBacklog, importIssues } from '../runtime/goal/import-issues.ts'
import { localBacklog } from '../store/backlog.ts'
import { goalsOfIssues } from '../store/forge-link.ts'
import type { HandlerCall } from './call.ts'

/** What is taken now counts as local work in the same answer. */
const preflightNow = async (context: Context, { content, autoCreateIssueTasks }: HandlerCall<'preflight'>['body']) => {
  const forge = autoCreateIssueTasks
    ? await importIssues(context)
    : await forgeBacklog(context, await goalsOfIssues(context.db))
  return preflightOf(content, await localBacklog(context.db), forge, context.config())
}

export const hostHandlers = (context: Context) => ({
  preflight: async ({ body }: HandlerCall<'preflight'>) => preflightNow(context, body),
  hostNeofetch: async () => {
    const { info: _, ...neofetch } = (await hostContext(context)).snapshot.neofetch
    return neofetch
  },
  hostContext: async () => hostContext(context),
})
