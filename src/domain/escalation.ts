/** An escalation: a durable question to a person. At most one is pending per task; the second answer gets "already decided". */
import type { Flow } from './flow.ts'

export const escalationStates = ['pending', 'approved', 'rejected', 'resolved', 'expired'] as const
export type EscalationState = (typeof escalationStates)[number]

export type EscalationKind = 'blocker' | 'exhausted' | 'budget' | 'merge_conflict' | 'no_playbook'

/** What a person may answer. Each kind is carried out in its own way. */
export const choiceKinds = [
  'widen',
  'allow_command',
  'allow_directory',
  'change_check',
  'commit_fix',
  'hint',
  'take_over',
  'approve',
  'retry',
  'resume',
  'cancel',
] as const
export type ChoiceKind = (typeof choiceKinds)[number]

/** A text that goes with a choice. */
export interface ChoiceInput {
  name: 'hint' | 'check' | 'paths' | 'model'
  label: string
  required: boolean
  /** Used where the person gives none. */
  suggested: string | null
}

/** What a harness may be allowed to run, as a rule in that CLI's own words. */
export interface Grant {
  harness: string
  rule: string
}

type ChoiceData =
  | { kind: 'widen'; paths: string[] }
  | ({ kind: 'allow_command' } & Grant)
  | { kind: 'allow_directory'; directory: string }
  | { kind: 'change_check'; check: string; source: string }
  | { kind: 'commit_fix' }
  | { kind: 'hint' }
  | { kind: 'take_over'; runId: string }
  | { kind: 'approve' }
  | { kind: 'retry' }
  | { kind: 'resume' }
  | { kind: 'cancel' }

/** One thing that helps, stored with the question and carried out alike by CLI, API and dashboard. */
export type Choice = ChoiceData & {
  /** One word, unique within the question. */
  id: string
  /** For a button. */
  label: string
  /** What it will do, in one sentence. */
  effect: string
  /** The command that does the same. */
  command: string
  input: ChoiceInput | null
}

export interface Escalation {
  id: string
  goalId: string
  taskId: string | null
  runId: string | null
  kind: EscalationKind
  /** What happened: the task, and the evidence. */
  happened: string
  /** What was tried, one line each. */
  tried: string[]
  question: string
  details: string
  choices: Choice[]
  state: EscalationState
  answer: ChoiceKind | null
  version: number
  createdAt: Date
  decidedAt: Date | null
}

/** A question after an answer. */
export interface Answered extends Escalation {
  /** For the person's terminal, where the choice was to take the task over. */
  line: string | null
}

/** Whether one of the choices is of this kind. */
export const offers = ({ choices }: Pick<Escalation, 'choices'>, kind: ChoiceKind): boolean =>
  choices.some((choice) => choice.kind === kind)

const answered = <const Trigger extends ChoiceKind, const To extends EscalationState>(trigger: Trigger, to: To) =>
  ({ from: 'pending', to, trigger, owner: 'person', event: 'escalation.answered' }) as const

export const escalationFlow = {
  entity: 'escalation',
  states: escalationStates,
  terminal: ['approved', 'rejected', 'resolved', 'expired'],
  rows: [
    { from: '', to: 'pending', trigger: 'opened', owner: 'executor', event: 'escalation.opened' },
    answered('approve', 'approved'),
    answered('retry', 'approved'),
    answered('cancel', 'rejected'),
    answered('resume', 'resolved'),
    answered('hint', 'approved'),
    answered('widen', 'resolved'),
    answered('allow_command', 'resolved'),
    answered('allow_directory', 'resolved'),
    answered('change_check', 'resolved'),
    answered('commit_fix', 'resolved'),
    answered('take_over', 'resolved'),
    { from: 'pending', to: 'expired', trigger: 'overtaken', owner: 'cycle manager', event: 'escalation.expired' },
  ],
} as const satisfies Flow<EscalationState>
