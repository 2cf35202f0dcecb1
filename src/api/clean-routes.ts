/** Rows of the table of routes about what is no longer needed. */
import { cleanRequest, noQuery } from './contract.ts'
import { change, read } from './route-rows.ts'
import { cleaned, stored } from './responses/outcomes.ts'

export const cleanRoutes = {
  listRemovable: read('/clean', 'What `clean` would remove', noQuery, cleaned),
  storage: read('/storage', 'What uses disk space, which branches of ended goals stay, and why', noQuery, stored),
  clean: change(
    '/clean',
    'Removes workspaces, snapshots and results of checks that are no longer needed',
    cleanRequest,
    cleaned,
  ),
} as const
