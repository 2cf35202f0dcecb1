/** A pass of the engine handles many items in a row. An error of one item is logged, so that it does not block the others. */
import { isStoreTrouble } from '../../store/db.ts'
import { LeadershipLostError } from '../../store/leader.ts'
import type { Context } from './context.ts'

/** Whether an error ends the whole pass, because it is not about the item: shutdown, trouble of the store, lost leadership. */
export const endsPass = ({ stopping }: Pick<Context, 'stopping'>, error: unknown): boolean =>
  stopping.aborted || isStoreTrouble(error) || error instanceof LeadershipLostError
