/**
 * An engine: one process with a state folder of its own. Several engines can share a PostgreSQL store. Each `executor` has
 * agents (slots), and one of those with the role `control` is the leader. Events keep the history; the row has only the
 * present state.
 */
import type { Flow } from './flow.ts'

export const engineRoles = ['control', 'executor'] as const
export type EngineRole = (typeof engineRoles)[number]

export const engineStates = ['online', 'draining', 'offline'] as const
export type EngineState = (typeof engineStates)[number]

export interface EngineInfo {
  id: string
  host: string
  bootId: string
  pid: number
  startTime: string
  roles: EngineRole[]
  state: EngineState
  /** Names of the harnesses whose programs are installed on the engine's host. */
  harnesses: string[]
  /** Operating system and processor. */
  labels: string[]
  /** Which resource of the host is short, so that the engine claims no work; null = none. */
  waiting: string | null
  /** Seconds after which a heartbeat, or a lease of the engine, expires. */
  ttlSeconds: number
  startedAt: Date
  heartbeatAt: Date
}

export const engineFlow = {
  entity: 'engine',
  states: engineStates,
  terminal: [],
  rows: [
    { from: '', to: 'online', trigger: 'started', owner: 'engine', event: 'engine.registered' },
    { from: 'online', to: 'online', trigger: 'started', owner: 'engine', event: 'engine.registered' },
    { from: 'draining', to: 'online', trigger: 'started', owner: 'engine', event: 'engine.registered' },
    { from: 'offline', to: 'online', trigger: 'started', owner: 'engine', event: 'engine.registered' },
    { from: 'online', to: 'draining', trigger: 'drained', owner: 'person', event: 'engine.draining' },
    { from: 'online', to: 'offline', trigger: 'left', owner: 'engine', event: 'engine.offline' },
    { from: 'draining', to: 'offline', trigger: 'left', owner: 'engine', event: 'engine.offline' },
    { from: 'online', to: 'offline', trigger: 'died', owner: 'cycle manager', event: 'engine.offline' },
    { from: 'draining', to: 'offline', trigger: 'died', owner: 'cycle manager', event: 'engine.offline' },
  ],
} as const satisfies Flow<EngineState>
