/** A recovery proposal of an agent, and each command that ran because of it. */
import type { Flow } from './flow.ts'

export const proposalStates = [
  /** Read, and not decided yet: also while it is invalid, waits for the end of the cooldown, or runs. */
  'open',
  /** A person is asked. */
  'asked',
  /** A person approved it; it runs in the next run of the task. */
  'approved',
  'succeeded',
  'rejected',
  /** A person solved the problem by hand, or the checks pass without it. */
  'resolved',
  /** The owner's lists refused it, or the command of the owner's playbook had no effect and the next playbook goes on. */
  'denied',
] as const
export type ProposalState = (typeof proposalStates)[number]

const decided = <const From extends ProposalState, const To extends ProposalState, const Trigger extends string>(
  from: From,
  to: To,
  trigger: Trigger,
) => ({ from, to, trigger, owner: 'person', event: 'recovery_resolved' }) as const

export const proposalFlow = {
  entity: 'recovery proposal',
  states: proposalStates,
  terminal: ['succeeded', 'rejected', 'resolved', 'denied'],
  rows: [
    // An invalid one has no command that the event could name; the event that escalates it names the field.
    { from: '', to: 'open', trigger: 'proposed', owner: 'executor', event: 'recovery_proposed' },
    { from: 'open', to: 'denied', trigger: 'denied', owner: 'executor', event: 'recovery_resolved' },
    { from: 'open', to: 'asked', trigger: 'escalated', owner: 'executor', event: 'recovery_escalated' },
    { from: 'approved', to: 'asked', trigger: 'escalated', owner: 'executor', event: 'recovery_escalated' },
    // The outcome of the recovery that ran its command, or that did not because the lists no longer allow it.
    { from: 'open', to: 'succeeded', trigger: 'helped', owner: 'executor', event: 'recovery' },
    { from: 'approved', to: 'succeeded', trigger: 'helped', owner: 'executor', event: 'recovery' },
    { from: 'approved', to: 'open', trigger: 'had_no_effect', owner: 'executor', event: 'recovery' },
    { from: 'open', to: 'resolved', trigger: 'not_needed', owner: 'executor', event: 'recovery_resolved' },
    { from: 'approved', to: 'resolved', trigger: 'not_needed', owner: 'executor', event: 'recovery_resolved' },
    { from: 'asked', to: 'approved', trigger: 'approved', owner: 'person', event: 'recovery_approved' },
    decided('asked', 'rejected', 'rejected'),
    decided('asked', 'resolved', 'solved'),
    // A person decided about the task in another way.
    decided('asked', 'rejected', 'overtaken'),
    decided('open', 'rejected', 'overtaken'),
    decided('approved', 'rejected', 'overtaken'),
  ],
} as const satisfies Flow<ProposalState>

export type ProposalTrigger = Exclude<(typeof proposalFlow.rows)[number]['trigger'], 'proposed'>

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
  source: 'agent' | 'diagnosis' | 'playbook' | 'person'
  /** As the schema of recovery.json has it; null = it is invalid. */
  body: Record<string, unknown> | null
  /** The offset of its timestamp as written; null = it states none. */
  offsetStated: string | null
  problem: ProposalProblem | null
  /** Why the error pattern does not fit; null = it fits. */
  flag: { flag: string; detail: string } | null
  /** What bars nothing, in sentences without a full stop: ignored fields, evidence that does not exist. */
  notes: string[]
  /** The check that failed, and the fingerprint of its failure. */
  failing: { command: string; signature: string }
  state: ProposalState
  /** Which of its commands a person is or was asked about. */
  approvedStep: 'primary' | 'fallback' | null
  decidedBy: string | null
  note: string
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
  /** Ran again in a later clone, because it helped before: not judged, and part of no number. */
  repetition: boolean
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
