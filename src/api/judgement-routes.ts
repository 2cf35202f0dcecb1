/** The routes about finished work: what was decided about it, and the decision of a person. Part of the table of routes (routes.ts). */
import * as contract from './contract.ts'
import { taskSchema } from './responses/entities.ts'
import { judgementSchema } from './responses/judgement.ts'
import { change, list } from './route-rows.ts'

export const judgementRoutes = {
  listJudgements: list(
    '/judgements',
    'What the judge decided about finished work, and what it is deciding',
    contract.judgementsQuery,
    judgementSchema,
  ),
  approveTask: change(
    '/tasks/:id/approve',
    'Lets finished work land as it is, although it would not by itself; `commit` is the one that was looked at, and other work is refused',
    contract.approveRequest,
    taskSchema,
  ),
  rejectTask: change(
    '/tasks/:id/reject',
    'Rejects finished work that a person is asked about; `note` says what has to be corrected',
    contract.rejectRequest,
    taskSchema,
  ),
} as const
