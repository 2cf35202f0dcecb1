/** Ends a turn that the CLI does not end itself: it lingers after its final event, or it retries with a key that the provider refuses. */
import type { Transcript } from '../../harness/driver.ts'
import { keepsRetryingKey } from '../../harness/transcript.ts'
import type { Clock } from '../core/context.ts'

export interface TurnWatch {
  /** After each line that was read. */
  onLine(reading: Transcript): void
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
    onLine(reading) {
      if (!refused && keepsRetryingKey(reading)) {
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
