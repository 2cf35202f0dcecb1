/** An escalation: a durable question to a person. At most one is pending per task; a second answer is refused as already decided. */
import type { CheckoutChange, CheckoutPlace } from './checkout-change.ts'
import type { Flow } from './flow.ts'

export const escalationStates = ['pending', 'approved', 'rejected', 'resolved', 'expired'] as const
export type EscalationState = (typeof escalationStates)[number]

export const escalationKinds = [
  'blocker',
  'exhausted',
  'budget',
  'merge_conflict',
  'no_playbook',
  'recovery_approval_required',
  'recovery_failed',
  'recovery_unknown_outcome',
  'invalid_proposal',
  // An agent asked it during its run. Every other question is asked when the task cannot go on.
  'agent_question',
  // Something changed in the owner's checkout, and it is not known by whom. No task and no goal waits for its answer.
  'checkout_changed',
  // The issue of a goal is not as it was when the goal began. The goal goes on.
  'issue_changed',
  // The owner's git signs commits, and the key cannot be used without a person. Only the landing waits.
  'unsigned_commits',
  // A person wanted to see the plan of a goal before its tasks begin.
  'plan_review',
] as const
export type EscalationKind = (typeof escalationKinds)[number]

/** What a person may answer. Each kind has its own action. */
export const choiceKinds = [
  'widen',
  'leave_out',
  'edit',
  'allow_command',
  'allow_directory',
  'change_check',
  'copy_files',
  'run_filters',
  'commit_fix',
  'approve_recovery',
  'approve_always',
  'edit_recovery',
  'reject_recovery',
  'resolve_recovery',
  'hint',
  'reply',
  'take_over',
  'keep',
  'restore',
  'restart',
  'land',
  'land_unsigned',
  'plan_again',
  'approve',
  'reject',
  'ask_again',
  'retry',
  'resume',
  'cancel',
] as const
export type ChoiceKind = (typeof choiceKinds)[number]

/** A text that a person gives with a choice. */
export interface ChoiceInput {
  name: 'hint' | 'check' | 'paths' | 'model' | 'text' | 'command' | 'note'
  label: string
  required: boolean
  /** The default if the person gives none. */
  suggested: string | null
}

/** A command that a harness may run, as a rule in the syntax of that CLI. */
export interface Grant {
  harness: string
  rule: string
}

/** `task`: where the question is about a goal, the task of it that the choice is for. */
type ChoiceData =
  | { kind: 'widen'; paths: string[]; task?: string }
  | { kind: 'leave_out'; paths: string[]; task: string }
  | { kind: 'edit'; task: string }
  | ({ kind: 'allow_command' } & Grant)
  | { kind: 'allow_directory'; directory: string }
  | { kind: 'change_check'; check: string; source: string }
  | { kind: 'copy_files'; paths: string[] }
  | { kind: 'run_filters'; filters: string[] }
  | { kind: 'commit_fix' }
  | {
      kind: 'approve_recovery' | 'approve_always' | 'edit_recovery' | 'reject_recovery' | 'resolve_recovery'
      proposal: string
    }
  | { kind: 'hint'; task?: string }
  | { kind: 'reply' }
  | { kind: 'take_over'; runId: string }
  | { kind: 'keep' }
  | { kind: 'restart' }
  | { kind: 'land' }
  | { kind: 'land_unsigned' }
  | { kind: 'plan_again' }
  | { kind: 'restore'; place: CheckoutPlace; changes: CheckoutChange[] }
  | { kind: 'approve' }
  | { kind: 'reject' }
  | { kind: 'ask_again' }
  | { kind: 'retry' }
  | { kind: 'resume' }
  | { kind: 'cancel' }

/** One way forward, stored with the question, with the same effect from CLI, API and dashboard. */
export type Choice = ChoiceData & {
  /** One word, unique within the question. */
  id: string
  /** The text of the button. */
  label: string
  /** What the choice will do, in one sentence. */
  effect: string
  /** The equivalent command line. */
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
  /** The command for the person's terminal after the choice `take_over`; null for other choices. */
  line: string | null
}

const aside: readonly EscalationKind[] = ['checkout_changed', 'issue_changed', 'unsigned_commits']

/** Whether no task waits for its answer, and no goal with work that is left. */
export const isAside = ({ kind }: Pick<Escalation, 'kind'>): boolean => aside.includes(kind)

/** Whether a person decides about what the details list. */
export const isAboutDetails = ({ kind }: Pick<Escalation, 'kind'>): boolean =>
  isAside({ kind }) || kind === 'plan_review'

/** Whether its goal as a whole waits for its answer. */
export const isAboutGoal = (question: Pick<Escalation, 'taskId' | 'kind'>): boolean =>
  question.taskId === null && !isAside(question)

/** Whether one of the choices is of this kind. */
export const offersChoice = ({ choices }: Pick<Escalation, 'choices'>, kind: ChoiceKind): boolean =>
  choices.some((choice) => choice.kind === kind)

const topics: Record<EscalationKind, string> = {
  blocker: 'goal is held up',
  exhausted: 'nothing left to try',
  budget: 'limit reached',
  merge_conflict: 'merge conflict',
  no_playbook: 'no automatic recovery',
  recovery_approval_required: 'command to approve',
  recovery_failed: 'command failed',
  recovery_unknown_outcome: 'command without known result',
  invalid_proposal: 'proposal is not valid',
  agent_question: 'question of the agent',
  checkout_changed: 'change in your checkout',
  issue_changed: 'changed issue',
  unsigned_commits: 'commits without a signature',
  plan_review: 'plan to start',
}

/** What a question is about, in a few words for people. Finished work is asked about with the kinds of failures. */
export const questionTopic = ({
  kind,
  choices,
}: Pick<Escalation, 'kind'> & { choices: readonly { kind: ChoiceKind }[] }): string =>
  choices.some((choice) => choice.kind === 'approve') ? 'finished work' : topics[kind]

const answered = <const Trigger extends ChoiceKind, const To extends EscalationState>(trigger: Trigger, to: To) =>
  ({ from: 'pending', to, trigger, owner: 'person', event: 'escalation.answered' }) as const

export const escalationFlow = {
  entity: 'escalation',
  states: escalationStates,
  terminal: ['approved', 'rejected', 'resolved', 'expired'],
  rows: [
    { from: '', to: 'pending', trigger: 'opened', owner: 'executor', event: 'escalation.opened' },
    answered('approve', 'approved'),
    answered('reject', 'rejected'),
    answered('ask_again', 'resolved'),
    answered('retry', 'approved'),
    answered('cancel', 'rejected'),
    answered('resume', 'resolved'),
    answered('hint', 'approved'),
    answered('reply', 'approved'),
    answered('widen', 'resolved'),
    answered('leave_out', 'resolved'),
    answered('edit', 'resolved'),
    answered('allow_command', 'resolved'),
    answered('allow_directory', 'resolved'),
    answered('change_check', 'resolved'),
    answered('copy_files', 'resolved'),
    answered('run_filters', 'resolved'),
    answered('commit_fix', 'resolved'),
    answered('take_over', 'resolved'),
    answered('keep', 'resolved'),
    answered('restore', 'resolved'),
    answered('restart', 'resolved'),
    answered('land', 'resolved'),
    answered('land_unsigned', 'resolved'),
    answered('plan_again', 'resolved'),
    answered('approve_recovery', 'approved'),
    answered('approve_always', 'approved'),
    answered('edit_recovery', 'approved'),
    answered('reject_recovery', 'rejected'),
    answered('resolve_recovery', 'resolved'),
    { from: 'pending', to: 'expired', trigger: 'overtaken', owner: 'cycle manager', event: 'escalation.expired' },
  ],
} as const satisfies Flow<EscalationState>
