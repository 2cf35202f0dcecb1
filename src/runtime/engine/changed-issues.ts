/**
 * An issue that changes after its goal began is a question to a person: the goal goes on with the text that it began with, because what
 * was accepted was that text. One question per goal, which later changes join, and which is withdrawn when the issue is as before. An
 * issue that is not wanted any more before any agent was started for it takes its goal with it.
 */
import { createHash } from 'node:crypto'
import type { Choice } from '../../domain/escalation.ts'
import { isGoalClosed, type Goal } from '../../domain/goal.ts'
import { issueName } from '../../domain/issue-name.ts'
import { AppError, messageOf } from '../../errors.ts'
import type { ForgeIssue, IssueSource } from '../../forge/forge.ts'
import { mustSucceed, StaleError } from '../../store/db.ts'
import { answerEscalation, extendEscalation, listEscalations, openEscalation } from '../../store/escalation.ts'
import {
  goalsToRestart,
  linksOfIssues,
  recordIssueSeen,
  withdrawnReason,
  type IssueLink,
} from '../../store/forge-link.ts'
import { getGoal, lockGoal } from '../../store/goal.ts'
import { listRuns } from '../../store/run.ts'
import { cancelChoice, keepStartedChoice, restartChoice } from '../core/choices.ts'
import type { Context } from '../core/context.ts'
import { withoutSecrets } from '../core/without-secrets.ts'
import { goalOfIssue } from '../goal/import-issues.ts'
import { issueWords } from '../goal/issue-input.ts'
import { cancelGoal, type CancelRunning } from '../people/commands.ts'

interface Change {
  what: string
  /** It is closed or gone, or has lost the label for which it was taken. */
  isUnwanted: boolean
  isOtherText: boolean
  /** As it is now; undefined = it is not there any more. */
  issue: (ForgeIssue & { isOpen: boolean }) | undefined
  /** Equal for equal changes, so that none is asked about twice. */
  digest: string
}

const read = async (source: IssueSource, id: string) => {
  try {
    return await source.issue(id)
  } catch (error) {
    if (error instanceof AppError && error.code === 'NOT_FOUND') return undefined
    throw error
  }
}

/** As GitHub searches for it. */
const hasLabel = ({ labels }: ForgeIssue, label: string): boolean =>
  labels.some((one) => one.toLowerCase() === label.toLowerCase())

const changeOf = async (
  context: Context,
  source: IssueSource,
  { issue: id, label }: IssueLink,
  goal: Goal,
): Promise<Change | undefined> => {
  const found = await read(source, id)
  // A tracker may leave out issues that are being worked on.
  if (found === undefined && context.config().forge.command !== undefined) return undefined
  const issue = found?.id === id ? found : undefined
  const isOtherText = issue !== undefined && !goal.requirement.endsWith(issueWords(issue))
  // The merge of its pull request closes it as well, and finished work may lose its label.
  const isAtWork = goal.state !== 'ready'
  const lost = isAtWork && label !== null && issue?.isOpen === true && !hasLabel(issue, label)
  const unwanted = [
    ...(issue === undefined ? ['it was moved to another repository, or deleted'] : []),
    ...(isAtWork && issue?.isOpen === false ? ['it was closed'] : []),
    ...(lost ? [`the label "${label}" was taken off`] : []),
  ]
  const what = [...(isOtherText ? ['its text is another'] : []), ...unwanted].join(', and ')
  if (what === '') return undefined
  const digest = createHash('sha256')
    .update(JSON.stringify([what, issue?.title, issue?.body]))
    .digest('hex')
  return { what, isUnwanted: unwanted.length > 0, isOtherText, issue, digest }
}

const longestText = 2_000

const textsOf = (context: Context, id: string, { goalId, issue }: IssueLink, change: Change) => {
  const { what, isOtherText, issue: now } = change
  const happened = `Issue ${issueName(issue)} changed after goal ${goalId} began: ${what}.`
  const text = now === undefined ? '' : `It says now: ${now.title}\n${now.body}`
  const choices: Choice[] = [
    keepStartedChoice(id),
    ...(isOtherText && now?.isOpen === true ? [restartChoice(id)] : []),
    cancelChoice(goalId),
  ]
  const question = `${happened} The work goes on as it began until you decide.`
  return { happened, question, details: withoutSecrets(context, text.slice(0, longestText)), choices }
}

const isOfIssue = ({ kind }: { kind: string }): boolean => kind === 'issue_changed'

const record = async (context: Context, link: IssueLink, change: Change | undefined): Promise<void> => {
  if (change !== undefined && change.digest === link.issueSeen) return
  await context.db.transaction(async (tx) => {
    await lockGoal(tx, link.goalId)
    const goal = await getGoal(tx, link.goalId)
    const open = (await listEscalations(tx, { goalId: link.goalId, pendingOnly: true })).find(isOfIssue)
    if (change === undefined || goal === undefined || isGoalClosed(goal.state)) {
      if (open !== undefined) mustSucceed(await answerEscalation(tx, open, 'overtaken'))
      if (link.issueSeen !== null) await recordIssueSeen(tx, link.goalId, null)
      return
    }
    await recordIssueSeen(tx, link.goalId, change.digest)
    const id = open?.id ?? context.newId('q')
    const texts = textsOf(context, id, link, change)
    if (open !== undefined) return extendEscalation(tx, open, texts)
    const about = { id, goalId: link.goalId, taskId: null, runId: null, kind: 'issue_changed' as const, tried: [] }
    await openEscalation(tx, { ...about, ...texts })
  })
}

const hasBegun = async ({ db }: Context, { id, state }: Goal): Promise<boolean> =>
  state === 'ready' || (await listRuns(db, { goalId: id })).length > 0

const look = async (
  context: Context,
  { source, link, cancelRunning }: { source: IssueSource; link: IssueLink; cancelRunning: CancelRunning },
): Promise<void> => {
  const goal = await getGoal(context.db, link.goalId)
  if (goal === undefined) return
  const change = isGoalClosed(goal.state) ? undefined : await changeOf(context, source, link, goal)
  if (change?.isUnwanted === true && !(await hasBegun(context, goal)))
    return void (await cancelGoal(context, goal.id, cancelRunning, withdrawnReason))
  if (change !== undefined || link.issueSeen !== null) await record(context, link, change)
}

/** Each on its own, so that one that fails holds no other up. Returns what went wrong, in words. */
const each = async <T extends { issue: string }>(
  context: Context,
  links: readonly T[],
  work: (source: IssueSource, link: T) => Promise<void>,
): Promise<string[]> => {
  const problems: string[] = []
  for (const link of links) {
    try {
      const source = await context.issues?.()
      if (source !== undefined) await work(source, link)
    } catch (error) {
      // The next poll reads what changed.
      if (error instanceof StaleError) continue
      if (!(error instanceof AppError)) throw error
      problems.push(`issue ${issueName(link.issue)}: ${messageOf(error)}`)
    }
  }
  return problems
}

export const askAboutIssues = async (context: Context, cancelRunning: CancelRunning): Promise<string[]> =>
  each(context, await linksOfIssues(context.db), (source, link) => look(context, { source, link, cancelRunning }))

/** The goals that a person has begin again: each is cancelled, and its issue becomes another goal. After a crash both are gone on with. */
export const restartGoals = async (context: Context, cancelRunning: CancelRunning): Promise<string[]> =>
  each(context, await goalsToRestart(context.db), async (source, { goalId, issue }) => {
    const found = await source.issue(issue)
    const goal = await getGoal(context.db, goalId)
    // It may have ended before this order was carried out.
    if (goal !== undefined && !isGoalClosed(goal.state)) await cancelGoal(context, goalId, cancelRunning)
    await goalOfIssue(context, source, found)
  })
