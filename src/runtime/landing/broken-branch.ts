/**
 * Handles a goal branch that is not where it belongs and cannot be restored: it was deleted and its commits pruned,
 * git fails, or the repository was replaced. The goal is retried, or paused with one question, and other goals
 * continue.
 */
import { backoff } from '../../domain/backoff.ts'
import { restoreAttempts, type BrokenBranch, type Goal } from '../../domain/goal.ts'
import type { Choice } from '../../domain/escalation.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { answerEscalation, listEscalations, openEscalation } from '../../store/escalation.ts'
import { storeNow } from '../../store/event.ts'
import { getGoal, moveGoal, progressGoal } from '../../store/goal.ts'
import { cancelChoice, resumeChoice, retryChoice } from '../core/choices.ts'
import { goalBranch, type Context } from '../core/context.ts'

/** The commits of the branch are neither in the user's repository nor in the shadow repository. */
export class BranchLostError extends Error {}

/** Milliseconds before the first retry: a passing problem of git needs some time. */
const rest = { firstMs: 3_000, maxMs: 60_000 }

interface BranchQuestion {
  question: string
  /** What each choice does. */
  help: string[]
  choices: Choice[]
}

const restartHelp = ({ id, targetBranch }: Goal): string =>
  `unstuck retry ${id}: restart the goal on the current ${targetBranch ?? 'checkout'} and redo the work that is not there.`
const restart = ({ id, targetBranch }: Goal): Choice => ({
  ...retryChoice(id),
  label: 'Do the work again',
  effect: `The goal restarts on the current ${targetBranch ?? 'checkout'}, and work that is not there is redone.`,
})
const cancelHelp = ({ id }: Goal): string => `unstuck cancel ${id}: end the goal.`

/** On a remote the owner may still have the commit, and only a fetch after "resume" finds it. */
const questionAboutLost = ({ remote }: Context, goal: Goal, detail: string): BranchQuestion => {
  const branch = goalBranch(goal)
  const commit = goal.headCommit ?? ''
  const gone = `goal "${goal.title}" was deleted, and its commits are gone: ${detail}.`
  const isRemote = goal.repoMode === 'remote'
  const elsewhere = isRemote
    ? `If you have the commit elsewhere: git push ${remote?.url ?? '<remote>'} ${commit}:refs/heads/${branch}, then unstuck resume ${goal.id}.`
    : `If you have the commit elsewhere: fetch it, then git branch ${branch} ${commit}; the goal then continues by itself.`
  return {
    question: `The branch ${branch} of ${gone}`,
    help: [restartHelp(goal), cancelHelp(goal), elsewhere],
    choices: [restart(goal), ...(isRemote ? [resumeChoice(goal.id)] : []), cancelChoice(goal.id)],
  }
}

const questionAbout = (context: Context, goal: Goal, { reason, detail }: BrokenBranch): BranchQuestion => {
  const { repository } = context
  const branch = goalBranch(goal)
  const about = `goal "${goal.title}"`
  switch (reason) {
    case 'lost':
      return questionAboutLost(context, goal, detail)
    case 'failed':
      return {
        question: `The branch ${branch} of ${about} could not be restored: ${detail}.`,
        help: [`unstuck resume ${goal.id}: try again to restore the branch.`, restartHelp(goal), cancelHelp(goal)],
        choices: [resumeChoice(goal.id), restart(goal), cancelChoice(goal.id)],
      }
    case 'replaced':
      return {
        question: `The repository of ${about} at ${repository.root} was replaced: ${detail}.`,
        help: [
          restartHelp(goal),
          `unstuck resume ${goal.id}: if this is the same repository, cloned again or restored from an older backup; Unstuck restores the branch from its own copy.`,
          cancelHelp(goal),
        ],
        choices: [restart(goal), resumeChoice(goal.id), cancelChoice(goal.id)],
      }
  }
}

/** The pending question about the branch, among the goal's questions. */
const pendingQuestion = async (tx: Queryable, { id, landing }: Goal) =>
  (await listEscalations(tx, { goalId: id, pendingOnly: true })).find((entry) => entry.id === landing.broken?.question)

const withdrawQuestion = async (tx: Queryable, goal: Goal): Promise<string | undefined> => {
  const pending = await pendingQuestion(tx, goal)
  if (pending !== undefined) mustSucceed(await answerEscalation(tx, pending, 'overtaken'))
  return pending?.question
}

/** Only git failures are tried again before a person is asked. */
const triedFor = ({ reason }: BrokenBranch): string[] =>
  reason === 'failed' ? [`restored the branch ${restoreAttempts} times, with the same result`] : []

/** Keeps the pending question as long as its text does not change. */
const askPerson = async (context: Context, tx: Queryable, goal: Goal, broken: BrokenBranch): Promise<void> => {
  const { question, help, choices } = questionAbout(context, goal, broken)
  const pending = await pendingQuestion(tx, goal)
  const id = pending?.question === question ? pending.id : context.newId('q')
  if (pending?.id !== id) {
    await withdrawQuestion(tx, goal)
    const kept = 'The work of the runs is kept: unstuck runs, then unstuck restore <run> --into <folder>.'
    const details = [...help, kept].join('\n')
    await openEscalation(tx, {
      ...{ id, goalId: goal.id, taskId: null, runId: null },
      ...{ kind: 'blocker', happened: question, tried: triedFor(broken), question, details, choices },
    })
  }
  await progressGoal(tx, goal.id, { landing: { broken: { ...broken, question: id } } })
  if (goal.state !== 'paused') mustSucceed(await moveGoal(tx, goal, 'blocked', question))
}

const canPause: readonly Goal['state'][] = ['active', 'awaiting_human', 'ready', 'paused']

/** Counts failures of git and asks after the last allowed one; asks at once where no retry can help. */
export const recordBrokenBranch = async (
  context: Context,
  goalId: string,
  { reason, detail }: Pick<BrokenBranch, 'reason' | 'detail'>,
): Promise<void> => {
  await context.db.transaction(async (tx) => {
    const goal = await getGoal(tx, goalId)
    if (goal === undefined) return
    const before = goal.landing.broken
    const tries = reason === 'failed' ? Math.min((before?.tries ?? 0) + 1, restoreAttempts) : restoreAttempts
    const broken = { reason, detail, tries, question: before?.question ?? null, again: false }
    if (tries < restoreAttempts || !canPause.includes(goal.state))
      await progressGoal(tx, goal.id, { landing: { broken } })
    else await askPerson(context, tx, goal, broken)
  })
}

/**
 * Asks again about a goal that became active without a decision about its branch: a person retried a task, or the goal
 * could not be paused before.
 */
export const askAboutBranchAgain = async (context: Context, goalId: string): Promise<void> => {
  await context.db.transaction(async (tx) => {
    const goal = await getGoal(tx, goalId)
    const broken = goal?.landing.broken
    if (goal !== undefined && broken && canPause.includes(goal.state)) await askPerson(context, tx, goal, broken)
  })
}

/** The branch is restored: withdraws the question about it and resumes the goal if it was paused for nothing else. */
export const recordRepairedBranch = async (context: Context, goalId: string): Promise<void> => {
  await context.db.transaction(async (tx) => {
    const goal = await getGoal(tx, goalId)
    if (goal === undefined || goal.landing.broken === null) return
    const asked = await withdrawQuestion(tx, goal)
    await progressGoal(tx, goal.id, { landing: { broken: null } })
    if (goal.state === 'paused' && goal.reason === asked)
      mustSucceed(await moveGoal(tx, goal, 'resumed', 'its branch was restored'))
  })
  context.wake()
}

/** Whether the pause after the last failure is over. */
export const isBranchRetryDue = async (
  context: Context,
  { landing: { broken }, changedAt }: Goal,
): Promise<boolean> => {
  if (broken === null || broken.tries === 0) return true
  const restedMs = (await storeNow(context.db)).getTime() - changedAt.getTime()
  return restedMs < 0 || restedMs >= backoff(broken.tries - 1, rest)
}
