/**
 * The leader's jobs that send the stored notifications: one chooses the channels when a notification is due, and one per channel
 * sends. Each attempt is counted before it is made, and what failed is repeated with a growing wait. An engine that is killed
 * between sending and recording sends again with the same id: at least once, never silently lost.
 */
import {
  buttonChoices,
  buttonHours,
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
import type { Message } from '../../notify/message.ts'

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
 * Chooses the channels of everything that is due. Without a channel nothing is chosen; whoever configures the first one is told
 * of the questions that wait, and of what else happened within the last day.
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

/** The buttons of a question that still waits; none unless the owner configured where they publish to. */
const buttonsFor = async ({ config, db, ports }: Context, { escalationId }: Notification) => {
  if (config().notify.ntfyAnswers === undefined || escalationId === null) return []
  const question = await getEscalation(db, escalationId)
  if (question?.state !== 'pending') return []
  return buttonChoices(question).map(({ id, label }) => {
    const token = ports.notify.newButtonToken()
    return { label, token, tokenHash: ports.notify.buttonTokenHash(token), choice: id }
  })
}

const sendOnce = async (context: Context, due: DueDelivery, channel: ChannelName): Promise<void> => {
  const { delivery, notification } = due
  const attempt = delivery.attempts + 1
  const buttons = channel === 'ntfy' ? await buttonsFor(context, notification) : []
  const begun = await context.db.transaction(async (tx) => {
    if (!(await beginDelivery(tx, delivery, deliveryBackoff(attempt)))) return false
    await storeButtons(tx, notification, buttons, buttonHours)
    return true
  })
  if (!begun) return
  const message = { ...messageFor(context, notification), ...(buttons.length === 0 ? {} : { buttons }) }
  const result = await context.ports.notify.sendOver(channel, message, {
    ...{ settings: context.config(), environment: context.environment, now: context.clock.now() },
    signal: context.stopping,
  })
  // What was sent is unknown if the engine stops; the attempt is counted, and is made again.
  if (context.stopping.aborted) return
  await context.db.transaction(async (tx) => {
    if (result.ok) return deliverySucceeded(tx, delivery)
    const problem = context.ports.processes.redactText(result.problem, context.environment)
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
