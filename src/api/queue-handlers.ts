/** Handlers for the switch of the judge, and for tasks that wait for a link. */
import type { Task } from '../domain/task.ts'
import type { Context } from '../runtime/core/context.ts'
import { judgeView, setJudge } from '../runtime/people/judge-switch.ts'
import { awaitLink, linkTask } from '../runtime/people/link-task.ts'
import { quotaView } from '../runtime/people/quota-view.ts'
import { takeLogin } from '../runtime/people/take-login.ts'
import { shownTask } from '../runtime/people/task-countdown.ts'
import type { HandlerCall } from './call.ts'

export const queueHandlers = (context: Context) => {
  const shown = (task: Task) => shownTask(context, task)
  return {
    quota: async () => quotaView(context),
    takeLogin: async ({ body }: HandlerCall<'takeLogin'>) => takeLogin(context, body),
    setJudge: async ({ body }: HandlerCall<'setJudge'>) => setJudge(context, body),
    getJudge: async () => judgeView(context),
    awaitLink: async ({ id, body }: HandlerCall<'awaitLink'>) => shown(await awaitLink(context, id, body)),
    linkTask: async ({ id, body }: HandlerCall<'linkTask'>) => shown(await linkTask(context, id, body)),
  }
}
