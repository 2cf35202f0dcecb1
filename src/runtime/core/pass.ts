/** A pass of the engine looks at many things one after the other: what fails about one of them must not keep it from the rest. */
import { isStoreTrouble } from '../../store/db.ts'
import { LeadLostError } from '../../store/leader.ts'
import type { Context } from './context.ts'

/** Says nothing about the one thing that was looked at: the whole pass is void. */
export const endsPass = ({ stopping }: Pick<Context, 'stopping'>, error: unknown): boolean =>
  stopping.aborted || isStoreTrouble(error) || error instanceof LeadLostError
