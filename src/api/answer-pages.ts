/**
 * The page of a signed answer link. Reading it changes nothing, so the preview of a chat program or a mail scanner is harmless; only its form
 * answers. The page needs no script, and the answer is the one that `unstuck answer` would give.
 */
import type { Context as HonoContext } from 'hono'
import { buttonChoices, questionData } from '../domain/notification.ts'
import type { Choice, Escalation } from '../domain/escalation.ts'
import { AppError } from '../errors.ts'
import type { AnswerLink, Context } from '../runtime/core/context.ts'
import { answerQuestion } from '../runtime/people/answer-question.ts'
import type { CancelRunning } from '../runtime/people/commands.ts'
import { appendEvent } from '../store/event.ts'
import { getEscalation } from '../store/escalation.ts'
import { contentPolicy, escaped, pageOf } from './html-pages.ts'

interface Page {
  status: 200 | 400 | 404 | 409 | 410
  title: string
  body: string
}

const inTerminal = (command: string): string =>
  `<p>In a terminal, in the folder of the project: <code>${escaped(command)}</code></p>`

const invalidPage: Page = {
  status: 404,
  title: 'Unstuck: this link is not valid',
  body: `<p>It is incomplete, or it belongs to another project. Nothing was changed.</p>${inTerminal('unstuck inbox')}`,
}

const commandFor = ({ taskId, goalId }: Escalation): string => `unstuck answer ${taskId ?? goalId}`

const expiredPage = (question: Escalation): Page => ({
  status: 410,
  title: 'Unstuck: this link has expired',
  body: `<p>The question still waits for your answer. Nothing was changed.</p>${inTerminal(commandFor(question))}`,
})

const decidedPage = ({ answer }: Escalation, status: 409 | 410): Page => ({
  status,
  title: 'Unstuck: this question is closed',
  body: `<p>${
    answer === null
      ? 'It needs no answer any more.'
      : `It was answered before: <strong>${escaped(answer.replaceAll('_', ' '))}</strong>. This link changed nothing.`
  }</p>${inTerminal('unstuck status')}`,
})

const refusedPage = (question: Escalation, reason: string): Page => ({
  status: 409,
  title: 'Unstuck: the answer had no effect',
  body: `<p>${escaped(reason)}</p>${inTerminal(commandFor(question))}`,
})

const unknownChoicePage = (question: Escalation): Page => ({
  status: 400,
  title: 'Unstuck: this link does not offer that answer',
  body: `<p>Nothing was changed. Open the link again and use one of its buttons.</p>${inTerminal(commandFor(question))}`,
})

const choiceOf = ({ id, label, effect }: Choice, clean: (text: string) => string): string =>
  `<p><button name="choice" value="${escaped(id)}">${escaped(clean(label))}</button><br>${escaped(clean(effect))}</p>`

const hoursLeft = ({ expiresAt }: AnswerLink, now: Date): number =>
  Math.ceil((expiresAt.getTime() - now.getTime()) / 3_600_000)

interface Asked {
  link: AnswerLink
  question: Escalation
  choices: Choice[]
}

const questionPage = (context: Context, { link, question, choices }: Asked): Page => {
  const clean = (text: string): string => context.ports.processes.redactText(text, context.environment)
  const { title, text } = questionData(question)
  const hours = hoursLeft(link, context.clock.now())
  return {
    status: 200,
    title: 'Unstuck needs your answer',
    body: `<p><strong>${escaped(clean(title))}</strong></p>
${text === '' ? '' : `<pre>${escaped(clean(text))}</pre>`}
<form method="post">
${choices.map((choice) => choiceOf(choice, clean)).join('\n')}
</form>
<p>This link answers once, within the next ${hours === 1 ? 'hour' : `${hours} hours`}. Other answers need a terminal or the dashboard.</p>
${inTerminal(commandFor(question))}`,
  }
}

const answeredPage = ({ label }: Choice): Page => ({
  status: 200,
  title: 'Unstuck: answered',
  body: `<p>Your answer: <strong>${escaped(label)}</strong>. You can close this page.</p>${inTerminal('unstuck status')}`,
})

/** What the link still offers, or the page that says why it offers nothing. */
const openLink = async (context: Context, token: string, whenDecided: 409 | 410): Promise<Asked | Page> => {
  const link = context.answerLinks?.read(token)
  if (link === undefined) return invalidPage
  const question = await getEscalation(context.db, link.question)
  if (question === undefined) return invalidPage
  if (question.state !== 'pending') return decidedPage(question, whenDecided)
  if (link.expiresAt <= context.clock.now()) return expiredPage(question)
  return { link, question, choices: buttonChoices(question).filter(({ id }) => link.choices.includes(id)) }
}

const carryOut = async (
  context: Context,
  { question, choice }: { question: Escalation; choice: Choice },
  cancelRunning: CancelRunning,
): Promise<Page> => {
  const { id, goalId, taskId, runId } = question
  try {
    await answerQuestion(context, { id, choice: choice.id, by: 'answer link' }, cancelRunning)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const now = (await getEscalation(context.db, id)) ?? question
    return now.state === 'pending' ? refusedPage(question, error.message) : decidedPage(now, 409)
  }
  await appendEvent(context.db, {
    type: 'notification.link_used',
    ...{ goalId, taskId, runId },
    payload: { escalation: id, choice: choice.id },
  })
  return answeredPage(choice)
}

const respond = (c: HonoContext, { status, title, body }: Page): Response => {
  c.header('content-security-policy', contentPolicy('answer'))
  // With the common `no-referrer` a browser sends its form with the Origin `null`, which is refused.
  c.header('referrer-policy', 'same-origin')
  return c.html(pageOf(title, body), status)
}

export const showAnswerPage = async (c: HonoContext, context: Context): Promise<Response> => {
  const found = await openLink(context, c.req.param('id') ?? '', 410)
  return respond(c, 'status' in found ? found : questionPage(context, found))
}

/** No browser sends more than the name of one choice. */
const longestForm = 200

const formOf = async (c: HonoContext): Promise<URLSearchParams> => {
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(c.req.header('content-type') ?? ''))
    throw new AppError('MEDIA_TYPE', 'an answer link takes the form of its page (application/x-www-form-urlencoded)')
  const text = await c.req.text()
  return new URLSearchParams(text.length > longestForm ? '' : text)
}

export const answerByLink = async (
  c: HonoContext,
  context: Context,
  cancelRunning: CancelRunning,
): Promise<Response> => {
  const form = await formOf(c)
  const found = await openLink(context, c.req.param('id') ?? '', 409)
  if ('status' in found) return respond(c, found)
  const [wanted, ...more] = form.getAll('choice')
  const choice = more.length === 0 ? found.choices.find(({ id }) => id === wanted) : undefined
  if (choice === undefined) return respond(c, unknownChoicePage(found.question))
  return respond(c, await carryOut(context, { question: found.question, choice }, cancelRunning))
}
