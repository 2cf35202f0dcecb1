/** Routes about the machine of the engine, what a start would open on it, and the other repositories of this user. */
import { z } from 'zod'
import { hostSnapshotSchema } from '../runtime/agent/host-snapshot.ts'
import * as contract from './contract.ts'
import { change, read } from './route-rows.ts'
import { preflight } from './responses/preflight.ts'
import { siblingAddress, siblings } from './responses/sibling-responses.ts'

const neofetch = hostSnapshotSchema.shape.neofetch.omit({ info: true })

export const hostRoutes = {
  listRepositories: read(
    '/repositories',
    'The repositories of this user, with what waits in those that this process serves',
    contract.noQuery,
    siblings,
  ),
  visitRepository: {
    ...change(
      '/repositories/:id/visit',
      'The address of the pages of another repository, logged in where this process serves them',
      null,
      siblingAddress,
    ),
    errors: ['NOT_FOUND', 'ENGINE_UNAVAILABLE'] as const,
  },
  preflight: {
    ...change(
      '/system/preflight',
      'What a start would open now, with its reasons: the planner, the judge, and how many agents',
      contract.preflightRequest,
      preflight,
    ),
    ...{
      caller: 'anyone' as const,
      whyAnyone: 'it counts what is there, and takes only issues that the engine takes by itself as well',
    },
  },
  hostNeofetch: read(
    '/system/host/neofetch',
    'What neofetch prints about the machine of the engine, or why there is none; at most 24 hours old',
    contract.noQuery,
    neofetch,
  ),
  hostContext: read(
    '/system/host/context',
    'What agents are told about the machine of the engine: its system, and the versions of the tools on the PATH',
    contract.noQuery,
    z.strictObject({ refreshed: z.boolean(), snapshot: hostSnapshotSchema }),
  ),
} as const
