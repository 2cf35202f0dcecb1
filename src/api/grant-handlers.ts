/** Handlers for granted and learned paths. */
import type { Context } from '../runtime/core/context.ts'
import { addGrant, forgetPath, listGrants, revokeGrants } from '../runtime/people/path-grants.ts'
import type { HandlerCall } from './call.ts'

export const grantHandlers = (context: Context) => ({
  listGrants: async ({ query }: HandlerCall<'listGrants'>) => listGrants(context, query.state === 'all'),
  addGrant: async ({ body }: HandlerCall<'addGrant'>) => addGrant(context, body),
  revokeGrants: async ({ body }: HandlerCall<'revokeGrants'>) => revokeGrants(context, body),
  forgetPath: async ({ body }: HandlerCall<'forgetPath'>) => forgetPath(context, body),
})
