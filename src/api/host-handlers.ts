/** Handlers of the routes about the machine of the engine. */
import { hostContext } from '../runtime/agent/host-snapshot.ts'
import type { Context } from '../runtime/core/context.ts'

export const hostHandlers = (context: Context) => ({
  hostNeofetch: async () => {
    const { info: _, ...neofetch } = (await hostContext(context)).snapshot.neofetch
    return neofetch
  },
  hostContext: async () => hostContext(context),
})
