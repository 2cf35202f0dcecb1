/**
 * The leader's job that sends the stored notifications: it chooses the channels when one is due, counts each attempt before it
 * is made, and repeats what failed with a growing wait. An engine that is killed between sending and recording sends again with
 * the same id: at least once, never silently lost.
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
import { messageOf } from '../../errors.ts'
import { isStoreTrouble } from '../../store/db.ts'
import { getEscalation } from '../../store/escalation.ts'
import { LeadershipLostError } from '../../store/leader.ts'
import {
  beginDelivery,
  deliveryFailed,
  deliverySucceeded,
  dropOldNotifications,
  dueDeliveries,
  dueNotifications,
  giveUpDelivery,
  handOverNotification,
  storeButtons,
  withdrawNotification,
  type DueDelivery,
} from '../../store/notification.ts'
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

const handOverDue = async (context: Context, channels: readonly ChannelName[]): Promise<void> => {
  const due = await dueNotifications(context.db, batch)
  if (due.length === 0) return
  const settings = context.config()
  await context.db.transaction(async (tx) => {
    for (const entry of due)
      if (isOvertaken(entry, due)) await withdrawNotification(tx, entry.id)
      else await handOverNotification(tx, entry.id, entry.isCurrent && isWanted(settings, entry.kind) ? channels : [])
    await dropOldNotifications(tx, keptDays)
  })
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
    if (buttons.length > 0) await storeButtons(tx, notification, buttons, buttonHours)
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

/** In turn for one channel, so that what is told arrives in the order in which it happened. */
const sendOfChannel = async (context: Context, channel: string, entries: readonly DueDelivery[]): Promise<void> => {
  const known = configuredChannels(context.config()).find((name) => name === channel)
  for (const due of entries) {
    if (context.stopping.aborted) return
    if (known !== undefined) await sendOnce(context, due, known)
    else await context.db.transaction((tx) => giveUpDelivery(tx, due, 'the channel was removed from the configuration'))
  }
}

/**
 * One pass: everything that is due now, each channel beside the others. Without a channel nothing is read; who configures the
 * first one is told of the questions that wait, and of what else happened within the last day.
 */
export const sendNotifications = async (context: Context): Promise<void> => {
  const channels = configuredChannels(context.config())
  if (channels.length === 0) return
  await handOverDue(context, channels)
  const due = await dueDeliveries(context.db, batch)
  const ofChannels = Map.groupBy(due, ({ delivery }) => delivery.channel)
  const results = await Promise.allSettled(
    [...ofChannels].map(([channel, entries]) => sendOfChannel(context, channel, entries)),
  )
  for (const result of results) {
    if (result.status === 'fulfilled') continue
    if (result.reason instanceof LeadershipLostError || isStoreTrouble(result.reason)) throw result.reason
    context.log.error({ error: messageOf(result.reason) }, 'notifications could not be sent')
  }
}
