/** A recovery proposal of an agent, and each command that ran because of it. */

export const proposalStates = [
  /** Read, and not decided yet. */
  'open',
  /** It may run when the cooldown is over. */
  'waiting',
  /** A person is asked. */
  'asked',
  /** A person approved it; it runs in the next run of the task. */
  'approved',
  'succeeded',
  'failed',
  'rejected',
  /** A person solved the problem by hand. */
  'resolved',
  /** The owner's lists or a fixed rule refused it. */
  'denied',
  'invalid',
] as const
export type ProposalState = (typeof proposalStates)[number]

/** The first wrong field of an invalid proposal ('' = the whole file), and what is wrong in words. */
export interface ProposalProblem {
  field: string
  problem: string
}

export interface RecoveryProposal {
  id: string
  goalId: string
  taskId: string
  runId: string
  /** Of a loop the iteration, of any other task the number of the run within its task; both from 1. */
  iteration: number
  /** SHA-256 of the bytes that were read. */
  digest: string
  source: 'agent' | 'diagnosis' | 'person'
  /** As the schema of recovery.json has it; null = it is invalid. */
  body: Record<string, unknown> | null
  /** The offset of its timestamp as written; null = it states none. */
  offsetStated: string | null
  problem: ProposalProblem | null
  /** Why the error pattern does not fit; null = it fits. */
  flag: { flag: string; detail: string } | null
  /** The check that failed, and the fingerprint of its failure. */
  failing: { command: string; signature: string }
  state: ProposalState
  /** The command that a person approved: of the proposal, its fallback, or edited by the person. */
  approvedStep: 'primary' | 'fallback' | null
  decidedBy: string | null
  note: string
  /** When the cooldown ends. */
  dueAt: Date | null
  createdAt: Date
  decidedAt: Date | null
}

export type ExecutionState = 'started' | 'succeeded' | 'failed' | 'unknown'

export interface RecoveryExecution {
  id: string
  proposalId: string
  goalId: string
  taskId: string
  runId: string
  step: 'primary' | 'fallback'
  command: string
  workingDir: string
  timeoutSeconds: number
  /** `auto`, `on_unknown`, or the name of a person. */
  approvedBy: string
  /** Whether it counts towards the limit of its goal; a person's approval and a new count do not. */
  counted: boolean
  /** `unknown`: the engine ended between intent and outcome. */
  state: ExecutionState
  /** Whether the failed check ran afterwards; null = not observed yet. */
  effect: boolean | null
  exitCode: number | null
  durationMs: number | null
  error: string
  /** Tracked files that the command changed. */
  changed: string[]
  startedAt: Date
  endedAt: Date | null
}
