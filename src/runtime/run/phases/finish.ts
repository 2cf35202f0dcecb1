/** Phase `finish`: everything is there, so the run is a success. */
import { endSucceeded } from '../endings.ts'
import type { Phase } from '../phase.ts'

export const finish: Phase = async (session) => {
  await endSucceeded(session)
  return 'ended'
}
