/** Handlers of the routes about the machine of the engine, and about what a start would open on it. */
import { hostContext } from '../runtime/agent/host-snapshot.ts'
import type { Context } from '../runtime/core/context.ts'
import { preflightOf } from '../recovery/plan/recommend-start.ts'
import { localBacklog } from '../store/backlog.ts'
import type { HandlerCall } from './call.ts'

export const hostHandlers = (context: Context) => ({
  preflight: async ({ body }: HandlerCall<'preflight'>) =>
    preflightOf(body.content, await localBacklog(context.db), context.config()),
  hostNeofetch: async () => {
    const { info: _, ...neofetch } = (await hostContext(context)).snapshot.neofetch
    return neofetch
  },
  hostContext: async () => hostContext(context),
})
