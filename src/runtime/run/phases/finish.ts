/** Phase `finish`: all work is stored, so the run succeeds. */
import { endSucceeded } from '../endings.ts'
import type { Phase } from '../phase.ts'

export const finish: Phase = async (runContext) => {
  await endSucceeded(runContext)
  return 'ended'
}
