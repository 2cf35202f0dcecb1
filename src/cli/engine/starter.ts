/**
 * The process that starts an engine and restarts it after a crash. It records itself in the state folder, so that `stop` also ends it
 * where no engine answers: between two engines, while one starts, or while a full disk allows none. Removing the record is the request
 * to stop, because that needs no room on the disk and no right to send signals.
 */
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { replaceStateFile } from '../../api/state-dir.ts'
import { identityOf, livenessOf, type ProcessIdentity } from '../../platform/process.ts'
import { readRegularTextSync } from '../../platform/regular-file.ts'

const recordName = /^starter-\d+\.json$/
const lookEveryMs = 500

/** The signal aborts when `stopped` does, or when `stop` removed the record. `end` removes the record. */
export const recordStarter = (stateDir: string, stopped: AbortSignal): { signal: AbortSignal; end: () => void } => {
  const name = `starter-${process.pid}.json`
  const path = join(stateDir, name)
  for (const record of recordsIn(stateDir)) if (starterIn(record) === undefined) rmSync(record, { force: true })
  replaceStateFile(stateDir, name, JSON.stringify(identityOf(process.pid)))
  const asked = new AbortController()
  const timer = setInterval(() => {
    if (existsSync(path)) return
    clearInterval(timer)
    asked.abort()
  }, lookEveryMs).unref()
  const end = (): void => {
    clearInterval(timer)
    rmSync(path, { force: true })
  }
  return { signal: AbortSignal.any([stopped, asked.signal]), end }
}

/** Undefined = it has ended, perhaps by a crash. */
const starterIn = (path: string): ProcessIdentity | undefined => {
  try {
    const identity = JSON.parse(readRegularTextSync(path)) as ProcessIdentity
    return livenessOf(identity) === 'alive' ? identity : undefined
  } catch {
    return undefined // removed meanwhile, or damaged: its process takes the removal as a request all the same
  }
}

const recordsIn = (stateDir: string): string[] =>
  // `stop --all` also asks of what else lies in the folder of all states.
  statSync(stateDir, { throwIfNoEntry: false })?.isDirectory() === true
    ? readdirSync(stateDir)
        .filter((name) => recordName.test(name))
        .map((name) => join(stateDir, name))
    : []

export const hasStarter = (stateDir: string): boolean => recordsIn(stateDir).length > 0

/** Whether a process is there that starts an engine, or starts it again after a crash. */
export const isStarting = (stateDir: string): boolean =>
  recordsIn(stateDir).some((path) => starterIn(path) !== undefined)

/** Asks all starters of this state folder to stop; those that are alive, so that the caller can wait for their end. */
export const stopStarters = (stateDir: string): ProcessIdentity[] =>
  recordsIn(stateDir).flatMap((path) => {
    const starter = starterIn(path)
    rmSync(path, { force: true })
    return starter === undefined ? [] : [starter]
  })
