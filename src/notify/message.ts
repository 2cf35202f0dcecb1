/** The texts of one notification in the form of each channel. */
import type { Notification, NotificationSeverity } from '../domain/notification.ts'
import { visibleText } from '../visible-text.ts'
import { pressText, type Button } from './button.ts'
import { hostOf } from './target.ts'
import { defined } from '../domain/defined.ts'

export interface Message extends Pick<
  Notification,
  'kind' | 'severity' | 'goalId' | 'taskId' | 'runId' | 'escalationId' | 'data' | 'createdAt'
> {
  /** The same in each attempt, so that a receiver recognizes a repetition. */
  id: string
  /** For the one channel that has buttons. */
  buttons?: Button[]
  /** Opens a page that answers the question. */
  answerUrl?: string
}

const headings: Record<Message['kind'], string> = {
  'escalation.opened': 'Your answer is needed',
  'escalation.reminder': 'Still waiting for your answer',
  'escalation.resolved': 'Answered',
  blocker: 'Blocked until you act',
  'goal.ready': 'Ready to land',
  'goal.ended': 'Goal ended',
  'schedule.failed': 'A schedule began no goal',
  test: 'Test',
}

export const headingOf = ({ kind, severity }: Pick<Message, 'kind' | 'severity'>): string =>
  `${severity === 'urgent' ? 'Urgent: ' : ''}${headings[kind]}`

/** Title, what is needed, and the command lines of the choices, with hidden characters spelled. */
const linesOf = ({ data }: Pick<Message, 'data'>): string[] =>
  [
    data.title,
    ...(data.text === '' ? [] : [data.text]),
    ...data.choices.map(({ label, command }) => `• ${label}: ${command}`),
  ].map(visibleText)

/** After the title, because the end of a long text may be cut. */
const withLink = ([title = '', ...rest]: string[], link: string | undefined): string =>
  [title, ...(link === undefined ? [] : [link]), ...rest].join('\n')

export const plainText = (message: Pick<Message, 'data' | 'answerUrl'>): string =>
  withLink(linesOf(message), message.answerUrl && `To answer in a browser: ${message.answerUrl}`)

export const standardBody = (message: Message): string => {
  const { id, kind, severity, goalId, taskId, runId, escalationId, data, createdAt, answerUrl = null } = message
  return JSON.stringify({
    type: kind,
    timestamp: createdAt.toISOString(),
    data: { id, severity, goal: goalId, task: taskId, run: runId, escalation: escalationId, ...data, answerUrl },
  })
}

/** Of these characters Slack would make links and mentions, such as `<!channel>`. */
const slackText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

export const slackBody = (message: Message): string => {
  const { answerUrl } = message
  const link = answerUrl && `<${answerUrl}|Answer in a browser>`
  return JSON.stringify({
    text: `*${slackText(headingOf(message))}*\n${withLink(linesOf(message).map(slackText), link)}`,
  })
}

/** Hosts that expect `{text}`: Slack itself, and Discord's URLs for it. */
export const isSlackUrl = (url: URL): boolean =>
  /^hooks\.slack(?:-gov)?\.com$/.test(hostOf(url)) || (hostOf(url) === 'discord.com' && url.pathname.endsWith('/slack'))

const priorities: Record<NotificationSeverity, number> = { low: 2, normal: 3, high: 4, urgent: 5 }

/** ntfy refuses longer messages than this, in bytes. */
const ntfyBytes = 3_500

const cutBytes = (text: string, bytes: number): string =>
  Buffer.byteLength(text) <= bytes
    ? text
    : `${Buffer.from(text).subarray(0, bytes).toString('utf8').replace(/�+$/u, '')}…`

/** A press publishes the token to the second topic; nothing else of the message is needed to answer. */
const actionsOf = (buttons: readonly Button[], url: string) =>
  buttons.map(({ label, token }) => ({
    action: 'http',
    label,
    url,
    method: 'POST',
    body: pressText(token),
    clear: true,
  }))

export const ntfyBody = (message: Message, topic: string, answersUrl?: string): string => {
  const { buttons = [], answerUrl } = message
  return JSON.stringify({
    ...{ topic, title: `Unstuck: ${headingOf(message)}`, priority: priorities[message.severity] },
    ...{ message: cutBytes(plainText(message), ntfyBytes), tags: [message.kind] },
    ...defined({ click: answerUrl }),
    ...(answersUrl === undefined || buttons.length === 0 ? {} : { actions: actionsOf(buttons, answersUrl) }),
  })
}
