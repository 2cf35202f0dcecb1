/**
 * An agent: a registered executor slot on some host. Its state is derived from its lease, its slot and its engine on every
 * read (`agent_view` in the store) and is never stored, so that it cannot disagree with them.
 */
export const agentStates = ['idle', 'busy', 'offline'] as const
export type AgentState = (typeof agentStates)[number]

export interface Agent {
  id: string
  role: string
  host: string
  /** Null = registered by an old version, in which a store had one engine. */
  engineId: string | null
  state: AgentState
  heartbeatAt: Date
}

export interface DerivedState<State extends string = string> {
  state: State
  /** The condition for the state. */
  when: string
  /** Types of the events that report a change of that condition. */
  events: readonly string[]
}

/** The first matching row decides. A busy agent of an offline engine stays busy until its lease is reclaimed. */
export const agentDerivation: readonly DerivedState<AgentState>[] = [
  { state: 'busy', when: 'it has a lease', events: ['task.claimed'] },
  {
    state: 'offline',
    when: 'its engine is offline, or its slot is gone',
    events: ['agent.registered', 'agent.offline'],
  },
  {
    state: 'idle',
    when: 'it has no lease, its engine is in service and its slot exists',
    events: ['agent.registered', 'run.succeeded', 'run.failed', 'run.cancelled', 'lease.dangling'],
  },
]
