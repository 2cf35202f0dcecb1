/** The one comment of a goal under its issue: what is planned and done, what a person is asked, and where the work is. */
import { isWork, type Task } from '../../domain/task.ts'
import type { Goal, GoalState } from '../../domain/goal.ts'
import { readableTitle } from '../../domain/task-title.ts'
import { issueName } from '../../domain/issue-name.ts'
import { AppError } from '../../errors.ts'
import type { IssueSource, IssueStatus } from '../../forge/forge.ts'
import { listEscalations } from '../../store/escalation.ts'
import { issueComments, recordComment, type IssueComment } from '../../store/forge-link.ts'
import { getGoal } from '../../store/goal.ts'
import { confirmLeadership } from '../../store/leader.ts'
import { listTasks } from '../../store/task.ts'
import type { Context } from '../core/context.ts'
import { withoutSecrets } from '../core/without-secrets.ts'

const words: Record<GoalState, string> = {
  ...{ planning: 'is planned', active: 'is in progress', paused: 'is paused', awaiting_human: 'waits for an answer' },
  ...{ ready: 'is finished', done: 'is done', failed: 'ended without a result', cancelled: 'was cancelled' },
}

const markOf = (goalId: string): string => `<!-- unstuck ${goalId} -->`

/** A text of others cannot begin a list, mention a user or close an issue. */
const plain = (text: string): string =>
  text.replaceAll(/[\r\n]+/g, ' ').replaceAll(/[@#<>`[\]]/g, (char) => `&#${char.codePointAt(0) ?? 0};`)

const taskLine = ({ title, status }: Task): string =>
  `- [${status === 'done' ? 'x' : ' '}] ${plain(readableTitle(title))}`

const statusOf = async (context: Context, goal: Goal, { pullRequestUrl }: IssueComment): Promise<IssueStatus> => {
  const tasks = (await listTasks(context.db, goal.id)).filter(isWork)
  const questions = await listEscalations(context.db, { goalId: goal.id, pendingOnly: true })
  const lines = [
    ...[markOf(goal.id), `The work on this issue ${words[goal.state]} (goal \`${goal.id}\`).`, ''],
    ...tasks.map(taskLine),
    ...(pullRequestUrl === null ? [] : ['', `Pull request: ${pullRequestUrl}`]),
    ...(questions.length === 0 ? [] : ['', 'Questions, which the owner answers with `unstuck inbox`:', '']),
    ...questions.map(({ question }) => `- ${plain(question)}`),
  ]
  const text = withoutSecrets(context, lines.join('\n'))
  return { text, goal: goal.id, state: goal.state, pullRequest: pullRequestUrl }
}

/** The number is noted before the comment exists, so that after a crash it is looked for instead of written again. */
const write = async (context: Context, source: IssueSource, link: IssueComment, status: IssueStatus): Promise<void> => {
  await confirmLeadership(context.db)
  if (link.comment === null) await recordComment(context.db, link.goalId, { comment: 0, text: null })
  const known = link.comment === 0 ? await source.findComment(link.issue, markOf(link.goalId)) : link.comment
  const comment = await source.writeComment(link.issue, known, status)
  // A person deleted it and does not want it; it counts as written.
  await recordComment(context.db, link.goalId, { comment: comment ?? known, text: status.text })
}

const tellIssue = async (context: Context, source: IssueSource, link: IssueComment): Promise<void> => {
  const goal = await getGoal(context.db, link.goalId)
  if (goal === undefined) return
  const status = await statusOf(context, goal, link)
  const { text } = status
  if (text === link.commentText) return
  try {
    await write(context, source, link, status)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'NOT_FOUND') throw error
    // The issue was deleted or moved away: there is nothing to tell before the goal changes again.
    await recordComment(context.db, link.goalId, { comment: link.comment, text })
  }
}

/** Brings the comments of the goals up to date, each only when its text has changed. Returns what went wrong, in words. */
export const tellIssues = async (context: Context): Promise<string[]> => {
  if (context.config().forge.comments === 'off') return []
  const problems: string[] = []
  for (const link of await issueComments(context.db)) {
    try {
      const source = await context.issues?.()
      if (source !== undefined) await tellIssue(context, source, link)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      // It holds no other up.
      problems.push(`issue ${issueName(link.issue)}: ${error.message}`)
    }
  }
  return problems
}
