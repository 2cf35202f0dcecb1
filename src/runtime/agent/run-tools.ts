/**
 * What an agent may do by the tools of its own run: report its progress, and ask a person once. Each call is checked against the
 * stored run in the transaction that writes, so nothing changes between two turns and after the run. The token is that of the run: a
 * process that outlives its turn could still call during a later one, which is why processes are ended with their launch.
 */
import { taskNameInside } from '../../domain/task-title.ts'
import type { Run } from '../../domain/run.ts'
import type { Escalation } from '../../domain/escalation.ts'
import { AppError } from '../../errors.ts'
import type { Queryable } from '../../store/db.ts'
import { agentQuestionsOf, openEscalation, pendingEscalationOf, replyTo } from '../../store/escalation.ts'
import { appendEvent, eventsOfMinute, newestEventOf } from '../../store/event.ts'
import { getRun, lockRun } from '../../store/run.ts'
import { getTask } from '../../store/task.ts'
import { cancelChoice, replyChoice } from '../core/choices.ts'
import type { Context } from '../core/context.ts'

const reportsPerMinute = 12
const longestReport = 500
const longestQuestion = 2_000

/** Without secrets, on one line for a terminal and a page, cut to `longest` characters. */
export const oneLine = ({ ports, environment }: Context, text: string, longest: number): string => {
  const plain = ports.processes
    .redactText(text, environment)
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
  return plain.length > longest ? `${plain.slice(0, longest - 1)}…` : plain
}

const given = (field: string, text: string, longest: number): string => {
  if (text.trim() === '') throw new AppError('INPUT_INVALID', `${field}: it is empty; write one sentence`)
  if (text.length > longest)
    throw new AppError('INPUT_INVALID', `${field}: it has ${text.length} characters; at most ${longest} are allowed`)
  return text
}

/** The run, if its agent is at work. Throws ILLEGAL after its turn: what is said then would belong to nothing. */
export const atWork = (run: Run | undefined, id: string): Run => {
  if (run?.state === 'running' && (run.phase === 'launch' || run.phase === 'supervise')) return run
  throw new AppError('ILLEGAL', `the turn of the agent of run ${id} has ended; its tools do nothing any more`)
}

/** Stores what the agent says about its progress. Throws TOO_MANY above the limit per minute. */
export const reportProgress = async (context: Context, id: string, text: string): Promise<{ recorded: string }> => {
  const recorded = oneLine(context, given('text', text, longestReport), longestReport)
  await context.db.transaction(async (tx) => {
    const run = atWork(await lockRun(tx, id), id)
    const { goalId, taskId } = run
    if ((await eventsOfMinute(tx, run, 'run.progress')) >= reportsPerMinute)
      throw new AppError(
        'TOO_MANY',
        `this run reported ${reportsPerMinute} times in the last minute; go on, and report less often`,
      )
    await appendEvent(tx, { type: 'run.progress', goalId, taskId, runId: id, payload: { text: recorded } })
  })
  return { recorded }
}

/** What the agent of a run reported last; null = nothing. */
export const lastReport = async (db: Queryable, run: Run): Promise<string | null> => {
  const text = (await newestEventOf(db, run, 'run.progress'))?.payload['text']
  return typeof text === 'string' ? text : null
}

/** The question of an agent, and its answer once there is one. `closed` = nobody will answer it any more. */
export interface AgentQuestion {
  question: string
  state: 'open' | 'answered' | 'closed'
  answer: string | null
  /** How long the agent waits for the answer before it ends its turn. */
  waitSeconds: number
}

/** Stores what the agent of this run asks a person, by its tool or in its last words. */
export const openAgentQuestion = async (
  context: Context,
  tx: Queryable,
  { run, text }: { run: Run; text: string },
): Promise<void> => {
  const { id: runId, goalId, taskId } = run
  const task = await getTask(tx, taskId)
  if (task === undefined) throw new Error(`task ${taskId} is gone from the store`)
  const happened = `The agent of ${taskNameInside(task)} asks: ${oneLine(context, text, longestQuestion)}`
  await openEscalation(tx, {
    ...{ id: context.newId('q'), goalId, taskId, runId, kind: 'agent_question' },
    ...{ happened, tried: [], question: happened },
    details: [
      `To answer: unstuck answer ${taskId} reply --text "…"`,
      'Without an answer its run ends, its work is kept, and the task waits for you.',
    ].join('\n'),
    choices: [replyChoice(taskId), cancelChoice(taskId)],
  })
}

/** Opens the one question of a run. Throws ILLEGAL for a second one, also when a person still has to answer another one of its task. */
export const askPerson = async (context: Context, id: string, text: string): Promise<AgentQuestion> => {
  given('question', text, longestQuestion)
  await context.db.transaction(async (tx) => {
    const run = atWork(await lockRun(tx, id), id)
    if ((await agentQuestionsOf(tx, id)).length > 0)
      throw new AppError(
        'ILLEGAL',
        `run ${id} has asked its one question already; decide by yourself, or end your turn`,
      )
    if ((await pendingEscalationOf(tx, run.taskId)) !== undefined)
      throw new AppError('ILLEGAL', `a question of task ${run.taskId} waits for a person already; end your turn`)
    await openAgentQuestion(context, tx, { run, text })
  })
  context.wake()
  return readReply(context, id)
}

const stateOfQuestion = ({ state, answer }: Escalation): AgentQuestion['state'] => {
  if (state === 'pending') return 'open'
  return answer === 'reply' ? 'answered' : 'closed'
}

/** Whether the agent of this run got the answer, by its tool or as the prompt of a launch. */
export const hasReadAnswer = async (db: Queryable, run: Run): Promise<boolean> =>
  (await newestEventOf(db, run, 'run.answer_read')) !== undefined

export const recordAnswerRead = async (tx: Queryable, { id, goalId, taskId }: Run, answer: string): Promise<void> =>
  appendEvent(tx, { type: 'run.answer_read', goalId, taskId, runId: id, payload: { answer } })

/** The question of a run with its answer. The first reading of an answer is recorded: the agent need not be told again. */
export const readReply = async (context: Context, id: string): Promise<AgentQuestion> =>
  context.db.transaction(async (tx) => {
    const asked = (await agentQuestionsOf(tx, id)).at(-1)
    const run = await getRun(tx, id)
    if (asked === undefined || run === undefined)
      throw new AppError('NOT_FOUND', `run ${id} has asked nothing; ask first`)
    const state = stateOfQuestion(asked)
    const answer = state === 'answered' ? ((await replyTo(tx, asked)) ?? null) : null
    if (answer !== null && !(await hasReadAnswer(tx, run))) await recordAnswerRead(tx, run, answer)
    return { question: asked.happened, state, answer, waitSeconds: context.config().mcp.waitSeconds }
  })
