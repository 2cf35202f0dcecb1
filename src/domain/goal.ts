/** A goal: what the user asked for. Its work lands on a branch of its own; it ends done, ready, failed, cancelled or with one question. */
import { fromEach, type Flow } from './flow.ts'
import type { Limits, Spend } from './budget.ts'
import type { Grant } from './escalation.ts'
import type { JudgeMode } from './judgement.ts'
import type { Task } from './task.ts'

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
 * `local`: runs work in clones, and the goal has a branch. `direct`: runs edit the user's folder, which need not be a
 * repository, and a task is done with its verdict. `remote`: as `local`, with goal branch and target on a remote repository.
 */
export const repoModes = ['local', 'direct', 'remote'] as const
export type RepoMode = (typeof repoModes)[number]

/** Why a goal could not land, in words for people. */
export interface LandingRefusal {
  reason: string
  detail: string
  paths: string[]
}

/** Why the branch of a goal does not point at the goal's head commit. */
export interface BrokenBranch {
  /**
   * `lost`: the branch was deleted, and its commits no longer exist. `failed`: git could not restore it. `replaced`: the
   * repository at this path is not the one in which the goal began.
   */
  reason: 'lost' | 'failed' | 'replaced'
  /** In words for people. */
  detail: string
  tries: number
  /** The escalation about the branch, pending or answered; null = there was none. */
  question: string | null
  /** A person asked to do the work again, on the present tip of the target. */
  again: boolean
}

/** Attempts to restore a branch before a person is asked. */
export const restoreAttempts = 3

export const targetCheckStates = ['pending', 'passed', 'failed', 'unknown'] as const

/** The checks of the user's branch after a goal has landed there. */
export interface TargetCheck {
  /** `unknown`: they could not run, or the machine was at fault. */
  state: (typeof targetCheckStates)[number]
  /** The commit that is checked, and one of the branch before the goal landed. */
  commit: string
  base: string
  /** The check that fails, and the task whose work made it fail; null = it passed, or no task was found. */
  command: string | null
  taskId: string | null
  detail: string
}

/** The signatures of the owner on the commits of a goal, where the owner's git signs commits. */
export interface GoalSigning {
  /** Whether the key could be used without a person when it was tried last. */
  usable: boolean
  /** The head of which all commits that have not landed are signed. */
  head?: string
  /** Signed commits that are about to replace those up to `from`. */
  next?: { from: string; to: string }
  /** The head whose commits could not be signed, and when that was tried last (ISO 8601). */
  failed?: { head: string; at: string }
  /** A person lets the commits land without. */
  waived?: true
}

/** The progress of a goal from its own branch to the user's. */
export interface GoalLanding {
  /** A person ordered the landing, whatever `autoMerge` says. */
  asked: boolean
  /**
   * A person ordered that what is done lands without the rest. The goal neither ends nor waits before that is carried out or refused; then
   * it goes on, or ends as before.
   */
  part?: boolean
  /** How the goal had ended before that order. Null = it had not, or it has ended so again. */
  endedAs?: 'failed' | 'cancelled' | null
  /** The head commit of the goal that landed so. */
  partHead?: string
  /** The target has commits that the goal branch lacks: no task of the goal starts or merges before the branch is rebased. */
  outdated: boolean
  /** The tip of the target on the forge onto which the goal is brought for its pull request: the user's own branch may lack it. Null = none. */
  onForge?: string | null
  /** The goal branch was rebased, and the checks have not passed on the result yet. */
  unverified: boolean
  /** The branch still contains work that is to be done again: no task may start or merge on top of it. */
  sentBack: boolean
  /** How often the target had moved just before the landing, or work to be done again could not be removed from the branch. */
  tries: number
  /** Why the last attempt did not land; null = there was none, or the next one is in progress. */
  refused: LandingRefusal | null
  /** Set while the goal branch is missing or misplaced: no task of the goal starts or merges, and the goal does not land. */
  broken: BrokenBranch | null
  /** Null before the goal has landed. */
  target: TargetCheck | null
  /** Absent before the key was tried, and where the owner's git signs no commits. */
  signing?: GoalSigning
}

export const notLanding: GoalLanding = {
  ...{ asked: false, outdated: false, unverified: false, sentBack: false },
  tries: 0,
  refused: null,
  broken: null,
  target: null,
}

export const defaultBranchPrefix = 'unstuck/'

/** Whether a branch is one of a goal, whatever prefix the owner had set when it was made. */
export const isGoalBranch = (name: string): boolean => /goal\/g-[a-z0-9]{8}$/.test(name)

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
  /** The commit that the goal branch should point at. Only Unstuck moves it; another commit there was put by someone else. */
  headCommit: string | null
  /** What the name of its branch begins with: `git.branchPrefix` when the goal was made. */
  branchPrefix: string
  autoMerge: boolean
  /** How strictly the work of its tasks is judged; null = as the owner says. */
  judge: JudgeMode | null
  landing: GoalLanding
  allowedDirs: string[]
  /** Commands that a person allowed the agents of the goal, besides the checks. */
  grants: Grant[]
  limits: Limits
  spend: Spend
  /** Why the goal is paused, failed or waiting; empty while it is in progress. */
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
    { from: 'ready', to: 'active', trigger: 'corrected', owner: 'merge queue', event: 'goal.corrected' },
    ...fromEach(['failed', 'cancelled'], {
      to: 'active',
      trigger: 'landed_in_part',
      owner: 'person',
      event: 'goal.resumed',
      isConditional: true,
    }),
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

/** Whether a ready goal lands without another command of a person. */
export const isToLand = (goal: Pick<Goal, 'autoMerge' | 'landing'>): boolean => goal.autoMerge || goal.landing.asked

/** Whether the engine is about to land the goal: it is ready, and the landing was not refused. */
export const isLanding = (goal: Pick<Goal, 'state' | 'autoMerge' | 'landing' | 'targetBranch'>): boolean =>
  goal.state === 'ready' &&
  goal.targetBranch !== null &&
  isToLand(goal) &&
  goal.landing.refused === null &&
  goal.landing.broken === null

/** Whether all its work is done and only has to be rebased onto the tip of its target, or checked there, before the goal is ready again. */
export const isOnItsWay = (
  { state, landing }: Pick<Goal, 'state' | 'landing'>,
  tasks: readonly Pick<Task, 'status' | 'supersededBy'>[],
): boolean => {
  const work = tasks.filter(({ supersededBy }) => supersededBy === null)
  return (
    state === 'active' &&
    landing.broken === null &&
    (landing.outdated || landing.unverified) &&
    work.length > 0 &&
    work.every(({ status }) => status === 'done')
  )
}

/** Whether the goal branch cannot be restored without a decision of a person. */
export const waitsForBranch = ({ landing: { broken } }: Pick<Goal, 'landing'>): boolean =>
  broken !== null && broken.tries >= restoreAttempts && !broken.again

/** How many ended goals a status shows by default, the newest first, and how many a client may request. */
export const endedShown = { standard: 50, most: 100_000 } as const

/** Whether nothing follows without a person. A ready goal is not over: it waits to be landed. */
export const isGoalClosed = (state: GoalState): boolean => (goalFlow.terminal as readonly string[]).includes(state)

export const goalEnded = (state: GoalState): boolean => state === 'ready' || isGoalClosed(state)

/** Whether the goal has a branch and no task of it changed a file, so that nothing can land. A view may lack both commits. */
export const isWithoutWork = ({
  repoMode,
  baseCommit,
  headCommit,
}: Pick<Goal, 'repoMode' | 'baseCommit' | 'headCommit'>): boolean =>
  repoMode !== 'direct' && headCommit != null && headCommit === baseCommit
