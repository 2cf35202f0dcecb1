/** What people and the machine do to the world: goals given, answers, pauses, cancels, and the blows of fate. */
import {
  cancelGoal,
  cancelTask,
  pauseGoal,
  resumeGoals,
  retryGoal,
  retryTask,
} from '../../src/runtime/people/commands.ts'
import { approveTask, askReviewerAgain, rejectTask } from '../../src/runtime/people/approve.ts'
import { setJudge } from '../../src/runtime/people/judge-switch.ts'
import { requestEdit } from '../../src/runtime/people/edit-task.ts'
import { isAboutGoal, offersChoice, type Escalation } from '../../src/domain/escalation.ts'
import { keepChanges } from '../../src/runtime/people/answer-aside.ts'
import { checkoutQuestion } from './mirror.ts'
import { AppError } from '../../src/errors.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { removeExpired } from '../../src/runtime/engine/retention.ts'
import { createGoal } from '../../src/runtime/goal/create-goal.ts'
import { createDice, type Dice } from './dice.ts'
import { Killed } from './engine.ts'
import { commitToBranch, workOf } from './finished-work.ts'
import type { GoalPlan, WorldEvent, WorldEventKind } from './plan.ts'
import { brokenBy } from './suite.ts'
import { byHand } from './target.ts'
import { redFile, type World } from './world.ts'

/** What the API answers with an error a person may read; anything else that is thrown is a bug. */
const told = (world: World, what: string, error: unknown): void => {
  if (error instanceof Killed) return
  const own = error instanceof AppError || (error as { injected?: boolean }).injected === true
  if (own) world.trace(`${what} was refused: ${String(error)}`)
  else world.broken(what, error)
}

interface Desk {
  context: Context
  cancelRunning: (taskId: string) => Promise<void>
}

/** The engine that answers now, if one does. */
const deskOf = (world: World): Desk | undefined => {
  const current = world.current
  const engine = current?.engine
  if (current === undefined || engine === undefined || !current.alive || current.stopping.signal.aborted)
    return undefined
  return { context: current.context, cancelRunning: (taskId) => engine.cancelRunning(taskId) }
}

const ask = (world: World, what: string, work: (desk: Desk) => Promise<unknown>): void => {
  const desk = deskOf(world)
  if (desk === undefined) return void world.scheduler.after(700, () => ask(world, what, work))
  world.disturbedAt = world.scheduler.now()
  world.trace(what)
  work(desk).then(
    () => world.trace(`${what}: done`),
    (error: unknown) => told(world, what, error),
  )
}

export const giveGoal = (world: World, goal: GoalPlan, tries = 3): void => {
  const known = (): boolean => [...world.tables.goal.values()].some(({ title }) => title === goal.id)
  ask(world, `goal ${goal.id} is given`, async ({ context }) => {
    if (known()) return
    const tasks = goal.tasks.map((task) => ({
      ...{ id: task.id, title: task.id, instructions: `Do ${task.id}.`, allowedPaths: ['src/**'], deniedPaths: [] },
      ...{
        commands: task.commands,
        after: task.after,
        priority: task.priority,
        harness: task.harness,
      },
      ...(task.branch === undefined
        ? { role: 'worker' as const }
        : { role: 'judge' as const, review: { branch: task.branch } }),
      ...(task.judge === null ? {} : { judge: task.judge }),
      ...(task.area === null ? {} : { targetArea: task.area }),
    }))
    const input = { title: goal.id, requirement: goal.id, tasks, allowedDirs: [], warnings: [] }
    const options = {
      autoMerge: goal.autoMerge,
      repoMode: goal.direct ? ('direct' as const) : ('local' as const),
      allowedDirs: [],
      harness: null,
      limits: {},
      ...(goal.judge === null ? {} : { judge: goal.judge }),
    }
    await createGoal(context, input, options)
  })
  // Whoever gets no answer looks again.
  if (tries > 0) world.scheduler.after(60_000, () => void (known() || giveGoal(world, goal, tries - 1)))
}

const some = <T>(dice: Dice, list: T[]): T | undefined => (list.length === 0 ? undefined : dice.pick(list))

const goalsIn = (world: World, ...states: string[]) =>
  [...world.tables.goal.values()].filter(({ state }) => states.includes(state))

const onTask =
  (kind: 'cancel' | 'retry') =>
  (world: World, dice: Dice): void => {
    const open =
      kind === 'cancel'
        ? ['queued', 'running', 'failed', 'blocked(awaiting_human)', 'blocked(awaiting_judge)']
        : ['failed', 'blocked(awaiting_human)', 'cancelled']
    const task = some(
      dice,
      [...world.tables.task.values()].filter(({ status }) => open.includes(status)),
    )
    if (task === undefined) return
    ask(world, `${kind} of ${task.id}`, ({ context, cancelRunning }) =>
      kind === 'cancel' ? cancelTask(context, task.id, cancelRunning) : retryTask(context, task.id, hintOf(dice)),
    )
  }

/** What a person says with a retry, if anything. */
const hintOf = (dice: Dice): { hint?: string } =>
  dice.chance(0.5) ? { hint: `Look at it once more, ${dice.int(1, 1_000)}.` } : {}

/** Work whose text, checks, paths or harness a person changes, also while an agent is at it. */
const editOne = (world: World, dice: Dice): void => {
  const open = [
    'queued',
    'running',
    'failed',
    'blocked(awaiting_human)',
    'blocked(needs_rework)',
    'blocked(quota_wait)',
  ]
  const task = some(
    dice,
    [...world.tables.task.values()].filter(({ status }) => open.includes(status)),
  )
  if (task === undefined) return
  const fields = dice.pick([
    { instructions: `Do ${task.title}, as said in edit ${dice.int(1, 1_000)}.` },
    { harness: dice.pick(['claude', 'codex', 'tool']) },
    { allowedPaths: ['src/**', 'elsewhere/**'] },
    ...(task.commandSource === 'task' ? [{ commands: ['npm test', 'npm run missing'] }] : []),
  ])
  ask(world, `edit of ${task.id}: ${JSON.stringify(fields)}`, ({ context }) =>
    requestEdit(context, task.id, fields, { why: 'a person says so' }),
  )
}

const onGoal =
  (what: string, states: string[], work: (desk: Desk, id: string) => Promise<unknown>) =>
  (world: World, dice: Dice): void => {
    const goal = some(dice, goalsIn(world, ...states))
    if (goal !== undefined) ask(world, `${what} ${goal.id}`, (desk) => work(desk, goal.id))
  }

const mergeByHand = (world: World, dice: Dice): void => {
  const goal = some(dice, goalsIn(world, 'ready'))
  const { git } = world
  if (goal?.headCommit === null || goal === undefined) return
  if (git.refs.get(`refs/heads/unstuck/goal/${goal.id}`) !== goal.headCommit) return
  const moved = git.calls.fastForward(world.shadow.repository, { branch: 'main', to: goal.headCommit })
  world.trace(`a person merges ${goal.id}: ${moved.ok ? 'done' : moved.reason}`)
}

/** A person commits a file to main, in the checkout of main. Undefined removes it. */
const commitFile = (world: World, path: string, content: string | undefined): void => {
  const { git } = world
  const head = git.refs.get('refs/heads/main') ?? ''
  const files = new Map(git.treeOf(head))
  for (const place of [files, git.userFiles]) {
    if (content === undefined) place.delete(path)
    else place.set(path, content)
  }
  const commit = git.addCommit({
    tree: git.addTree(files),
    parents: [head],
    message: `${byHand} ${world.scheduler.now()}\n`,
  })
  git.userObjects.add(commit)
  git.refs.move('refs/heads/main', commit, 'commit: by hand')
  world.trace(`a person commits ${path} to main`)
}

const commitByHand = (world: World): void => commitFile(world, 'README.md', `read me at ${world.scheduler.now()}\n`)

/** The same files as some tasks change, or one that passes its tests only without the work of others. */
const conflictByHand = (world: World, dice: Dice): void =>
  commitFile(world, dice.pick(['src/shared-1', 'src/shared-2', 'src/clash-a']), `by hand at ${world.scheduler.now()}\n`)

const mendBase = (world: World): void => {
  if (world.git.treeOf(world.git.refs.get('refs/heads/main') ?? '').has(redFile)) commitFile(world, redFile, undefined)
}

/** On which choice a person decides about finished work; undefined = nothing of the kind is asked. */
const decideWork = (world: World, { taskId, choices }: Escalation, dice: Dice): boolean => {
  const offered = (['approve', 'reject', 'ask_again'] as const).filter((kind) =>
    choices.some((choice) => choice.kind === kind),
  )
  if (taskId === null || offered.length === 0) return false
  const kind = dice.pick(offered)
  const note = `It is not what was asked for, ${dice.int(1, 3)}.`
  ask(world, `answer: ${kind} ${taskId}`, async ({ context }) => {
    if (kind === 'reject') return rejectTask(context, taskId, { note })
    if (kind === 'ask_again') return askReviewerAgain(context, taskId)
    const asked = [...world.tables.escalation.values()].find((row) => row.taskId === taskId && row.state === 'pending')
    const run = world.tables.run.get(asked?.runId ?? '')
    if (run !== undefined) world.approved.add(workOf(run))
    return approveTask(context, taskId)
  })
  return true
}

/** A person decides about one piece of finished work that waits for it. */
const decideOne =
  (kind: 'approve' | 'reject') =>
  (world: World, dice: Dice): void => {
    const open = [...world.tables.escalation.values()].filter(({ state }) => state === 'pending')
    const asked = some(
      dice,
      open.filter((entry) => offersChoice(entry, kind)),
    )
    if (asked === undefined) return
    decideWork(world, { ...asked, choices: asked.choices.filter((choice) => choice.kind === kind) }, dice)
  }

const by = 'Ada'

/** Said again until it is heard: a crash loses it without an answer. */
const switchOn = (world: World): void =>
  ask(world, 'the judge is switched on', async ({ context }) => {
    let isHeard = false
    world.scheduler.after(5_000, () => {
      if (!isHeard) switchOn(world)
    })
    await setJudge(context, { off: false, by })
    isHeard = true
  })

/** Off for a while, from when it was heard; nobody leaves it so, or the goals would never end. */
const switchOff = (world: World, dice: Dice): void => {
  const offMs = dice.int(5_000, 240_000)
  ask(world, 'the judge is switched off', ({ context }) => {
    world.scheduler.after(offMs, () => switchOn(world))
    return setJudge(context, { off: true, by })
  })
}

/** Whoever works on a branch that is reviewed goes on. */
const moveBranch =
  (content: string) =>
  (world: World, dice: Dice): void => {
    const branch = some(
      dice,
      world.plan.goals.flatMap(({ tasks }) => tasks.flatMap((task) => task.branch ?? [])),
    )
    if (branch !== undefined) commitToBranch(world.git, branch, `${content} at ${world.scheduler.now()}\n`)
  }

/** A graceful end that does not come is a promise broken as well. */
const restart = (world: World): void => {
  const current = world.current
  if (current === undefined) return
  current.stopping.abort()
  world.scheduler.after(400_000, () => {
    if (current.alive && current.suspendedUntil < world.scheduler.now() - 300_000)
      world.violated('everything ends', 'the engine does not stop')
  })
}

const jump = (world: World, dice: Dice): void => {
  const by = dice.int(10_000, 1_200_000) * (dice.chance(0.4) ? -1 : 1)
  const whose = dice.int(0, 2)
  if (whose === 1) world.offsets.store += by
  else {
    world.offsets.machine += by
    // The store's clock is the machine's own, or a server's that goes on as before.
    if (whose === 2) world.offsets.store -= by
  }
}

const acts: Record<WorldEventKind, (world: World, dice: Dice) => void> = {
  'lose-shim': (world, dice) => {
    const launch = some(
      dice,
      world.processes.all.filter(({ shim, program }) => shim && program?.alive === true),
    )
    if (launch !== undefined) world.processes.loseShim(launch)
  },
  'suspend-engine': (world, dice) => {
    const until = world.scheduler.now() + dice.int(2_000, 250_000)
    // What waits for the end of an earlier one would come after a shorter second one.
    if (world.current !== undefined) world.current.suspendedUntil = Math.max(world.current.suspendedUntil, until)
  },
  jump,
  reboot: (world) => {
    world.processes.reboot()
    world.current?.kill('the machine rebooted')
  },
  kill: (world) => world.current?.kill('kill -9'),
  restart,
  pause: onGoal('pause', ['active', 'awaiting_human'], ({ context }, id) => pauseGoal(context, id)),
  resume: onGoal('resume', ['paused'], ({ context }, id) => resumeGoals(context, id)),
  'cancel-task': onTask('cancel'),
  'cancel-goal': onGoal('cancel', ['active', 'paused', 'awaiting_human', 'ready'], ({ context, cancelRunning }, id) =>
    cancelGoal(context, id, cancelRunning),
  ),
  'retry-task': onTask('retry'),
  'retry-goal': onGoal('retry', ['active', 'paused', 'awaiting_human', 'failed'], ({ context }, id) =>
    retryGoal(context, id),
  ),
  clean: (world) => ask(world, 'clean', ({ context }) => removeExpired(context, false)),
  config: (world, dice) => world.setConfig({ maxParallel: dice.int(1, 5), transientLimit: dice.int(2, 6) }),
  'merge-by-hand': mergeByHand,
  'commit-by-hand': commitByHand,
  'conflict-by-hand': conflictByHand,
  'mend-base': mendBase,
  'edit-task': editOne,
  'judge-off': switchOff,
  approve: decideOne('approve'),
  reject: decideOne('reject'),
  'branch-moves': moveBranch('more'),
  'branch-breaks': moveBranch(brokenBy('on-the-branch').trim()),
}

export const happen = (world: World, event: WorldEvent): void => {
  world.disturbedAt = world.scheduler.now()
  world.trace(`event ${event.id}: ${event.kind}`)
  acts[event.kind](world, createDice(`event/${event.pick}`))
}

/** When nothing moves by itself any more, a person answers one thing; false when there is nothing to answer. */
export const answerOne = (world: World, round: number): boolean => {
  const dice = createDice(`${world.plan.seed}/answers/${round}`)
  const changed = checkoutQuestion(world.tables)
  // Only the owner commits by hand in this world.
  if (changed !== undefined) {
    ask(world, `answer: keep ${changed.id}`, ({ context }) => keepChanges(context, changed))
    return true
  }
  const [paused] = goalsIn(world, 'paused')
  if (paused !== undefined) {
    if (round > 16)
      ask(world, `the end of ${paused.id}`, ({ context, cancelRunning }) =>
        cancelGoal(context, paused.id, cancelRunning),
      )
    else ask(world, `answer: resume ${paused.id}`, ({ context }) => resumeGoals(context, paused.id))
    return true
  }
  const waiting = goalsIn(world, 'awaiting_human')
  if (waiting.length === 0) return false
  const goal = dice.pick(waiting)
  const task = [...world.tables.task.values()].find(
    ({ goalId, status }) => goalId === goal.id && status === 'blocked(awaiting_human)',
  )
  const aboutGoal = [...world.tables.escalation.values()].some(
    (asked) => isAboutGoal(asked) && asked.goalId === goal.id && asked.state === 'pending',
  )
  if (task === undefined && aboutGoal) {
    if (round < 12 && dice.chance(0.5))
      ask(world, `answer: retry ${goal.id}`, ({ context }) => retryGoal(context, goal.id))
    else
      ask(world, `answer: cancel ${goal.id}`, ({ context, cancelRunning }) =>
        cancelGoal(context, goal.id, cancelRunning),
      )
    return true
  }
  if (task === undefined) {
    world.violated('everything ends', `goal ${goal.id} waits for a person and asks nothing`)
    return false
  }
  const asked = [...world.tables.escalation.values()].find(
    (entry) => entry.taskId === task.id && entry.state === 'pending',
  )
  if (asked !== undefined && round < 14 && dice.chance(0.6) && decideWork(world, asked, dice)) return true
  if (round < 12 && dice.chance(0.8))
    ask(world, `answer: retry ${task.id}`, ({ context }) => retryTask(context, task.id, hintOf(dice)))
  else
    ask(world, `answer: cancel ${task.id}`, ({ context, cancelRunning }) => cancelTask(context, task.id, cancelRunning))
  return true
}

/** Long after everything: what retention lets go must be kept elsewhere. */
export const cleanUp = (world: World): void => {
  world.offsets.machine += 15 * 24 * 3600 * 1000
  ask(world, 'clean, two weeks later', ({ context }) => removeExpired(context, false))
}
