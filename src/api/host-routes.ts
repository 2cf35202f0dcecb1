/** Routes about the machine of the engine. */
import { z } from 'zod'
import { hostSnapshotSchema } from '../runtime/agent/host-snapshot.ts'
import * as contract from './contract.ts'
import { read } from './route-rows.ts'

const neofetch = hostSnapshotSchema.shape.neofetch.omit({ info: true })

export const hostRoutes = {
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
