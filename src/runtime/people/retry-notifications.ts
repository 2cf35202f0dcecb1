/** Sends notifications again that were given up, when a person has repaired their channel. */
import { configuredChannels } from '../../domain/notification.ts'
import { AppError } from '../../errors.ts'
import { notificationExists, retryDeliveries, type RetriedDelivery } from '../../store/notification.ts'
import type { Context } from '../core/context.ts'

/** `id`: of this notification only; null = everything that still helps. An empty list = nothing was given up. */
export const retryNotifications = async (context: Context, id: string | null): Promise<RetriedDelivery[]> => {
  const { db } = context
  if (id !== null && !(await notificationExists(db, id)))
    throw new AppError('NOT_FOUND', `there is no notification ${id}; "unstuck notify list" shows their ids`)
  const channels = configuredChannels(context.config())
  const retried = await db.transaction((tx) => retryDeliveries(tx, { id, channels }))
  context.wake()
  return retried
}
