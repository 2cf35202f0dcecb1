/** All statements on the buttons of notifications. */
import type { Notification } from '../domain/notification.ts'
import { fromRow, json, firstRow, sql, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'

export interface NewButton {
  tokenHash: string
  choice: string
}

/**
 * Stores the buttons of one attempt. Those of earlier attempts stay valid: a message may have arrived although the attempt failed,
 * and the question is decided once by whichever is pressed.
 */
export const storeButtons = async (
  tx: Queryable,
  { id, escalationId }: Pick<Notification, 'id' | 'escalationId'>,
  buttons: readonly NewButton[],
  hours: number,
): Promise<void> => {
  for (const { tokenHash, choice } of buttons)
    await tx.query(sql`insert into notification_button (token_hash, notification_id, escalation_id, choice, expires_at)
      values (${tokenHash}, ${id}, ${escalationId}, ${choice}, unstuck_now() + make_interval(hours => ${hours}::int))`)
}

const openButton = sql`select 1 from notification_button b join escalation e on e.id = b.escalation_id
  where b.used_at is null and b.expires_at > unstuck_now() and e.state = 'pending' limit 1`

/** Whether a press of a button could still answer something. */
export const hasOpenButtons = async (db: Queryable): Promise<boolean> => (await firstRow(db, openButton)) !== undefined

export interface PressedButton extends Pick<Notification, 'goalId' | 'taskId' | 'runId'> {
  tokenHash: string
  escalationId: string
  choice: string
}

/** The buttons with these tokens that are unused and in time. */
export const unusedButtons = async (db: Queryable, tokenHashes: readonly string[]): Promise<PressedButton[]> =>
  tokenHashes.length === 0
    ? []
    : (
        await db.query<object>(sql`select b.token_hash, b.escalation_id, b.choice, n.goal_id, n.task_id, n.run_id
          from notification_button b join notification n on n.id = b.notification_id
          where b.used_at is null and b.expires_at > unstuck_now()
            and b.token_hash in (select jsonb_array_elements_text(${json(tokenHashes)}::jsonb)) order by n.created_at, n.id`)
      ).map((row) => fromRow<PressedButton>(row))

/** A token is used once. `refused`: why the press answered nothing; '' = it answered the question. */
export const useButton = async (tx: Queryable, button: PressedButton, refused: string): Promise<void> => {
  const { tokenHash, escalationId, choice, goalId, taskId, runId } = button
  const used = await firstRow(
    tx,
    sql`update notification_button set used_at = unstuck_now() where token_hash = ${tokenHash} and used_at is null returning 1`,
  )
  if (used === undefined) return
  await appendEvent(tx, {
    type: 'notification.button_pressed',
    ...{ goalId, taskId, runId },
    payload: { escalation: escalationId, choice, refused },
  })
}
