/** One pass of the jobs that send notifications, as an engine starts them beside its loop. */
import { channelNames } from '../../src/domain/notification.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { handOverDue, sendDue } from '../../src/runtime/engine/send-notifications.ts'

export const sendNotifications = async (context: Context): Promise<void> => {
  await handOverDue(context)
  await Promise.all(channelNames.map((name) => sendDue(context, name)))
}
