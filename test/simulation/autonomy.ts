/**
 * What is to be done without a person, as far as nothing disturbs: no question after a single start of an agent that may still do it,
 * none at all for one that mends what it is told, and no start that is the same as one that just failed.
 */
import { offersChoice, type Escalation } from '../../src/domain/escalation.ts'
import { totalBudget } from '../../src/recovery/ladder.ts'
import { checkoutQuestion, type Look } from './mirror.ts'
import type { Behaviour } from './plan.ts'
import type { SimLaunch } from './processes.ts'
import { failingTests } from './suite.ts'
import type { World } from './world.ts'

export interface Autonomy {
  programStarts(launch: SimLaunch): void
  observe(look: Look): void
  /** When nothing moves by itself any more. */
  rests(): void
}

/** A fault so soon before a program starts may hit its run as well. */
const marginMs = 5_000

interface Started {
  launch: SimLaunch
  signature: string
  at: number
}

/** After these another start may do it. */
const mayStillWork: readonly Behaviour[] = [
  ...(['crash', 'killed', 'no-change', 'hang', 'circles'] as const),
  ...(['broken', 'told', 'shrinks', 'wanders', 'stray', 'outside'] as const),
  ...(['extra', 'build-file', 'report', 'looks-made', 'secret'] as const),
]

/** These end well as soon as they are told, or are started often enough. */
const mends: readonly Behaviour[] = [
  ...(['told', 'shrinks', 'stray', 'extra', 'build-file', 'report', 'looks-made', 'secret'] as const),
]

/** What the agent is given, without the names of its run. */
const signatureOf = (world: World, { spec }: SimLaunch): string =>
  JSON.stringify([spec.argv, world.git.clones.get(spec.cwd)?.base]).replaceAll(spec.marker, '<run>')

const behaviourOf = ({ program }: SimLaunch): Behaviour | undefined => program?.script.behaviour

export const createAutonomy = (world: World): Autonomy => {
  const starts = new Map<string, Started[]>()
  const taskOf = (launch: SimLaunch): string => world.tables.run.get(launch.spec.marker)?.taskId ?? ''
  const calmSince = (at: number): boolean => world.disturbedAt < at && world.steadySince() < at

  const checkRepeated = (taskId: string, next: Started): void => {
    const last = starts.get(taskId)?.at(-1)
    if (last === undefined || last.signature !== next.signature || !calmSince(last.at)) return
    const behaviour = behaviourOf(last.launch)
    if (behaviour === undefined || !mayStillWork.includes(behaviour) || last.launch.exit === undefined) return
    world.violated('every retry changes something', `${taskId} starts again as it was, after ${behaviour}`)
  }

  /** A new attempt is told what a person said and edited; one under way is judged by what it was told. */
  const checkTold = (taskId: string, launch: SimLaunch): void => {
    const task = world.tables.task.get(taskId)
    if (task === undefined) return
    const prompt = launch.spec.argv.join(' ')
    const isFirst = world.tables.run.get(launch.spec.marker)?.launches.length === 1
    if (isFirst && !prompt.includes(task.instructions))
      world.violated('a person is heard', `${taskId} starts without its text: ${task.instructions}`)
    if (isFirst && task.hint !== null && !prompt.includes(task.hint))
      world.violated('a person is heard', `${taskId} starts without the hint: ${task.hint}`)
    const waiting = task.pendingEdit?.instructions
    if (waiting !== undefined && prompt.includes(waiting))
      world.violated('a person is heard', `${taskId} is told an edit in the middle of its attempt: ${waiting}`)
  }

  const ofCount = (taskId: string): Started[] => {
    const from = world.tables.task.get(taskId)?.countFromEpoch ?? 0
    return (starts.get(taskId) ?? []).filter(
      ({ launch }) => (world.tables.run.get(launch.spec.marker)?.epoch ?? 0) > from,
    )
  }

  const parentsOf = (taskId: string): string[] => {
    const parent = world.tables.task.get(taskId)?.rework?.parent
    return parent === undefined ? [] : [parent, ...parentsOf(parent)]
  }

  /** The tasks that a question about a goal is about: those that were given up, and that no other task continues. */
  const givenUp = (goalId: string): string[] =>
    [...world.tables.task.values()].flatMap(({ id, goalId: of, status, rework, supersededBy }) =>
      of === goalId && status === 'cancelled' && rework !== null && supersededBy === null ? [id] : [],
    )

  const checkQuestion = ({ goalId, taskId, kind, question, choices }: Escalation): void => {
    // Nothing but landings waits for it.
    if (kind === 'checkout_changed') return
    // Whether finished work may land is asked as early as it is finished.
    if (offersChoice({ choices }, 'approve')) return
    for (const id of taskId === null ? givenUp(goalId) : [taskId]) checkAsked(id, question)
  }

  const checkAsked = (taskId: string, question: string): void => {
    const own = ofCount(taskId)
    const [first, last] = [own[0], own.at(-1)]
    if (first === undefined || last === undefined || !calmSince(first.at)) return
    const behaviours = own.map(({ launch }) => behaviourOf(launch))
    const behaviour = behaviours.at(-1)
    if (behaviour === undefined || !mayStillWork.includes(behaviour)) return
    if (own.length < 2)
      world.violated(
        'no question too early',
        `after one start of ${taskId} (${behaviour}) a person is asked: ${question}`,
      )
    const spent = [...world.tables.recovery.values()].filter((entry) => entry.taskId === taskId && entry.counted).length
    // Another behaviour leaves what the one before would have taken away, also in the tasks that this one continues.
    const earlier = parentsOf(taskId).flatMap((id) => (starts.get(id) ?? []).map(({ launch }) => behaviourOf(launch)))
    const isSame = [...earlier, ...behaviours].every((one) => one === behaviour)
    // What was red where it began is not what it mends, and a check that its task names must pass.
    const base = world.tables.run.get(last.launch.spec.marker)?.baseCommit ?? ''
    const canMend = mends.includes(behaviour) && failingTests(world.git.treeOf(base)).length === 0
    if (spent < totalBudget && isSame && canMend)
      world.violated('no question too early', `${taskId} would have mended it (${behaviours.join()}): ${question}`)
  }

  const isDirty = (): boolean => {
    const head = world.git.treeOf(world.git.refs.get('refs/heads/main') ?? '')
    const files = world.git.userFiles
    return head.size !== files.size || [...head].some(([path, text]) => files.get(path) !== text)
  }

  /** A goal that waits for its landing though nothing is in its way. */
  const checkLanding = (): void => {
    if (isDirty() || checkoutQuestion(world.tables) !== undefined) return
    const asked = new Set(
      [...world.tables.escalation.values()].flatMap((entry) => (entry.state === 'pending' ? [entry.goalId] : [])),
    )
    const red = failingTests(world.git.treeOf(world.git.refs.get('refs/heads/main') ?? '')).length > 0
    const waits = [...world.tables.goal.values()].find(
      ({ id, state, autoMerge, headCommit }) => state === 'ready' && autoMerge && headCommit !== null && !asked.has(id),
    )
    if (waits !== undefined && !red) world.violated('the work lands', `goal ${waits.id} waits: ${waits.reason}`)
  }

  return {
    programStarts: (launch) => {
      const taskId = taskOf(launch)
      const next = { launch, signature: signatureOf(world, launch), at: world.scheduler.now() - marginMs }
      checkRepeated(taskId, next)
      checkTold(taskId, launch)
      starts.set(taskId, [...(starts.get(taskId) ?? []), next])
    },
    observe: ({ changes }) => {
      for (const { table, before, after } of changes)
        if (table === 'escalation' && before === undefined && after !== undefined) checkQuestion(after as Escalation)
    },
    rests: checkLanding,
  }
}
