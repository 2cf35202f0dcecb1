/** The schemas of notifications and their deliveries, and their types as clients receive them. */
import { z } from 'zod'
import { notificationKinds, notificationSeverities } from '../../domain/notification.ts'
import { count, text, time } from './parts.ts'

const delivery = z.strictObject({
  channel: text,
  /** `sending` = not delivered yet, and tried again at `nextAt`. */
  state: z.enum(['sending', 'delivered', 'given_up']),
  attempts: count,
  nextAt: time.nullable(),
  deliveredAt: time.nullable(),
  /** Why the last attempt failed; empty = it did not. */
  problem: text,
})

export const notificationSchema = z.strictObject({
  id: text,
  kind: z.enum(notificationKinds),
  severity: z.enum(notificationSeverities),
  goalId: text.nullable(),
  taskId: text.nullable(),
  escalationId: text.nullable(),
  title: text,
  dueAt: time,
  /** When its channels were chosen; null = not yet. */
  handedOverAt: time.nullable(),
  /** Empty = it is sent over no channel. */
  deliveries: z.array(delivery),
})
export type NotificationJson = z.infer<typeof notificationSchema>

/** A channel over which notifications could not be delivered. */
export const undelivered = z.strictObject({ channel: text, waiting: count, givenUp: count, problem: text })

/** A delivery that was given up and is sent again. */
export const retriedDelivery = z.strictObject({ notificationId: text, channel: text })
export type RetriedDeliveryJson = z.infer<typeof retriedDelivery>
