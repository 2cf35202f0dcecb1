/**
 * A judgement: whether finished work may land, and why. It is claimed before the review begins, and its verdict is final for the
 * head commit: only a person who is asked about that commit again replaces it. A claim without a verdict expires and is claimed again
 * with a higher version; a writer with a smaller one writes nothing.
 */
import type { Spend } from './budget.ts'
import { fromEach, type Flow } from './flow.ts'

/** What a reviewer is asked about, as the events of the question say. */
export const reviewPurpose = 'finished work'

/** How often a reviewer that gave no valid answer is asked again, where the configuration does not say it. */
export const defaultJudgeRetries = 2

/** From the least to the most strict. `auto`: the gates alone. `llm`: also a reviewer. `human`: also a person. */
export const judgeModes = ['auto', 'llm', 'human'] as const
export type JudgeMode = (typeof judgeModes)[number]

export const strictestMode = (modes: readonly (JudgeMode | null)[]): JudgeMode =>
  judgeModes.findLast((mode) => modes.includes(mode)) ?? 'auto'

/** What it can break if the work is wrong, from little to much. */
export const risks = ['low', 'medium', 'high'] as const
export type Risk = (typeof risks)[number]

export const highestRisk = (found: readonly (Risk | null)[]): Risk =>
  risks.findLast((risk) => found.includes(risk)) ?? 'low'

export const isRiskAbove = (risk: Risk, ceiling: Risk): boolean => risks.indexOf(risk) > risks.indexOf(ceiling)

export const severities = ['error', 'warning', 'note'] as const

/** One objection to the work. */
export interface ReviewPoint {
  /** Null = about the work as a whole. */
  path: string | null
  line?: number
  severity: (typeof severities)[number]
  what: string
  why: string
}

export const verdictWords = ['approve', 'request_changes'] as const
export type VerdictWord = (typeof verdictWords)[number]

/**
 * `claimed`: being judged. `waiting`: the reviewer could not be asked, and is asked again at `retryAt`. `asked`: a person decides.
 * `withdrawn`: a person did something else with the task, or a reviewed branch has a new commit, so the work is judged no more.
 */
export const judgementStates = ['claimed', 'waiting', 'asked', 'decided', 'withdrawn'] as const
export type JudgementState = (typeof judgementStates)[number]

export interface Judgement {
  id: string
  number: number
  goalId: string
  taskId: string
  runId: string
  /** The head commit that is judged; null = the run made none. */
  commit: string | null
  version: number
  mode: JudgeMode
  state: JudgementState
  /** Who claimed it. */
  engineId: string | null
  expiresAt: Date | null
  retryAt: Date | null
  /** How often the reviewer gave no answer that counts, in a row. */
  failures: number
  verdict: VerdictWord | null
  reason: string
  risk: Risk | null
  points: ReviewPoint[]
  summary: string
  /** Of the reviewer; null = none was asked. */
  harness: string | null
  model: string | null
  /** The person who decided. */
  decidedBy: string | null
  spend: Spend
  /** When the reviewer was last asked; null = no reviewer was. */
  spentAt: Date | null
  createdAt: Date
  changedAt: Date
  decidedAt: Date | null
}

export const judgementFlow = {
  entity: 'judgement',
  states: judgementStates,
  terminal: ['decided', 'withdrawn'],
  rows: [
    { from: '', to: 'claimed', trigger: 'claimed', owner: 'judge', event: 'judge.claimed' },
    { from: '', to: 'decided', trigger: 'gates_decided', owner: 'judge', event: 'judge.review' },
    { from: '', to: 'asked', trigger: 'gates_asked', owner: 'judge', event: 'judge.review' },
    ...fromEach(['claimed', 'waiting'], {
      to: 'claimed',
      trigger: 'claimed_again',
      owner: 'judge',
      event: 'judge.task_recovered',
    }),
    { from: 'claimed', to: 'waiting', trigger: 'unanswered', owner: 'judge', event: 'judge.task_requeued' },
    // Also while it waits: the owner's settings may have become stricter since it was claimed.
    ...fromEach(['claimed', 'waiting'], { to: 'asked', trigger: 'escalated', owner: 'judge', event: 'judge.review' }),
    { from: 'claimed', to: 'decided', trigger: 'reviewed', owner: 'judge', event: 'judge.review' },
    // A person may be asked about a commit again: in its second run, or where reviewer and writer do not agree.
    ...fromEach(['asked', 'decided', 'withdrawn'], {
      to: 'decided',
      trigger: 'answered',
      owner: 'person',
      event: 'judge.review',
    }),
    { from: 'asked', to: 'waiting', trigger: 'asked_again', owner: 'person', event: 'judge.task_requeued' },
    ...fromEach(['claimed', 'waiting', 'asked'], {
      to: 'withdrawn',
      trigger: 'withdrawn',
      owner: 'person',
      event: 'judge.withdrawn',
    }),
  ],
} as const satisfies Flow<JudgementState>
