/**
 * The leader's jobs that send the stored notifications: one chooses the channels when a notification is due, and one per channel
 * sends. Each attempt is counted before it is made, and what failed is repeated with a growing wait. An engine that is killed
 * between sending and recording sends again with the same id: at least once, never silently lost.
 */
import { basename } from 'node:path'
import {
  answerHours,
  buttonChoices,
  configuredChannels,
  deliveryBackoff,
  isWanted,
  maxDeliveryAttempts,
  type ChannelName,
  type Notification,
} from '../../domain/notification.ts'
import { getEscalation } from '../../store/escalation.ts'
import {
  beginDelivery,
  deliveryFailed,
  deliverySucceeded,
  dropOldNotifications,
  dueDeliveries,
  dueNotifications,
  giveUpDelivery,
  giveUpOtherChannels,
  handOverNotification,
  withdrawNotification,
  type DueDelivery,
} from '../../store/notification.ts'
import { storeButtons } from '../../store/notification-button.ts'
import type { Context } from '../core/context.ts'
import type { Button } from '../../notify/button.ts'
import type { Message } from '../../notify/message.ts'
import type { Choice } from '../../domain/escalation.ts'
import { defined } from '../../domain/defined.ts'

const batch = 50
const keptDays = 30

/** After a long stop both reminders of a question are due at once; only the later one is sent. */
const isOvertaken = (entry: Notification, due: readonly Notification[]): boolean =>
  entry.kind === 'escalation.reminder' &&
  due.some(
    ({ id, kind, escalationId, dueAt }) =>
      id !== entry.id && kind === entry.kind && escalationId === entry.escalationId && dueAt > entry.dueAt,
  )

/**
 * Chooses the channels of everything that is due. Without a channel nothing is chosen; once the first one is configured, the questions
 * that wait and everything else of the last day are sent.
 */
export const handOverDue = async (context: Context): Promise<void> => {
  const settings = context.config()
  const channels = configuredChannels(settings)
  const due = channels.length === 0 ? [] : await dueNotifications(context.db, batch)
  if (due.length === 0) return
  await context.db.transaction(async (tx) => {
    for (const entry of due)
      if (isOvertaken(entry, due)) await withdrawNotification(tx, entry.id)
      else await handOverNotification(tx, entry.id, entry.isCurrent && isWanted(settings, entry.kind) ? channels : [])
  })
}

const tidyEveryMs = 3_600_000

/** Once an hour, also without a channel: gives up what waits for a channel that was removed, and deletes what is old. */
export const createTidyNotificationsJob = (): ((context: Context) => Promise<void>) => {
  let dueAt = Number.NEGATIVE_INFINITY
  let before = ''
  return async ({ clock, config, db }) => {
    const channels = configuredChannels(config())
    // A channel that was just removed must not be shown as one that is still tried.
    if (clock.elapsed() < dueAt && channels.join() === before) return
    await db.transaction(async (tx) => {
      await giveUpOtherChannels(tx, channels)
      await dropOldNotifications(tx, keptDays)
    })
    ;[dueAt, before] = [clock.elapsed() + tidyEveryMs, channels.join()]
  }
}

/** Ids are unique in one store only; a receiver may serve several repositories. */
const messageFor = (context: Context, notification: Notification): Message => {
  const clean = (text: string): string => context.ports.processes.redactText(text, context.environment)
  const { title, text, outcome, choices } = notification.data
  const data = {
    ...{ title: clean(title), text: clean(text), outcome },
    choices: choices.map(({ id, label, command }) => ({ id, label: clean(label), command: clean(command) })),
  }
  return { ...notification, id: `msg_${context.repository.id}_${notification.id}`, data }
}

/** The choices of a question that a message may offer; none once it is decided. */
const offeredChoices = async ({ db }: Context, { escalationId }: Notification): Promise<Choice[]> => {
  const question = escalationId === null ? undefined : await getEscalation(db, escalationId)
  return question?.state === 'pending' ? buttonChoices(question) : []
}

interface Ways {
  buttons: (Button & { tokenHash: string; choice: string })[]
  answerUrl?: string
}

/** How the message itself can be answered: as far as the owner configured it, by buttons of ntfy and by a link. */
const waysToAnswer = async (context: Context, notification: Notification, channel: ChannelName): Promise<Ways> => {
  const { answerLinks, clock, ports } = context
  const hasButtons = channel === 'ntfy' && context.config().notify.ntfyAnswers !== undefined
  if (!hasButtons && answerLinks === undefined) return { buttons: [] }
  const choices = await offeredChoices(context, notification)
  if (choices.length === 0) return { buttons: [] }
  const buttons = (hasButtons ? choices : []).map(({ id, label }) => {
    const token = ports.notify.newButtonToken()
    return { label, token, tokenHash: ports.notify.buttonTokenHash(token), choice: id }
  })
  const answerUrl = answerLinks?.urlOf({
    question: notification.escalationId ?? '',
    choices: choices.map(({ id }) => id),
    expiresAt: new Date(clock.now().getTime() + answerHours * 3_600_000),
  })
  return { buttons, ...defined({ answerUrl }) }
}

/** Enough of a token to recognize it, also where the text was cut within it. */
const recognizable = 12

/** A receiver may repeat the message in its response, and agents can read why a delivery failed. */
const problemOf = ({ environment, ports }: Context, problem: string, { buttons, answerUrl }: Ways): string => {
  const tokens = [...buttons.map(({ token }) => token), ...(answerUrl === undefined ? [] : [basename(answerUrl)])]
  const text = ports.processes.redactText(problem, environment)
  const ends = tokens.map((token) => text.indexOf(token.slice(0, recognizable))).filter((at) => at >= 0)
  return ends.length === 0 ? text : `${text.slice(0, Math.min(...ends))}[redacted]`
}

const sendOnce = async (context: Context, due: DueDelivery, channel: ChannelName): Promise<void> => {
  const { delivery, notification } = due
  const attempt = delivery.attempts + 1
  const ways = await waysToAnswer(context, notification, channel)
  const begun = await context.db.transaction(async (tx) => {
    if (!(await beginDelivery(tx, delivery, deliveryBackoff(attempt)))) return false
    await storeButtons(tx, notification, ways.buttons, answerHours)
    return true
  })
  if (!begun) return
  const result = await context.ports.notify.sendOver(
    channel,
    { ...messageFor(context, notification), ...ways },
    {
      ...{ settings: context.config(), environment: context.environment, now: context.clock.now() },
      signal: context.stopping,
    },
  )
  // What was sent is unknown if the engine stops; the attempt is counted, and is made again.
  if (context.stopping.aborted) return
  await context.db.transaction(async (tx) => {
    if (result.ok) return deliverySucceeded(tx, delivery)
    const problem = problemOf(context, result.problem, ways)
    if (attempt >= maxDeliveryAttempts) return giveUpDelivery(tx, due, problem)
    return deliveryFailed(tx, delivery, { problem, waitSeconds: deliveryBackoff(attempt, result.retryAfterSeconds) })
  })
}

/** The engine was killed in the last attempt that the limit allows, so that its end was not recorded. */
const giveUpInterrupted = (context: Context, due: DueDelivery): Promise<void> =>
  context.db.transaction((tx) =>
    giveUpDelivery(tx, due, due.delivery.problem || 'each attempt was interrupted by the end of an engine'),
  )

/** Everything that is due on one channel, in turn, so that it arrives in the order in which it happened. */
export const sendDue = async (context: Context, channel: ChannelName): Promise<void> => {
  if (!configuredChannels(context.config()).includes(channel)) return
  for (const due of await dueDeliveries(context.db, channel, batch)) {
    if (context.stopping.aborted) return
    if (due.delivery.attempts >= maxDeliveryAttempts) await giveUpInterrupted(context, due)
    else await sendOnce(context, due, channel)
  }
}
