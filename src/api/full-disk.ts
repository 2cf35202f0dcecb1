/** What a person is told when the disk of the state folders is full: where, and which run uses most of it. */
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { AppError } from '../errors.ts'
import { giveUpReserve, isDiskFull } from '../platform/disk-reserve.ts'
import { diskUsageOf } from '../workspace/disk-usage.ts'

const megabyte = 1024 * 1024

/** The folder of a run that uses most of the disk. Undefined = there is no run. */
export const largestRun = async (stateDir: string): Promise<{ run: string; megabytes: number } | undefined> => {
  const folder = join(stateDir, 'runs')
  let largest: { run: string; megabytes: number } | undefined
  for (const run of readdirSync(folder)) {
    const megabytes = Math.round((await diskUsageOf(join(folder, run))) / megabyte)
    if (largest === undefined || megabytes > largest.megabytes) largest = { run, megabytes }
  }
  return largest
}

/** Gives up the reserve of a full disk. Throws ENGINE_UNAVAILABLE where that brings no room, because nothing could be written. */
export const requireRoom = async (stateDir: string): Promise<void> => {
  const home = dirname(stateDir)
  giveUpReserve(home)
  if (!isDiskFull(home)) return
  const largest = await largestRun(stateDir).catch(() => undefined)
  const of =
    largest === undefined
      ? ''
      : `; the largest run there is ${join(stateDir, 'runs', largest.run)} (${largest.megabytes} MB)`
  throw new AppError('ENGINE_UNAVAILABLE', `the disk of ${home} is full${of}. Free some space on it, then try again`)
}
