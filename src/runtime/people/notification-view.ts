/** Notifications as people see them: what was sent, and the state of each delivery. */
import type { Delivery } from '../../domain/notification.ts'
import { listNotifications } from '../../store/notification.ts'
import type { Queryable } from '../../store/db.ts'

const deliveryView = ({ channel, attempts, nextAt, deliveredAt, givenUpAt, problem }: Delivery) => {
  const open = deliveredAt === null && givenUpAt === null
  const state = open ? ('sending' as const) : deliveredAt === null ? ('given_up' as const) : ('delivered' as const)
  return { channel, state, attempts, nextAt: open ? nextAt : null, deliveredAt, problem }
}

/** The newest first. */
export const notificationsView = async (db: Queryable, limit: number) =>
  (await listNotifications(db, limit)).map(
    ({ id, kind, severity, goalId, taskId, escalationId, data, dueAt, handedOverAt, deliveries }) => ({
      ...{ id, kind, severity, goalId, taskId, escalationId, title: data.title, dueAt, handedOverAt },
      deliveries: deliveries.map(deliveryView),
    }),
  )
