/**
 * An engine: one process with a state folder of its own. Several share a PostgreSQL store; each has agents (slots), and one
 * of those with the role `control` leads. What happened to one is told by its events, so that its states need no history.
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
  /** Names of the harnesses whose programs are really there. */
  harnesses: string[]
  /** What else tells it from others: system and processor. */
  labels: string[]
  /** Why it takes no new work at this moment; null = it does. */
  waiting: string | null
  /** How long a heartbeat of it counts, as its leases do. */
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
