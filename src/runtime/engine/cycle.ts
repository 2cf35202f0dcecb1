/** The cycle manager's periodic work: due retries, dead dependencies, goals that have ended. Every pass is safe to repeat. */
import { mergeCommand } from '../landing/goal-branch.ts'
import type { Goal } from '../../domain/goal.ts'
import type { Task } from '../../domain/task.ts'
import { messageOf } from '../../errors.ts'
import { dropEndedLimits } from '../../store/account.ts'
import { must, type Queryable } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { getGoal, listLiveGoals, moveGoal, progressGoal } from '../../store/goal.ts'
import { dueTasks, listTasks, moveTask } from '../../store/task.ts'
import { listEscalations, openEscalation } from '../../store/escalation.ts'
import { confirmLead } from '../../store/leader.ts'
import type { FastForward } from '../../workspace/contract.ts'
import type { Context } from '../core/context.ts'
import { dropAllUnused } from '../landing/hand-overs.ts'
import { isOutage, isRefusal } from '../core/remote-link.ts'
import { forwardTarget, isOnTarget } from '../landing/remote-target.ts'
import { acceptedText, whyNotByItself } from '../landing/still-red.ts'

interface Refused {
  ok: false
  reason: 'git-failed'
  detail: string
  paths: string[]
}

/** Tasks whose persisted time has come go back to the queue, and limits whose time has come are over. */
const requeueDue = async (context: Context): Promise<void> => {
  await context.db.transaction(dropEndedLimits)
  for (const task of await dueTasks(context.db)) {
    await context.db.transaction((tx) =>
      moveTask(tx, task, 'retry_due', {
        payload: {
          reason: task.place === 'failed' ? 'cooldown_retry' : 'quota_wait_retry',
          after: task.retry?.reason,
          count: task.retry?.count,
        },
      }),
    )
  }
}

/** Queued tasks that need a cancelled one, however long the chain. */
const dependentsOfCancelled = (tasks: readonly Task[]): Task[] => {
  const dead = new Set(tasks.filter((task) => task.place === 'cancelled').map((task) => task.id))
  const lost: Task[] = []
  for (let found = true; found;) {
    const next = tasks.filter(
      (task) => task.place === 'queued' && !dead.has(task.id) && task.dependsOn.some((id) => dead.has(id)),
    )
    for (const task of next) dead.add(task.id)
    lost.push(...next)
    found = next.length > 0
  }
  return lost
}

const askAboutLost = (context: Context, tx: Queryable, goal: Goal, lost: readonly Task[]): Promise<void> =>
  openEscalation(tx, {
    id: context.newId('q'),
    goalId: goal.id,
    taskId: null,
    runId: null,
    kind: 'exhausted',
    question: `${lost.length} task(s) of "${goal.title}" were cancelled because a task that they need was cancelled. Retry them, or cancel the goal?`,
    details: lost.map((task) => `${task.number}. ${task.title}`).join('\n'),
    choices: ['retry', 'cancel'],
  })

/** Dependents of a cancelled task are cancelled, and one question per goal says so. */
const cancelDependents = async (context: Context, goal: Goal, tasks: Task[]): Promise<boolean> => {
  const lost = dependentsOfCancelled(tasks)
  if (lost.length === 0) return false
  const asked = (await listEscalations(context.db, { goalId: goal.id, pendingOnly: true })).some(
    (entry) => entry.taskId === null,
  )
  await context.db.transaction(async (tx) => {
    for (const task of lost)
      must(await moveTask(tx, task, 'dependency_cancelled', { payload: { reason: 'dependency_cancelled' } }))
    if (!asked) await askAboutLost(context, tx, goal, lost)
  })
  return true
}

/** A git failure is a refusal with its text: thrown on, it would end the pass for every other goal, and be told to nobody. */
const tryForward = async (context: Context, branch: string, to: string): Promise<FastForward | Refused> => {
  // Outside the try: one who was overtaken moves nothing, and this is no refusal of git.
  await confirmLead(context.db)
  try {
    return await context.ports.git.fastForward(context.repository, { branch, to })
  } catch (error) {
    return { ok: false, reason: 'git-failed', detail: messageOf(error), paths: [] }
  }
}

/** What was seen at the last look at a ready goal. Only saves git calls; losing it costs nothing. */
interface Look {
  /** Milliseconds. */
  at: number
  /** Tip of the target branch, which did not hold the goal's commits. */
  without?: string
}

/** Goal id -> its last look. */
export type Looked = Map<string, Look>

/** Tips of target branches in one pass: many ready goals have one target, and each git call is a process. */
type TipOf = (branch: string) => Promise<string | null>

const tipsOfPass = (context: Context): TipOf => {
  const read = new Map<string, Promise<string | null>>()
  return (branch) => {
    const tip = read.get(branch) ?? context.ports.git.readRef(context.repository, `refs/heads/${branch}`)
    read.set(branch, tip)
    return tip
  }
}

const isLanded = async (context: Context, goal: Ready, look: Look, tipOf: TipOf): Promise<boolean> => {
  if (goal.repoMode === 'remote') return isOnTarget(context, goal)
  const tip = await tipOf(goal.targetBranch)
  if (tip === null || tip === look.without) return false
  if (await context.ports.git.isBelow(context.repository, goal.headCommit, tip)) return true
  look.without = tip
  return false
}

type Ready = Goal & { headCommit: string; targetBranch: string }

const isReady = (goal: Goal): goal is Ready => goal.headCommit !== null && goal.targetBranch !== null

/** Kept with the goal, so that the same refusal is told once and not at every look. */
const tellNotLanded = async (context: Context, goal: Goal, refused: Exclude<FastForward, { ok: true }> | Refused) => {
  const { reason, paths } = refused
  const detail = `${reason}: ${refused.detail}`
  if (goal.reason.endsWith(detail)) return
  await context.db.transaction(async (tx) => {
    await progressGoal(tx, goal.id, { reason: `${mergeCommand(goal)} after mending ${detail}` })
    await appendEvent(tx, {
      type: 'goal.not_landed',
      goalId: goal.id,
      payload: { reason, detail: refused.detail, paths },
    })
  })
  context.log.warn({ goal: goal.id, reason, detail: refused.detail }, 'the goal could not be fast-forwarded')
}

/** Told once, like a refusal. */
const tellHeld = async (context: Context, goal: Goal, detail: string): Promise<void> => {
  if (goal.reason.endsWith(detail)) return
  await context.db.transaction(async (tx) => {
    await progressGoal(tx, goal.id, { reason: `${mergeCommand(goal)}; ${detail}` })
    const payload = { reason: 'still-failing', detail, paths: [] }
    await appendEvent(tx, { type: 'goal.not_landed', goalId: goal.id, payload })
  })
}

const landGoal = async (context: Context, goal: Ready, look: Look, tipOf: TipOf): Promise<void> => {
  const landed = async (how: string) => {
    const reason = `${how}${await acceptedText(context, goal)}`
    await context.db.transaction((tx) => moveGoal(tx, goal, 'landed', reason))
  }
  if (await isLanded(context, goal, look, tipOf)) {
    await landed(`its commits are on ${goal.targetBranch}`)
    return
  }
  if (!goal.autoMerge) return
  const held = await whyNotByItself(context, goal)
  if (held !== undefined) return tellHeld(context, goal, held)
  const moved =
    goal.repoMode === 'remote'
      ? await forwardTarget(context, goal)
      : await tryForward(context, goal.targetBranch, goal.headCommit)
  context.at('goal-landed')
  if (moved.ok) await landed(`${goal.targetBranch} was fast-forwarded`)
  else await tellNotLanded(context, goal, moved)
}

/** A remote that is away, or lets nobody in, must not end the pass for every other goal: this one is looked at again. */
const tryLand = async (context: Context, goal: Goal, look: Look, tipOf: TipOf): Promise<void> => {
  if (!isReady(goal)) return
  try {
    await landGoal(context, goal, look, tipOf)
  } catch (error) {
    if (!isOutage(error) && !isRefusal(error)) throw error
  }
}

/** Every task has ended: the goal is ready to land, or is over where tasks of it were cancelled. */
const endGoal = async (context: Context, goal: Goal, tasks: Task[]): Promise<void> => {
  await dropAllUnused(context)
  const cancelled = tasks.filter((task) => task.place === 'cancelled').length
  if (cancelled > 0) {
    const detail = `${cancelled} of ${tasks.length} task(s) were cancelled`
    await context.db.transaction((tx) => moveGoal(tx, goal, 'work_cancelled', detail))
    return
  }
  const isDirect = goal.repoMode === 'direct'
  const detail = isDirect ? `the work is in the folder${await acceptedText(context, goal)}` : mergeCommand(goal)
  await context.db.transaction(async (tx) => {
    const ready = must(await moveGoal(tx, goal, 'all_done', detail))
    if (isDirect) must(await moveGoal(tx, ready, 'landed', detail))
  })
  context.at('goal-ready')
}

/** What waits behind a question waits for a person as well, however long the chain. */
const allWaitForPeople = (waiting: readonly Task[]): boolean => {
  const blockedOn = new Set(waiting.filter((task) => task.place === 'blocked(awaiting_human)').map((task) => task.id))
  const stuckBehind = (task: Task): boolean =>
    blockedOn.has(task.id) || (task.place === 'queued' && task.dependsOn.some((id) => blockedOn.has(id)))
  for (let before = -1; before !== blockedOn.size;) {
    before = blockedOn.size
    for (const task of waiting.filter(stuckBehind)) blockedOn.add(task.id)
  }
  return waiting.every((task) => blockedOn.has(task.id))
}

const finishGoal = async (context: Context, goal: Goal, tasks: Task[]): Promise<void> => {
  const waiting = tasks.filter((task) => task.place !== 'done' && task.place !== 'cancelled')
  if (waiting.length === 0) return endGoal(context, goal, tasks)
  if (!allWaitForPeople(waiting)) return
  await context.db.transaction((tx) =>
    moveGoal(tx, goal, 'only_questions_left', 'every task that is left waits for a person'),
  )
}

/** How often a ready goal's target branch is looked at: its user merges it when it suits him. */
const landingLookMs = 10_000

/** A remote is not to be asked all the time for what only a person can change. */
const lookMsOf = (goal: Goal): number => {
  if (goal.repoMode !== 'remote') return landingLookMs
  if (!goal.autoMerge) return 6 * landingLookMs
  return goal.reason === mergeCommand(goal) ? landingLookMs : 60 * landingLookMs
}

const lookOf = (looked: Looked, goal: Goal): Look => {
  const look = looked.get(goal.id) ?? { at: 0 }
  looked.set(goal.id, look)
  return look
}

const lookDue = (context: Context, look: Look, goal: Goal): boolean => {
  if (goal.repoMode === 'remote' && (context.remote?.restMs() ?? 0) > 0) return false
  const now = context.clock.now().getTime()
  if (now - look.at < lookMsOf(goal)) return false
  look.at = now
  return true
}

/** Looks at every goal that has not ended and takes the next step that no run or merge takes. */
export const cycleOnce = async (context: Context, looked: Looked): Promise<void> => {
  await requeueDue(context)
  const tipOf = tipsOfPass(context)
  for (const goal of await listLiveGoals(context.db)) {
    const look = lookOf(looked, goal)
    if (goal.state === 'ready' && lookDue(context, look, goal)) await tryLand(context, goal, look, tipOf)
    if (goal.state !== 'active') continue
    const tasks = await listTasks(context.db, goal.id)
    if (await cancelDependents(context, goal, tasks)) continue
    await finishGoal(context, goal, tasks)
    const after = await getGoal(context.db, goal.id)
    if (after?.state === 'ready') await tryLand(context, after, look, tipOf)
  }
}
