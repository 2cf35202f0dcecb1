/**
 * The end of an agent's turn when it asked a person, or when a person wrote to it. Without an answer the run ends here and its task waits; an answer that came too
 * late for the agent starts it again with it. Its work is not checked before: it asked because it was not done.
 */
import { lastLaunch, type ErrorMeta, type Run } from '../../domain/run.ts'
import type { Escalation } from '../../domain/escalation.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { agentQuestionsOf, getEscalation, pendingEscalationOf, replyTo } from '../../store/escalation.ts'
import { lockGoal } from '../../store/goal.ts'
import { appendEvent } from '../../store/event.ts'
import { lockRun, requireLease, setMessage } from '../../store/run.ts'
import { questionInWords } from '../../recovery/agent-words.ts'
import { readLaunch } from '../agent/denials.ts'
import { moveTask } from '../../store/task.ts'
import { hasReadAnswer, openAgentQuestion, recordAnswerRead } from '../agent/run-tools.ts'
import { correctedLaunch } from '../agent/start-launch.ts'
import { keepSnapshot, stopProcesses } from '../agent/stop-agent.ts'
import { saveProgress, type RunContext } from '../core/run-context.ts'
import { failOpenRecoveries } from '../core/store-record.ts'
import { detectCapabilities } from '../harness/detected-capabilities.ts'
import { closeRun, freshTask } from './endings.ts'
import type { PhaseResult } from './phase.ts'

type Message = NonNullable<Run['message']>

type Asked = { kind: 'open'; question: Escalation } | { kind: 'unread'; question: Escalation; answer: string }

const askedBy = async (tx: Queryable, { run, task }: RunContext): Promise<Asked | undefined> => {
  const pending = await pendingEscalationOf(tx, task.id)
  if (pending?.kind === 'agent_question') return { kind: 'open', question: pending }
  const question = (await agentQuestionsOf(tx, run.id)).at(-1)
  if (question?.answer !== 'reply' || (await hasReadAnswer(tx, run))) return undefined
  return { kind: 'unread', question, answer: (await replyTo(tx, question)) ?? '' }
}

const waiting = ({ happened }: Escalation): ErrorMeta => ({
  ...{ source: 'person', failureCode: 'agent_question', signature: 'agent_question', evidence: happened },
  message: 'its agent waits for the answer to its question',
})

/** Ends the run; its task waits for the answer. An answer that comes before the end is stored lets the phase run again. */
const endAsked = async (runContext: RunContext, question: Escalation): Promise<PhaseResult> => {
  const { context, run, task } = runContext
  await keepSnapshot(runContext, 'its agent asked a person')
  await stopProcesses(runContext, 'shutdown')
  return context.db.transaction(async (tx) => {
    // An answer takes the same lock, so it finds the task either running or waiting.
    await lockGoal(tx, task.goalId)
    if ((await getEscalation(tx, question.id))?.state !== 'pending') return 'on'
    await failOpenRecoveries(tx, task.id, 'the agent asked a person instead')
    await closeRun(tx, runContext, 'interrupted', waiting(question))
    const payload = { reason: question.happened }
    mustSucceed(await moveTask(tx, await freshTask(tx, runContext), 'escalated', { runId: run.id, payload }))
    return 'ended'
  })
}

/** Starts the agent once more in this run, in its session where it has one that can be resumed. */
const continueWith = async (
  runContext: RunContext,
  hint: string,
  record: (tx: Queryable, resumed: boolean) => Promise<void>,
): Promise<PhaseResult> => {
  const last = lastLaunch(runContext.run)
  if (last === undefined) throw new Error('a turn that ended needs its launch')
  const { capabilities } = await detectCapabilities(runContext)
  const resumeSession = capabilities.resume ? runContext.run.sessionId : null
  const launch = correctedLaunch(last, { corrections: last.corrections, resumeSession, hint })
  await runContext.context.db.transaction(async (tx) => {
    await record(tx, resumeSession !== null)
    const launches = [...runContext.run.launches, launch]
    await saveProgress(runContext, { phase: 'launch', launches, tree: null }, tx)
  })
  return 'on'
}

/** A message that was sent meanwhile stays for the end of the next turn. */
const relaunchTold = async (runContext: RunContext, message: Message): Promise<PhaseResult> => {
  const { goalId, taskId, id: runId } = runContext.run
  const hint = `A person who reads along says:\n${message.text}\nContinue with the task.`
  return continueWith(runContext, hint, async (tx, resumed) => {
    const now = (await lockRun(tx, runId)) as Run
    if (now.message?.text === message.text) await setMessage(tx, now, null)
    await appendEvent(tx, { type: 'run.message_read', goalId, taskId, runId, payload: { text: message.text, resumed } })
  })
}

const relaunchWith = async (
  runContext: RunContext,
  { question, answer }: Extract<Asked, { kind: 'unread' }>,
): Promise<PhaseResult> =>
  continueWith(runContext, `${question.happened}\nA person answered: ${answer}\nContinue with the task.`, (tx) =>
    recordAnswerRead(tx, runContext.run, answer),
  )

/** What the agent said at the end of its last turn. */
export const wordsOfTurn = (runContext: RunContext): string => {
  const { final, lastText, stdoutTail } = readLaunch(runContext)
  // A program without events of its own has only its last lines.
  return final?.text || (stdoutTail?.join('\n') ?? lastText)
}

/**
 * After a turn that changed nothing: its last words as the question to a person, if they are one. Undefined = they are not, or this run
 * has asked already. An agent that asks is not satisfied, so no check may count the task as done.
 */
export const askInWords = async (runContext: RunContext): Promise<PhaseResult | undefined> => {
  const { context, run, task } = runContext
  const text = questionInWords(wordsOfTurn(runContext))
  if (text === undefined) return undefined
  const question = await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await lockRun(tx, run.id)
    if ((await agentQuestionsOf(tx, run.id)).length === 0 && (await pendingEscalationOf(tx, task.id)) === undefined)
      await openAgentQuestion(context, tx, { run, text })
    // A second pass, after a crash or an answer that was faster than the end of the run, finds the question of the first.
    return askedBy(tx, runContext)
  })
  if (question === undefined) return undefined
  return question.kind === 'open' ? endAsked(runContext, question.question) : relaunchWith(runContext, question)
}

/** After a turn that ended well: goes on to the collection of the work, unless the agent asked a person, or a person wrote to it. */
export const endTurn = async (runContext: RunContext): Promise<PhaseResult> => {
  const { asked, message } = await runContext.context.db.transaction(async (tx) => {
    // The agent's tools and a person take the same lock, so no question and no message comes between this look and the next phase.
    const run = await lockRun(tx, runContext.run.id)
    const found = { asked: await askedBy(tx, runContext), message: run?.message ?? null }
    if (found.asked === undefined && found.message === null) await saveProgress(runContext, { phase: 'collect' }, tx)
    return found
  })
  if (asked !== undefined)
    return asked.kind === 'open' ? endAsked(runContext, asked.question) : relaunchWith(runContext, asked)
  return message === null ? 'on' : relaunchTold(runContext, message)
}
