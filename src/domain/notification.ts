/**
 * A notification: what is reported to a person outside of Unstuck, stored in the transaction of the change that it reports, so that
 * neither can be lost without the other. It is sent later, once per channel, by the leading engine.
 */
import { backoff } from './backoff.ts'
import type { Choice, ChoiceKind, Escalation } from './escalation.ts'

export const notificationKinds = [
  'escalation.opened',
  'escalation.reminder',
  'escalation.resolved',
  'blocker',
  'goal.ready',
  'goal.ended',
  'schedule.failed',
  'test',
] as const
export type NotificationKind = (typeof notificationKinds)[number]

export const notificationSeverities = ['low', 'normal', 'high', 'urgent'] as const
export type NotificationSeverity = (typeof notificationSeverities)[number]

/** What the owner chooses in `webhooks.events`; each stands for some kinds. */
export const notificationTopics = ['escalation', 'blocker', 'resolved', 'goal_end'] as const
export type NotificationTopic = (typeof notificationTopics)[number]

const topics: Record<NotificationKind, NotificationTopic | null> = {
  'escalation.opened': 'escalation',
  'escalation.reminder': 'escalation',
  'escalation.resolved': 'resolved',
  blocker: 'blocker',
  'goal.ready': 'goal_end',
  'goal.ended': 'goal_end',
  'schedule.failed': 'blocker',
  test: null,
}

/** Null = sent whatever the owner chose. */
export const topicOf = (kind: NotificationKind): NotificationTopic | null => topics[kind]

export interface NotificationData {
  /** One sentence. */
  title: string
  /** What is needed, with what was tried. */
  text: string
  /** State of a goal, or the answer to a question. */
  outcome: string | null
  choices: { id: string; label: string; command: string }[]
}

export interface Notification {
  id: string
  kind: NotificationKind
  severity: NotificationSeverity
  goalId: string | null
  taskId: string | null
  runId: string | null
  escalationId: string | null
  data: NotificationData
  createdAt: Date
  /** Not sent before this time. */
  dueAt: Date
  /** When its channels were chosen; null = not yet. */
  handedOverAt: Date | null
  /** When it became unnecessary; null = it did not. */
  withdrawnAt: Date | null
}

/** One notification on its way over one channel. */
export interface Delivery {
  notificationId: string
  channel: string
  attempts: number
  nextAt: Date
  deliveredAt: Date | null
  givenUpAt: Date | null
  /** Why the last attempt failed; '' = it did not. */
  problem: string
}

const limits = { title: 500, text: 4_000, choices: 12, label: 120, command: 400 }

const cut = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length - 1)}…` : text)

type Asked = Pick<Escalation, 'kind' | 'happened' | 'question' | 'details' | 'choices'>

/** The question begins with what happened, which is the title. */
const beyondTitle = ({ happened, question }: Pick<Asked, 'happened' | 'question'>): string =>
  question.startsWith(happened) ? question.slice(happened.length).trim() : question

/** Bounded, because the text comes from the output of agents and checks. */
export const questionData = ({ happened, question, details, choices }: Asked): NotificationData => ({
  title: cut(happened, limits.title),
  text: cut([beyondTitle({ happened, question }), details].filter((part) => part !== '').join('\n\n'), limits.text),
  outcome: null,
  choices: choices.slice(0, limits.choices).map(({ id, label, command }) => ({
    ...{ id, label: cut(label, limits.label), command: cut(command, limits.command) },
  })),
})

export const endData = (title: string, text: string, outcome: string): NotificationData => ({
  ...{ title: cut(title, limits.title), text: cut(text, limits.text), outcome, choices: [] },
})

/** A refused permission or a refused landing stops a whole goal, any other question one task. */
const firstSeverity = ({ kind }: Pick<Escalation, 'kind'>): NotificationSeverity =>
  kind === 'blocker' ? 'high' : 'normal'

const raised: Record<NotificationSeverity, NotificationSeverity> = {
  low: 'normal',
  normal: 'high',
  high: 'urgent',
  urgent: 'urgent',
}

export interface PlannedNotification {
  /** Appended to the id of the question. */
  suffix: string
  kind: NotificationKind
  severity: NotificationSeverity
  afterSeconds: number
}

const hour = 3_600

/** A question is sent at once, again after an hour, and with a raised severity after four: at most two reminders. */
export const plannedFor = (question: Pick<Escalation, 'kind'>): PlannedNotification[] => {
  const severity = firstSeverity(question)
  const kind = question.kind === 'blocker' ? 'blocker' : 'escalation.opened'
  return [
    { suffix: 'opened', kind, severity, afterSeconds: 0 },
    { suffix: 'reminder-1', kind: 'escalation.reminder', severity, afterSeconds: hour },
    { suffix: 'reminder-2', kind: 'escalation.reminder', severity: raised[severity], afterSeconds: 4 * hour },
  ]
}

export const maxDeliveryAttempts = 10

/** Seconds until the next attempt after this many: 10 s, doubled each time, at most an hour; later if the receiver asks for it. */
export const deliveryBackoff = (attempts: number, retryAfterSeconds = 0): number => {
  const own = backoff(attempts - 1, { firstMs: 10_000, maxMs: hour * 1_000 }) / 1_000
  return Math.min(hour, Math.max(own, retryAfterSeconds))
}

export const channelNames = ['webhook', 'ntfy', 'desktop'] as const
export type ChannelName = (typeof channelNames)[number]

export interface NotifySettings {
  webhooks: {
    on_escalation?: string
    secret?: string
    style: 'auto' | 'slack' | 'standard'
    events: readonly NotificationTopic[]
  }
  notify: { ntfy?: string; ntfyAnswers?: string; ntfyTokenVariable: string; desktop: boolean }
}

/** In the order in which they are shown. */
export const configuredChannels = ({ webhooks, notify }: NotifySettings): ChannelName[] => [
  ...(webhooks.on_escalation === undefined ? [] : (['webhook'] as const)),
  ...(notify.ntfy === undefined ? [] : (['ntfy'] as const)),
  ...(notify.desktop ? (['desktop'] as const) : []),
]

export const isWanted = ({ webhooks }: NotifySettings, kind: NotificationKind): boolean => {
  const topic = topicOf(kind)
  return topic === null || webhooks.events.includes(topic)
}

/** What a button or link may do: it gives no right, changes no check and lands nothing, because anyone who reads the message can use it. */
const buttonKinds: readonly ChoiceKind[] = ['retry', 'resume', 'cancel']

/** Such a retry also counts the spend of the goal from zero, and so lifts a limit of the owner. */
const resetsSpend = ({ kind, taskId }: Pick<Escalation, 'kind' | 'taskId'>): boolean =>
  kind === 'budget' || taskId === null

const maxButtons = 3

export const buttonChoices = (question: Pick<Escalation, 'kind' | 'taskId' | 'choices'>): Choice[] =>
  question.choices
    .filter(({ kind, input }) => buttonKinds.includes(kind) && input?.required !== true)
    // A plan that the person wants to look at is not begun by anyone who reads the message.
    .filter(({ kind }) => kind !== 'resume' || question.kind !== 'plan_review')
    .filter(({ kind }) => kind !== 'retry' || !resetsSpend(question))
    .slice(0, maxButtons)

/** For so long after it was sent a message can be answered by its buttons and its link. */
export const answerHours = 24
