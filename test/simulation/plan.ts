/**
 * What will happen in one seed, decided before it begins: goals with their tasks and how the agents behave, faults, and what
 * people do. Every part has a name, and a part that is masked out leaves all others as they are: that is how a failing seed
 * is made smaller.
 */
import type { CrashPoint } from '../../src/runtime/core/context.ts'
import { crashPoints } from '../../src/runtime/core/context.ts'
import { judgeModes, risks, type JudgeMode, type Risk } from '../../src/domain/judgement.ts'
import { createDice, type Dice } from './dice.ts'

/** How one start of the agent goes. */
export type Behaviour =
  | 'success'
  | 'own-commits'
  | 'no-change'
  | 'denied'
  | 'denied-for-good'
  | 'trust'
  | 'overload'
  | 'quota'
  | 'auth'
  | 'exit-75'
  | 'crash'
  | 'killed'
  | 'hang'
  | 'linger'
  | 'circles'
  | 'outside'
  | 'broken'
  | 'clash'
  | 'told'
  | 'shrinks'
  | 'wanders'
  | 'stray'
  | 'extra'
  | 'build-file'
  | 'report'
  | 'looks-made'
  | 'secret'
  | 'costly'
  | 'tamper-goal'
  | 'tamper-main'
  | 'tamper-delete'
  | 'overlong'
  | 'sessionless'

/** What the agent of a plan written by hand may look at when it starts. */
export interface StartFacts {
  /** Its command line, with what it is told. */
  words: string
  atMs: number
}

/** What a model answers when it is asked about changed paths; `greedy` allows more than it was asked about. */
export const modelAnswers = [
  ...(['allow', 'discard', 'deny', 'greedy', 'garbage', 'nothing', 'hang', 'crash', 'quota', 'writes'] as const),
] as const
export type ModelAnswer = (typeof modelAnswers)[number]

/** What a reviewer answers about finished work. `contradicts`: an approval with an error in it. `twice`: two verdicts, the second an approval. */
export const simulatedReviews = [
  ...(['approve', 'object', 'object-anew', 'object-elsewhere', 'object-nothing', 'contradicts', 'risky'] as const),
  ...(['garbage', 'nothing', 'hang', 'crash', 'quota', 'writes', 'twice'] as const),
] as const
export type SimulatedReview = (typeof simulatedReviews)[number]

/**
 * How one start goes of an agent that is to solve a conflict. `leaves`: a marker stays. `told`: until it is told so. `gives-way`: only the
 * other side is left.
 */
export const solvings = ['solves', 'leaves', 'told', 'gives-way', 'breaks', 'crash', 'hang'] as const
export type Solving = (typeof solvings)[number]

export interface TaskPlan {
  id: string
  harness: 'claude' | 'codex' | 'tool'
  after: string[]
  area: string | null
  priority: number
  commands: string[]
  /** The n-th start of its agent behaves as the n-th of these; the last one stands for all later ones. */
  behaviours: Behaviour[]
  /** Instead of the number: it succeeds in every start for which this holds, and behaves as the first of its behaviours in all others. */
  isHelped?: (start: StartFacts) => boolean
  /** The n-th question about its paths is answered by the n-th of these; the last one stands for all later ones. */
  answers: ModelAnswer[]
  /** Paths it changes; shared ones conflict. */
  paths: string[]
  /** How long its agent works, in milliseconds. */
  worksMs: number
  judge: JudgeMode | null
  /** The n-th review of its work, or of work that continues it, goes as the n-th of these; the last one stands for all later ones. */
  reviews: SimulatedReview[]
  /** The same for the starts of an agent that solves a conflict of its work. */
  solves: Solving[]
  /** It reviews this branch instead of doing work. */
  branch?: string
}

export interface GoalPlan {
  id: string
  atMs: number
  direct: boolean
  autoMerge: boolean
  judge: JudgeMode | null
  tasks: TaskPlan[]
}

export type FaultKind =
  | 'error-before'
  | 'error-after'
  | 'disk-full'
  | 'slow'
  | 'kill-before'
  | 'kill-after'
  | 'mid-transaction'

export interface Fault {
  id: string
  kind: FaultKind
  /** Name of a port's call (`git.publish`, `store.transaction`) or of a crash point (`point.judged`). */
  op: string
  /** The n-th such call from the beginning of the world. */
  nth: number
}

export type WorldEventKind =
  | 'lose-shim'
  | 'suspend-engine'
  | 'jump'
  | 'reboot'
  | 'kill'
  | 'restart'
  | 'pause'
  | 'resume'
  | 'cancel-task'
  | 'cancel-goal'
  | 'retry-task'
  | 'retry-goal'
  | 'clean'
  | 'config'
  | 'merge-by-hand'
  | 'commit-by-hand'
  | 'conflict-by-hand'
  | 'mend-base'
  | 'edit-task'
  | 'judge-off'
  | 'approve'
  | 'reject'
  | 'branch-moves'
  | 'branch-breaks'

export interface WorldEvent {
  id: string
  kind: WorldEventKind
  atMs: number
  /** Chooses whom it hits and how much. */
  pick: number
}

/** What the owner's configuration says about the judge. */
export interface JudgePlan {
  mode: JudgeMode
  rules: { paths: string[]; mode: JudgeMode }[]
  maxRisk: Risk
  retries: number
}

export const noJudge: JudgePlan = { mode: 'auto', rules: [], maxRisk: 'medium', retries: 1 }

export interface Plan {
  seed: string
  goals: GoalPlan[]
  faults: Fault[]
  events: WorldEvent[]
  maxParallel: number
  ttlSeconds: number
  transientLimit: number
  judge: JudgePlan
  /** A test of the repository is red before any work. */
  redBase?: boolean
}

const gitOps = [
  'bringObjects buildCommit buildTree captureBase captureTree changesBetween createWorkspace ensureGoalBranch fastForward',
  'integrate isBelow isCommitOf keepAgentCommits prepareDependencies publish readRef readRefs removeWorkspace restoreRef snapshot',
].flatMap((line) => line.split(' ').map((name) => `git.${name}`))
const processOps = ['startShim', 'waitForExit', 'sweep', 'runCommand', 'follow'].map((name) => `process.${name}`)
const fileOps = ['writeFileSync', 'mkdirSync', 'rmSync'].map((name) => `file.${name}`)
const asyncKinds: FaultKind[] = ['error-before', 'error-after', 'slow', 'kill-before', 'kill-after']
const points: CrashPoint[] = [...crashPoints]

const faultOf = (dice: Dice, id: string, size: number): Fault => {
  const where = dice.int(0, 99)
  // Few calls of most kinds are made for one task: numbers beyond them would never come.
  const nth = dice.int(1, Math.max(2, Math.round(size * (dice.chance(0.5) ? 0.4 : 1.2))))
  if (where < 30) {
    const op = dice.chance(0.6) ? 'store.transaction' : 'store.query'
    const kinds: FaultKind[] =
      op === 'store.query'
        ? ['error-before', 'error-after', 'slow', 'kill-before', 'kill-after']
        : ['error-before', 'error-after', 'mid-transaction', 'disk-full', 'slow', 'kill-before', 'kill-after']
    return { id, kind: dice.pick(kinds), op, nth: nth * dice.int(1, op === 'store.query' ? 60 : 12) }
  }
  if (where < 55) return { id, kind: 'kill-before', op: `point.${dice.pick(points)}`, nth }
  if (where < 80) return { id, kind: dice.pick(asyncKinds), op: dice.pick(gitOps), nth: nth * dice.int(1, 3) }
  if (where < 92) return { id, kind: dice.pick(asyncKinds), op: dice.pick(processOps), nth: nth * dice.int(1, 2) }
  return { id, kind: dice.pick(['disk-full', 'kill-before'] as const), op: dice.pick(fileOps), nth }
}

const early: Behaviour[] = [
  'denied',
  'trust',
  'overload',
  'overload',
  'exit-75',
  'crash',
  'killed',
  'hang',
  'linger',
  'outside',
  'broken',
  'quota',
  'auth',
  'no-change',
  'denied-for-good',
  'clash',
  'told',
  'shrinks',
  'wanders',
  'stray',
  'extra',
  'extra',
  'build-file',
  'report',
  'looks-made',
  'secret',
  'costly',
  'tamper-goal',
  'tamper-main',
  'tamper-delete',
  'own-commits',
  'circles',
]

const behavioursOf = (dice: Dice): Behaviour[] => {
  if (dice.chance(0.45)) return ['success']
  const list = Array.from({ length: dice.int(1, 3) }, () => dice.pick(early))
  return dice.chance(0.85) ? [...list, 'success'] : list
}

const commandsOf = (dice: Dice): string[] => {
  // The repository's own, in which what failed before is excused.
  if (dice.chance(0.15)) return []
  const list = ['npm test']
  if (dice.chance(0.2)) list.push('npm run missing')
  if (dice.chance(0.2)) list.push('cd sub && node check.mjs')
  if (dice.chance(0.04)) list.push('echo "$(date)"')
  return list
}

const taskOf = (dice: Dice, id: string, earlier: TaskPlan[]): TaskPlan => ({
  id,
  harness: dice.pick(['claude', 'claude', 'codex', 'tool'] as const),
  after:
    earlier.length > 0 && dice.chance(0.35)
      ? [...new Set(Array.from({ length: dice.int(1, 2) }, () => dice.pick(earlier).id))]
      : [],
  // An area of its own lets a task work beside others, whatever files they share.
  area: dice.chance(0.25) ? dice.pick(['one', 'two']) : dice.chance(0.45) ? id : null,
  priority: dice.int(0, 2),
  commands: commandsOf(dice),
  behaviours: behavioursOf(dice),
  answers: Array.from({ length: dice.int(1, 2) }, () => dice.pick(modelAnswers)),
  paths: [`src/${id}`, ...(dice.chance(0.3) ? [`src/shared-${dice.int(1, 3)}`] : [])],
  worksMs: dice.int(500, 12_000),
  ...{ judge: null, reviews: ['approve'], solves: ['solves'] },
})

const goalOf = (dice: Dice, id: string, size: number): GoalPlan => {
  const tasks: TaskPlan[] = []
  for (let number = 1; number <= size; number += 1) {
    const name = `${id}t${number}`
    tasks.push(taskOf(dice.fork(name), name, tasks))
  }
  return { id, atMs: dice.int(0, 20_000), direct: dice.chance(0.12), autoMerge: dice.chance(0.6), judge: null, tasks }
}

const kinds: WorldEventKind[] = [
  'lose-shim',
  'suspend-engine',
  'jump',
  'reboot',
  'kill',
  'kill',
  'restart',
  'pause',
  'resume',
  'cancel-task',
  'cancel-goal',
  'retry-task',
  'retry-goal',
  'clean',
  'config',
  'merge-by-hand',
  'commit-by-hand',
  'commit-by-hand',
  'conflict-by-hand',
  'mend-base',
  'edit-task',
]

/** A few odd answers, and mostly an approval after them: a goal of which nothing lands tries nothing that comes later. */
const reviewsOf = (dice: Dice): SimulatedReview[] => {
  if (dice.chance(0.3)) return ['approve']
  const odd = Array.from({ length: dice.int(1, 3) }, () => dice.pick(simulatedReviews))
  return dice.chance(0.8) ? [...odd, 'approve'] : odd
}

const solvesOf = (dice: Dice): Solving[] => {
  if (dice.chance(0.5)) return ['solves']
  const odd = Array.from({ length: dice.int(1, 2) }, () => dice.pick(solvings))
  return dice.chance(0.8) ? [...odd, 'solves'] : odd
}

const modeFor = (dice: Dice): JudgeMode | null => (dice.chance(0.3) ? dice.pick(judgeModes) : null)

/** Branches that somebody else works on. */
const reviewedBranches = ['feature-1', 'feature-2']

/** Thrown apart from the rest, which so stays as it is. */
const judgePart = (dice: Dice, goals: GoalPlan[], size: number): Pick<Plan, 'goals' | 'judge' | 'events'> => {
  const solving = goals.map((goal) => ({
    ...goal,
    tasks: goal.tasks.map((task) => ({ ...task, solves: solvesOf(dice.fork(`${task.id}/solves`)) })),
  }))
  if (dice.chance(0.4)) return { goals: solving, judge: noJudge, events: [] }
  const judged = solving.map((goal) => {
    const own = dice.fork(goal.id)
    const tasks = goal.tasks.map((task) => {
      const die = dice.fork(task.id)
      return { ...task, judge: modeFor(die), reviews: reviewsOf(die) }
    })
    const [first] = tasks
    const reviews: TaskPlan[] =
      goal.direct || first === undefined || !own.chance(0.25)
        ? []
        : [
            {
              ...{
                ...first,
                id: `${goal.id}r`,
                after: [],
                area: null,
                behaviours: ['success'],
                branch: own.pick(reviewedBranches),
              },
              paths: [`src/${goal.id}r`],
            },
          ]
    return { ...goal, judge: modeFor(own), tasks: [...tasks, ...reviews] }
  })
  const kinds: WorldEventKind[] = [
    'judge-off',
    'approve',
    'reject',
    'branch-moves',
    'branch-moves',
    'branch-breaks',
    'kill',
  ]
  const events = Array.from({ length: dice.int(0, 3 + Math.round(size / 4)) }, (_value, index) => {
    const own = dice.fork(`j${index + 1}`)
    return {
      id: `j${index + 1}`,
      kind: own.pick(kinds),
      atMs: own.int(2_000, 30_000 + size * 6_000),
      pick: own.int(0, 1_000_000),
    }
  })
  return {
    ...{ goals: judged, events },
    judge: {
      mode: dice.pick(['auto', 'auto', 'llm', 'llm', 'human'] as const),
      rules: dice.chance(0.3) ? [{ paths: ['src/shared-*'], mode: dice.pick(['llm', 'human'] as const) }] : [],
      maxRisk: dice.pick(risks),
      retries: dice.int(0, 2),
    },
  }
}

export const makePlan = (seed: string): Plan => {
  const dice = createDice(`plan/${seed}`)
  const sizes = Array.from({ length: dice.int(1, 4) }, () => dice.int(1, 12))
  const goals = sizes.map((size, index) => goalOf(dice.fork(`g${index + 1}`), `g${index + 1}`, size))
  const size = sizes.reduce((sum, count) => sum + count, 0)
  const calm = dice.chance(0.08)
  const count = (most: number): number => (calm ? 0 : dice.int(0, most))
  const faults = Array.from({ length: count(4 + size) }, (_value, index) =>
    faultOf(dice.fork(`f${index + 1}`), `f${index + 1}`, size),
  )
  const length = 20_000 + size * 6_000
  const events = Array.from({ length: count(3 + Math.round(size / 2)) }, (_value, index) => {
    const own = dice.fork(`e${index + 1}`)
    return { id: `e${index + 1}`, kind: own.pick(kinds), atMs: own.int(500, length), pick: own.int(0, 1_000_000) }
  })
  const judging = judgePart(createDice(`plan/${seed}/judge`), goals, size)
  return {
    ...{ seed, faults, ...judging, events: [...events, ...(calm ? [] : judging.events)] },
    maxParallel: dice.int(1, 4),
    ttlSeconds: dice.pick([40, 60, 120]),
    transientLimit: dice.int(2, 5),
    redBase: dice.chance(0.1),
  }
}

/** Without the named parts. A task that goes takes the dependencies on it along. */
export const without = (plan: Plan, names: ReadonlySet<string>): Plan => ({
  ...plan,
  goals: plan.goals
    .filter(({ id }) => !names.has(id))
    .map((goal) => ({
      ...goal,
      tasks: goal.tasks
        .filter(({ id }) => !names.has(id))
        .map((task) => ({ ...task, after: task.after.filter((id) => !names.has(id)) })),
    }))
    .filter(({ tasks }) => tasks.length > 0),
  faults: plan.faults.filter(({ id }) => !names.has(id)),
  events: plan.events.filter(({ id }) => !names.has(id)),
})

/** Everything that can be taken away, what disturbs first. */
export const planParts = (plan: Plan): string[] => [
  ...plan.events.map(({ id }) => id),
  ...plan.faults.map(({ id }) => id),
  ...plan.goals.map(({ id }) => id),
  ...plan.goals.flatMap(({ tasks }) => tasks.map(({ id }) => id)),
]
