/** Watches the disk that holds the state folders. When it fills up, deletes the reserve and records an event for the owner. */
import { messageOf } from '../errors.ts'
import { giveUpReserve, keepReserve, livesOnReserve } from '../platform/disk-reserve.ts'
import type { Context } from '../runtime/core/context.ts'
import { appendEvent } from '../store/event.ts'
import { largestRun } from './full-disk.ts'
import { unstuckHome } from './state-dir.ts'
import { defined } from '../domain/defined.ts'

const everyMs = 2_000

/** Once for each time that the disk fills up. */
const tellOfFullDisk = async ({ db, log, stateDir }: Context, home: string): Promise<void> => {
  const largest = await largestRun(stateDir).catch(() => undefined)
  const payload = { folder: home, ...defined({ largest }) }
  log.error(payload, 'the disk is full; Unstuck lives on its reserve')
  await appendEvent(db, { type: 'disk.full', payload })
}

export const watchDisk = async (context: Context): Promise<void> => {
  const { clock, environment, log, stopping } = context
  const home = unstuckHome(environment)
  let isTold = false
  let mayKeep = true
  while (!stopping.aborted) {
    // First, because the start of an engine has other things to do.
    await clock.wait(everyMs, stopping)
    if (stopping.aborted) return
    try {
      giveUpReserve(home)
      const isFull = livesOnReserve(home)
      if (isFull && !isTold) await tellOfFullDisk(context, home)
      isTold = isFull
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'the full disk could not be reported')
    }
    try {
      if (mayKeep) keepReserve(home)
    } catch (error) {
      // As under a quota, where each attempt would use what is left of it.
      mayKeep = false
      log.warn({ error: messageOf(error) }, 'no room could be set aside on the disk')
    }
  }
}
