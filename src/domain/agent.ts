/**
 * An agent: a registered executor slot on some host. It is busy exactly while it holds a lease, so its moves are those of
 * its run and are told by the same event; a busy one never goes offline.
 */
import type { Flow } from './flow.ts'

export const agentStates = ['idle', 'busy', 'offline'] as const
export type AgentState = (typeof agentStates)[number]

export interface Agent {
  id: string
  role: string
  host: string
  /** Null = of a time when a store had one engine. */
  engineId: string | null
  state: AgentState
  heartbeatAt: Date
}

export const agentFlow = {
  entity: 'agent',
  states: agentStates,
  terminal: [],
  rows: [
    { from: '', to: 'idle', trigger: 'registered', owner: 'engine', event: 'agent.registered' },
    { from: 'offline', to: 'idle', trigger: 'registered', owner: 'engine', event: 'agent.registered' },
    { from: 'idle', to: 'busy', trigger: 'claimed', owner: 'dispatcher', event: 'task.claimed' },
    { from: 'busy', to: 'idle', trigger: 'succeeded', owner: 'executor', event: 'run.succeeded' },
    { from: 'busy', to: 'idle', trigger: 'failed', owner: 'executor', event: 'run.failed' },
    { from: 'busy', to: 'idle', trigger: 'interrupted', owner: 'engine', event: 'run.cancelled' },
    { from: 'busy', to: 'idle', trigger: 'cancelled', owner: 'person', event: 'run.cancelled' },
    { from: 'idle', to: 'offline', trigger: 'left', owner: 'engine', event: 'agent.registered' },
    { from: 'busy', to: 'idle', trigger: 'freed', owner: 'cycle manager', event: 'lease.dangling' },
    { from: 'idle', to: 'offline', trigger: 'died', owner: 'cycle manager', event: 'agent.offline' },
  ],
} as const satisfies Flow<AgentState>
