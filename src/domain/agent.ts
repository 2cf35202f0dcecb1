/**
 * An agent: a registered executor slot on some host. Its state is derived from its lease, its slot and its engine whenever
 * it is asked for (`agent_view` in the store) and is never stored, so that it cannot disagree with them.
 */
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

export interface DerivedState<State extends string = string> {
  state: State
  /** What makes it so. */
  when: string
  /** Types of the events that tell of the facts behind it. */
  events: readonly string[]
}

/** The first row that holds. A busy agent of an engine that is offline stays busy until its lease is taken back. */
export const agentDerivation: readonly DerivedState<AgentState>[] = [
  { state: 'busy', when: 'a lease names it', events: ['task.claimed'] },
  {
    state: 'offline',
    when: 'its engine is offline, or its slot is gone',
    events: ['agent.registered', 'agent.offline'],
  },
  {
    state: 'idle',
    when: 'neither holds',
    events: ['agent.registered', 'run.succeeded', 'run.failed', 'run.cancelled', 'lease.dangling'],
  },
]
