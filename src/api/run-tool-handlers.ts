/** Handlers for the tools of a run. The guard has checked that the caller is the agent of this run. */
import { proposeRecovery } from '../runtime/agent/propose-recovery.ts'
import { askPerson, readReply, reportProgress } from '../runtime/agent/run-tools.ts'
import type { Context } from '../runtime/core/context.ts'
import type { HandlerCall } from './call.ts'

export const runToolHandlers = (context: Context) => ({
  proposeRecovery: async ({ id, body }: HandlerCall<'proposeRecovery'>) => proposeRecovery(context, id, body),
  reportProgress: async ({ id, body }: HandlerCall<'reportProgress'>) => reportProgress(context, id, body.text),
  askPerson: async ({ id, body }: HandlerCall<'askPerson'>) => askPerson(context, id, body.question),
  readReply: async ({ id }: HandlerCall<'readReply'>) => readReply(context, id),
})
