/** Rows of the table of routes about granted and learned paths. */
import { z } from 'zod'
import * as contract from './contract.ts'
import * as grants from './responses/grants.ts'
import { change, read } from './route-rows.ts'

export const grantRoutes = {
  listGrants: read(
    '/grants',
    'Granted and learned paths, at most 1,000 of each',
    contract.grantsQuery,
    grants.grantList,
  ),
  addGrant: {
    ...change(
      '/grants',
      'Grants a path to the tasks of a folder or to one task',
      contract.grantRequest,
      grants.grantSchema,
    ),
    status: 201 as const,
    errors: ['NOT_FOUND', 'ILLEGAL'] as const,
  },
  revokeGrants: {
    ...change(
      '/grants/revoke',
      'Revokes a grant by its id, or all grants of a path',
      contract.revokeRequest,
      z.array(grants.grantSchema),
    ),
    errors: ['NOT_FOUND', 'ILLEGAL'] as const,
  },
  forgetPath: {
    ...change(
      '/learned-paths/forget',
      'Undoes a learned path, so that its files count as changes again',
      contract.forgetRequest,
      grants.learnedPath,
    ),
    errors: ['NOT_FOUND'] as const,
  },
} as const
