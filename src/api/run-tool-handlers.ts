/** Handlers for the tools of a run. The guard has checked that the caller is the agent of this run. */
import { proposeRecovery } from '../runtime/agent/propose-recovery.ts'
import { askPerson, readAnswer, reportProgress } from '../runtime/agent/run-tools.ts'
import type { Context } from '../runtime/core/context.ts'
import type { HandlerCall } from './call.ts'

export const runToolHandlers = (context: Context) => ({
  proposeRecovery: async ({ id, body }: HandlerCall<'proposeRecovery'>) => proposeRecovery(context, id, body),
  reportProgress: async ({ id, body }: HandlerCall<'reportProgress'>) => reportProgress(context, id, body.text),
  askPerson: async ({ id, body }: HandlerCall<'askPerson'>) => askPerson(context, id, body.question),
  readAnswer: async ({ id }: HandlerCall<'readAnswer'>) => readAnswer(context, id),
})
