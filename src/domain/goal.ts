/** A goal: what the user asked for. It lands on its own branch and ends done, ready, failed, cancelled or with one question. */
import { fromEach, type Flow } from './flow.ts'
import type { Limits, Spend } from './budget.ts'
import type { Grant } from './escalation.ts'

export const goalStates = [
  'planning',
  'active',
  'paused',
  'awaiting_human',
  'ready',
  'done',
  'failed',
  'cancelled',
] as const
export type GoalState = (typeof goalStates)[number]

/**
 * `local`: own clones, a goal branch. `direct`: edits in place, also in a plain folder; done = the verdict. `remote`: as
 * local, with a repository by URL: goal branch and target are branches over there.
 */
export const repoModes = ['local', 'direct', 'remote'] as const
export type RepoMode = (typeof repoModes)[number]

/** Why a goal could not land, for people. */
export interface LandingRefusal {
  reason: string
  detail: string
  paths: string[]
}

/** Why the branch of a goal is not where it belongs. */
export interface BrokenBranch {
  /**
   * `lost`: it was deleted, and its commits are nowhere any more. `failed`: git does not put it back. `replaced`: there is
   * another repository at this path than the one that the goal began in.
   */
  reason: 'lost' | 'failed' | 'replaced'
  /** For people. */
  detail: string
  tries: number
  /** The question about it, answered or not. */
  question: string | null
  /** A person wants the work done again, on what the target is now. */
  again: boolean
}

/** How often putting a branch back is tried before a person is asked. */
export const brokenLimit = 3

/** How far a goal is on its way from its own branch to the user's. */
export interface GoalLanding {
  /** A person asked for it, whatever `autoMerge` says. */
  asked: boolean
  /** The target has commits that the goal branch lacks: nothing of the goal starts or merges before it is rebased. */
  outdated: boolean
  /** It was rebased, and its checks have not passed on the result yet. */
  unverified: boolean
  /** The branch still holds work that is to be done again: nothing may start or merge on top of it. */
  sentBack: boolean
  /** How often the target had moved when it was about to land, or sent-back work could not be taken off its branch. */
  tries: number
  /** Why the last attempt left the target where it was; null = there was none, or the next one is under way. */
  refused: LandingRefusal | null
  /** Nothing of the goal starts, merges or lands before its branch is there again; null = it is. */
  broken: BrokenBranch | null
}

export const notLanding: GoalLanding = {
  ...{ asked: false, outdated: false, unverified: false, sentBack: false },
  tries: 0,
  refused: null,
  broken: null,
}

export interface Goal {
  id: string
  title: string
  requirement: string
  state: GoalState
  repoMode: RepoMode
  /** The user's branch at the start; null in a plain folder or on a detached HEAD. */
  targetBranch: string | null
  /** Commit the goal branch starts from, which a rebase moves on; null in direct mode. */
  baseCommit: string | null
  /** What the goal branch should point at: only Unstuck writes it, anything else found there was moved by somebody. */
  headCommit: string | null
  autoMerge: boolean
  landing: GoalLanding
  allowedDirs: string[]
  /** What a person allowed its agents to run, besides the checks. */
  grants: Grant[]
  limits: Limits
  spend: Spend
  /** Why it is paused, failed or waiting; empty while it works. */
  reason: string
  version: number
  createdAt: Date
  changedAt: Date
  endedAt: Date | null
}

export const goalFlow = {
  entity: 'goal',
  states: goalStates,
  terminal: ['done', 'failed', 'cancelled'],
  rows: [
    { from: '', to: 'planning', trigger: 'created', owner: 'person', event: 'goal.created' },
    { from: 'planning', to: 'active', trigger: 'planned', owner: 'planner', event: 'goal.planned' },
    { from: 'active', to: 'paused', trigger: 'paused', owner: 'person', event: 'goal.paused' },
    { from: 'active', to: 'paused', trigger: 'blocked', owner: 'executor', event: 'goal.paused' },
    { from: 'awaiting_human', to: 'paused', trigger: 'paused', owner: 'person', event: 'goal.paused' },
    { from: 'awaiting_human', to: 'paused', trigger: 'blocked', owner: 'executor', event: 'goal.paused' },
    { from: 'ready', to: 'paused', trigger: 'blocked', owner: 'merge queue', event: 'goal.paused' },
    { from: 'paused', to: 'active', trigger: 'resumed', owner: 'person', event: 'goal.resumed' },
    {
      from: 'active',
      to: 'awaiting_human',
      trigger: 'only_questions_left',
      owner: 'cycle manager',
      event: 'goal.awaiting_human',
    },
    { from: 'awaiting_human', to: 'active', trigger: 'answered', owner: 'person', event: 'goal.resumed' },
    { from: 'active', to: 'ready', trigger: 'all_done', owner: 'cycle manager', event: 'goal.ready' },
    { from: 'ready', to: 'done', trigger: 'landed', owner: 'merge queue', event: 'goal.done' },
    { from: 'ready', to: 'active', trigger: 'outdated', owner: 'merge queue', event: 'goal.outdated' },
    { from: 'active', to: 'failed', trigger: 'work_cancelled', owner: 'cycle manager', event: 'goal.failed' },
    { from: 'failed', to: 'active', trigger: 'retried', owner: 'person', event: 'goal.resumed' },
    ...fromEach(['planning', 'active', 'paused', 'awaiting_human', 'ready'], {
      to: 'cancelled',
      trigger: 'cancelled',
      owner: 'person',
      event: 'goal.cancelled',
    }),
  ],
} as const satisfies Flow<GoalState>

/** New work of a goal may start only while it is active. */
export const mayStartWork = (goal: { state: GoalState }): boolean => goal.state === 'active'

/** Whether a ready goal is to land without a further word of a person. */
export const isToLand = (goal: Pick<Goal, 'autoMerge' | 'landing'>): boolean => goal.autoMerge || goal.landing.asked

/** Its landing is the engine's next step, until it is there or was refused. */
export const isLanding = (goal: Pick<Goal, 'state' | 'autoMerge' | 'landing' | 'targetBranch'>): boolean =>
  goal.state === 'ready' &&
  goal.targetBranch !== null &&
  isToLand(goal) &&
  goal.landing.refused === null &&
  goal.landing.broken === null

/** Only a person can say how it goes on. */
export const waitsForBranch = ({ landing: { broken } }: Pick<Goal, 'landing'>): boolean =>
  broken !== null && broken.tries >= brokenLimit && !broken.again

/** How many of the goals that have ended a status shows by itself, the newest first, and how many it may be asked for. */
export const endedShown = { standard: 50, most: 100_000 } as const

export const goalEnded = (state: GoalState): boolean =>
  state === 'ready' || (goalFlow.terminal as readonly string[]).includes(state)
