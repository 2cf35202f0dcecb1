/** Ends a turn that the CLI does not end itself: it lingers after its final event, or it retries with a key that the provider refuses. */
import type { Reading } from '../../harness/driver.ts'
import { insistsOnKey } from '../../harness/reading.ts'
import type { Clock } from '../core/context.ts'

export interface TurnWatch {
  /** After each line that was read. */
  heard(reading: Reading): void
  end(): void
}

export const watchTurn = (
  clock: Pick<Clock, 'after'>,
  lingerSeconds: () => number,
  stop: (cause: 'lingering' | 'correction') => void,
): TurnWatch => {
  let endLinger: (() => void) | undefined
  let refused = false
  return {
    heard(reading) {
      if (!refused && insistsOnKey(reading)) {
        refused = true
        stop('correction')
      }
      if (reading.final !== undefined) endLinger ??= clock.after(lingerSeconds() * 1000, () => stop('lingering'))
      else {
        // The final event was not final: the CLI continued after compacting its conversation.
        endLinger?.()
        endLinger = undefined
      }
    },
    end: () => endLinger?.(),
  }
}
