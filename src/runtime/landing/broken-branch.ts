/**
 * A goal whose branch is not where it belongs and does not go back there: it was deleted and its commits pruned, git refuses,
 * or the repository is another one. The goal rests or pauses with one question, and everybody else goes on.
 */
import { backoff } from '../../domain/backoff.ts'
import { brokenLimit, type BrokenBranch, type Goal } from '../../domain/goal.ts'
import type { Choice } from '../../domain/escalation.ts'
import { must, type Queryable } from '../../store/db.ts'
import { answerEscalation, listEscalations, openEscalation } from '../../store/escalation.ts'
import { storeNow } from '../../store/event.ts'
import { getGoal, moveGoal, progressGoal } from '../../store/goal.ts'
import { cancel as end, resume, retry } from '../core/choices.ts'
import { goalBranch, type Context } from '../core/context.ts'

/** Its commits are neither in the user's repository nor in the shadow. */
export class BranchLostError extends Error {}

/** Milliseconds. What keeps git from working may be over after some of them. */
const rest = { firstMs: 3_000, maxMs: 60_000 }

interface Asked {
  question: string
  /** What each answer means. */
  help: string[]
  choices: Choice[]
}

const again = ({ id, targetBranch }: Goal): string =>
  `unstuck retry ${id}: the goal begins again on what ${targetBranch ?? 'your checkout'} is now; what is not on it is done once more.`
const beginAgain = ({ id, targetBranch }: Goal): Choice => ({
  ...retry(id),
  label: 'Do the work again',
  effect: `The goal begins again on what ${targetBranch ?? 'your checkout'} is now; what is not on it is done once more.`,
})
const cancel = ({ id }: Goal): string => `unstuck cancel ${id}: the goal ends.`

/** Over there its owner may have the commit still, and only a look of ours that is asked for finds it. */
const askedAboutLost = ({ remote }: Context, goal: Goal, detail: string): Asked => {
  const branch = goalBranch(goal.id)
  const commit = goal.headCommit ?? ''
  const gone = `"${goal.title}" was deleted, and its commits are gone: ${detail}. Do the work again, or cancel the goal?`
  const isRemote = goal.repoMode === 'remote'
  const elsewhere = isRemote
    ? `Where the commit is kept elsewhere: git push ${remote?.url ?? '<remote>'} ${commit}:refs/heads/${branch}, then unstuck resume ${goal.id}.`
    : `Where the commit is kept elsewhere: fetch it and set the branch (git branch ${branch} ${commit}); the goal then goes on by itself.`
  return {
    question: `The branch ${branch} of ${gone}`,
    help: [again(goal), cancel(goal), elsewhere],
    choices: [beginAgain(goal), ...(isRemote ? [resume(goal.id)] : []), end(goal.id)],
  }
}

const askedAbout = (context: Context, goal: Goal, { reason, detail }: BrokenBranch): Asked => {
  const { repository } = context
  const branch = goalBranch(goal.id)
  const about = `"${goal.title}"`
  switch (reason) {
    case 'lost':
      return askedAboutLost(context, goal, detail)
    case 'failed':
      return {
        question: `The branch ${branch} of ${about} could not be put back where it belongs: ${detail}. Resume the goal after fixing that, do its work again, or cancel it?`,
        help: [`unstuck resume ${goal.id}: it is tried again.`, again(goal), cancel(goal)],
        choices: [resume(goal.id), beginAgain(goal), end(goal.id)],
      }
    case 'replaced':
      return {
        question: `${about} was begun in another repository than the one that is at ${repository.root} now: ${detail}. Do its work again here, go on because it is the same one after all, or cancel it?`,
        help: [
          again(goal),
          `unstuck resume ${goal.id}: for the same repository, cloned again or restored from an older backup; the branch is put back from what Unstuck keeps.`,
          cancel(goal),
        ],
        choices: [beginAgain(goal), resume(goal.id), end(goal.id)],
      }
  }
}

/** Of the goal's own questions, the one about its branch. */
const pendingQuestion = async (tx: Queryable, { id, landing }: Goal) =>
  (await listEscalations(tx, { goalId: id, pendingOnly: true })).find((entry) => entry.id === landing.broken?.question)

const overtake = async (tx: Queryable, goal: Goal): Promise<string | undefined> => {
  const pending = await pendingQuestion(tx, goal)
  if (pending !== undefined) must(await answerEscalation(tx, pending, 'overtaken'))
  return pending?.question
}

/** The question stays the same one while nothing else is asked. */
const ask = async (context: Context, tx: Queryable, goal: Goal, broken: BrokenBranch): Promise<void> => {
  const { question, help, choices } = askedAbout(context, goal, broken)
  const pending = await pendingQuestion(tx, goal)
  const id = pending?.question === question ? pending.id : context.newId('q')
  if (pending?.id !== id) {
    await overtake(tx, goal)
    const kept = 'What the runs left is kept: unstuck runs, unstuck restore <run> --into <folder>.'
    const details = [...help, kept].join('\n')
    await openEscalation(tx, {
      ...{ id, goalId: goal.id, taskId: null, runId: null },
      ...{ kind: 'blocker', happened: question, tried: [], question, details, choices },
    })
  }
  await progressGoal(tx, goal.id, { landing: { broken: { ...broken, question: id } } })
  if (goal.state !== 'paused') must(await moveGoal(tx, goal, 'blocked', question))
}

const canPause: readonly Goal['state'][] = ['active', 'awaiting_human', 'ready', 'paused']

/** Counts what git does not do; asks at once where no further try changes anything. */
export const noteBroken = async (
  context: Context,
  goalId: string,
  { reason, detail }: Pick<BrokenBranch, 'reason' | 'detail'>,
): Promise<void> => {
  await context.db.transaction(async (tx) => {
    const goal = await getGoal(tx, goalId)
    if (goal === undefined) return
    const before = goal.landing.broken
    const tries = reason === 'failed' ? Math.min((before?.tries ?? 0) + 1, brokenLimit) : brokenLimit
    const broken = { reason, detail, tries, question: before?.question ?? null, again: false }
    if (tries < brokenLimit || !canPause.includes(goal.state)) await progressGoal(tx, goal.id, { landing: { broken } })
    else await ask(context, tx, goal, broken)
  })
}

/** One that goes on although nobody said how: a task of it was retried, or what could not be paused before can be now. */
export const askAgain = async (context: Context, goalId: string): Promise<void> => {
  await context.db.transaction(async (tx) => {
    const goal = await getGoal(tx, goalId)
    const broken = goal?.landing.broken
    if (goal !== undefined && broken && canPause.includes(goal.state)) await ask(context, tx, goal, broken)
  })
}

/** The branch is there again: what was asked about it is over, and what paused for it alone goes on. */
export const noteMended = async (context: Context, goalId: string): Promise<void> => {
  await context.db.transaction(async (tx) => {
    const goal = await getGoal(tx, goalId)
    if (goal === undefined || goal.landing.broken === null) return
    const asked = await overtake(tx, goal)
    await progressGoal(tx, goal.id, { landing: { broken: null } })
    if (goal.state === 'paused' && goal.reason === asked)
      must(await moveGoal(tx, goal, 'resumed', 'its branch is there again'))
  })
  context.wake()
}

/** Whether another try makes sense by now. */
export const isBranchRested = async (context: Context, { landing: { broken }, changedAt }: Goal): Promise<boolean> => {
  if (broken === null || broken.tries === 0) return true
  const restedMs = (await storeNow(context.db)).getTime() - changedAt.getTime()
  return restedMs < 0 || restedMs >= backoff(broken.tries - 1, rest)
}
