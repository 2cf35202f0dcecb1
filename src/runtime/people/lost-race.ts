/**
 * A person's command and the engine change the same task at the same moment. A command that lost such a race is decided again on the
 * new state; what it means there (carried out, or refused with advice) is for the command to say, not for the person to find out.
 */
import { AppError } from '../../errors.ts'
import type { MoveResult, Queryable } from '../../store/db.ts'
import type { Context } from '../core/context.ts'

/** What the command has read is outdated. Anything else that is `STALE` (a question is decided already) stays so at another try. */
export class LostRaceError extends AppError {
  constructor(message: string) {
    super('STALE', message)
  }
}

export const movedOrThrow = <T>(moved: MoveResult<T>): T => {
  if (moved.ok) return moved.value
  throw moved.code === 'stale' ? new LostRaceError(moved.message) : new AppError('ILLEGAL', moved.message)
}

/** Each loss is one step of the engine, and few steps can follow each other while a command runs. */
const mostTries = 5

/** `command` reads everything that it decides on, and stores nothing before it throws `LostRaceError`. */
export const decidedAgain = async <T>(command: () => Promise<T>): Promise<T> => {
  for (let tries = 1; ; tries += 1)
    try {
      return await command()
    } catch (error) {
      if (!(error instanceof LostRaceError) || tries === mostTries) throw error
    }
}

/** A command whose reads and writes are all in one transaction. */
export const commandTransaction = <T>(context: Context, work: (tx: Queryable) => Promise<T>): Promise<T> =>
  decidedAgain(() => context.db.transaction(work))
