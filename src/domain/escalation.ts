/** An escalation: a durable question to a person. At most one is pending per task; the second answer is told "already decided". */
import type { Flow } from './flow.ts'

export const escalationStates = ['pending', 'approved', 'rejected', 'resolved', 'expired'] as const
export type EscalationState = (typeof escalationStates)[number]

export type EscalationKind = 'blocker' | 'exhausted' | 'budget' | 'merge_conflict' | 'no_playbook'

/** What a person may answer, each a command of the CLI. */
export const choices = ['approve', 'retry', 'cancel', 'resume'] as const
export type Choice = (typeof choices)[number]

export interface Escalation {
  id: string
  goalId: string
  taskId: string | null
  runId: string | null
  kind: EscalationKind
  question: string
  details: string
  choices: Choice[]
  state: EscalationState
  answer: Choice | null
  version: number
  createdAt: Date
  decidedAt: Date | null
}

export const escalationFlow = {
  entity: 'escalation',
  states: escalationStates,
  terminal: ['approved', 'rejected', 'resolved', 'expired'],
  rows: [
    { from: '', to: 'pending', trigger: 'opened', owner: 'executor', event: 'escalation.opened' },
    { from: 'pending', to: 'approved', trigger: 'approve', owner: 'person', event: 'escalation.answered' },
    { from: 'pending', to: 'approved', trigger: 'retry', owner: 'person', event: 'escalation.answered' },
    { from: 'pending', to: 'rejected', trigger: 'cancel', owner: 'person', event: 'escalation.answered' },
    { from: 'pending', to: 'resolved', trigger: 'resume', owner: 'person', event: 'escalation.answered' },
    { from: 'pending', to: 'expired', trigger: 'overtaken', owner: 'cycle manager', event: 'escalation.expired' },
  ],
} as const satisfies Flow<EscalationState>
