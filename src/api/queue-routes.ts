/** Rows of the table of routes about the judge, and about tasks that wait for a link or a login. */
import { judgeRequest, linkAwaitedRequest, linkRequest, loginRequest, noQuery } from './contract.ts'
import { change, read } from './route-rows.ts'
import { taskSchema } from './responses/entities.ts'
import { takenLogin } from './responses/outcomes.ts'
import { quota } from './responses/account-use.ts'
import { judgeSwitch } from './responses/judge-switch.ts'

export const queueRoutes = {
  quota: read(
    '/quota',
    'What agents used within an hour and a day, and which accounts are at their limit',
    noQuery,
    quota,
  ),
  takeLogin: change(
    '/login',
    'Gives the agents new credentials, kept in memory, and tries again what could not log in',
    loginRequest,
    takenLogin,
  ),
  getJudge: read('/judge', 'Whether the judge works, and how much work waits for it', noQuery, judgeSwitch),
  setJudge: change(
    '/judge',
    'Switches the judge off or on; it stays so until it is switched again, also over restarts',
    judgeRequest,
    judgeSwitch,
  ),
  awaitLink: change(
    '/tasks/:id/await-link',
    'Makes a queued task wait until something is linked; after `requeue.linkSeconds` a person is asked',
    linkAwaitedRequest,
    taskSchema,
  ),
  linkTask: change('/tasks/:id/link', 'Links what a task waits for: it is queued', linkRequest, taskSchema),
} as const
