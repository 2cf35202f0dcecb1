/**
 * The engine's side of a launch: start the shim, open its gate, keep it alive, request its stop, and read its state. No state is
 * held in memory: after a restart every function needs only the folder. A process is signalled only if its recorded
 * identity is still alive.
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { readRegularTextSync } from '../platform/regular-file.ts'
import { AppError, messageOf } from '../errors.ts'
import { processDiagnostics, type Diagnostic } from '../platform/diagnostics.ts'
import { livenessOf, type ProcessIdentity } from '../platform/process.ts'
import type { ExitRecord, LaunchSpec, LaunchState, Shim, StopCause } from './shim-protocol.ts'
import { launchName, markerName } from './find.ts'
import { launchFilePath, readRecord, shimName, writeFirstRecord } from './folder.ts'
import { sendOrder, spawnShim, takeSpare } from './spare.ts'
import { createFolderWatch } from './folder-watch.ts'

const identityDeadlineMs = 15_000
/** A spare shim is already running, so one that does not report within this time was stopped or is stuck. */
const spareDeadlineMs = 2_000
const identityPollMs = 5
const livenessEveryMs = 500
/** Node's timers take no longer delay than this; beyond it they fire at once. */
const longestTimerMs = 2 ** 31 - 1

const invalid = (field: string, wants: string): AppError =>
  new AppError('INPUT_INVALID', `launch: ${field} must be ${wants}`)

const checkedMs = (field: string, value: number, least: number): number => {
  if (typeof value !== 'number' || Number.isNaN(value) || value < least)
    throw invalid(field, `a number of at least ${least}`)
  return Math.min(Math.ceil(value), longestTimerMs)
}

const checkedBytes = (field: string, value: number): number => {
  if (!Number.isSafeInteger(value) || value < 1) throw invalid(field, 'a whole number of at least 1')
  return value
}

const isPlain = (text: unknown): text is string => typeof text === 'string' && !text.includes('\0')

const checkedSpec = (spec: LaunchSpec): LaunchSpec => {
  if (!/^[\w.:@-]{1,200}$/.test(spec.marker)) throw invalid('marker', '1 to 200 letters, digits or any of _ . : @ -')
  if (spec.argv.length === 0 || spec.argv[0] === '') throw invalid('argv', 'a program and its arguments')
  if (!spec.argv.every(isPlain)) throw invalid('argv', 'text without NUL characters')
  if (!isPlain(spec.cwd) || !isAbsolute(spec.cwd)) throw invalid('cwd', 'an absolute path')
  if (spec.stdinFile !== null && !isAbsolute(spec.stdinFile)) throw invalid('stdinFile', 'an absolute path or null')
  return {
    ...spec,
    limitMs: checkedMs('limitMs', spec.limitMs, 1),
    keepAliveMs: checkedMs('keepAliveMs', spec.keepAliveMs, 1),
    graceMs: checkedMs('graceMs', spec.graceMs, 0),
    lineMaxBytes: checkedBytes('lineMaxBytes', spec.lineMaxBytes),
    logMaxBytes: checkedBytes('logMaxBytes', spec.logMaxBytes),
  }
}

const makeFolder = (dir: string, spec: LaunchSpec): void => {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    if (!writeFirstRecord(dir, 'spec.json', spec)) {
      throw new AppError(
        'SPAWN_FAILED',
        `the launch folder ${dir} was used before; every launch needs a folder of its own`,
      )
    }
  } catch (error) {
    if (error instanceof AppError) throw error
    throw new AppError('SPAWN_FAILED', `the launch folder ${dir} cannot be prepared: ${messageOf(error)}`, {
      cause: error,
    })
  }
}

const lastWords = (dir: string): string => {
  try {
    return readRegularTextSync(launchFilePath(dir, 'shim.log')).trim().slice(-500)
  } catch {
    return '' // no log, so there is nothing to add to the message
  }
}

const awaitIdentity = async (dir: string, child: ChildProcess, deadlineMs: number): Promise<ProcessIdentity> => {
  let fault = ''
  child.once('error', (error) => (fault = error.message))
  child.once('exit', (code, signal) => (fault = `it ended with ${signal ?? `exit code ${code}`}`))
  const deadline = performance.now() + deadlineMs
  while (fault === '' && performance.now() < deadline) {
    const identity = readRecord<ProcessIdentity>(dir, 'identity.json')
    if (identity !== undefined) return identity
    await new Promise((resolve) => setTimeout(resolve, identityPollMs))
  }
  // The shim of an earlier engine may have claimed this folder first; then that shim waits at the gate.
  const first = readRecord<ProcessIdentity>(dir, 'identity.json')
  if (first !== undefined && livenessOf(first) === 'alive') return first
  child.kill('SIGKILL')
  const why = fault === '' ? `it did not report within ${deadlineMs} ms` : fault
  throw new AppError('SPAWN_FAILED', `the shim in ${dir} could not be started: ${why}. ${lastWords(dir)}`.trim())
}

/** Not the arguments of the program: a prompt is one. */
const report = (message: string, fields: Diagnostic['fields']): void => {
  if (processDiagnostics.hasSubscribers) processDiagnostics.publish({ message, fields } satisfies Diagnostic)
}

const reportEnd = (dir: string): void => {
  if (!processDiagnostics.hasSubscribers) return
  const ended = launchState(dir)
  report('a launch is over', { dir, state: ended.state, ...(ended.state === 'ended' ? { exit: ended.exit } : {}) })
}

/** Starts a shim that waits at its gate. `environment` becomes the program's, so pass an allow-listed one. Throws SPAWN_FAILED. */
export const startShim = async (dir: string, spec: LaunchSpec, environment: Record<string, string>): Promise<Shim> => {
  makeFolder(dir, checkedSpec(spec))
  // With the markers of an outer Unstuck, processes of that one would count as members of this tree.
  const { [markerName]: _run, [launchName]: _launch, ...own } = environment
  const begin = async (child: ChildProcess, deadlineMs: number): Promise<Shim> => {
    sendOrder(child, { dir, environment: own })
    const identity = await awaitIdentity(dir, child, deadlineMs)
    child.unref()
    report('a shim started', { dir, pid: identity.pid, program: spec.argv[0], cwd: spec.cwd, spare: child === spare })
    return { dir, identity }
  }
  const spare = takeSpare()
  try {
    if (spare !== undefined) return await begin(spare, spareDeadlineMs)
  } catch {
    // The spare ended or was stopped while it waited. The gate is closed, so nothing runs yet, and a new shim takes the folder.
    if (spare?.exitCode === null && spare.signalCode === null)
      await once(spare, 'exit', { signal: AbortSignal.timeout(spareDeadlineMs) }).catch(() => {})
    rmSync(launchFilePath(dir, 'identity.json'), { force: true })
  }
  return begin(spawnShim(launchFilePath(dir, 'shim.log')), identityDeadlineMs)
}

/** Lets the program start. Call it only after the shim's identity is committed. */
export const openGate = (dir: string): void => writeFileSync(launchFilePath(dir, 'gate'), '', { mode: 0o600 })

/** A shim that its own program stopped (SIGSTOP) would enforce no limit and write no exit record. A running shim ignores the signal. */
const resume = (shim: ProcessIdentity | undefined): void => {
  if (shim === undefined || livenessOf(shim) !== 'alive') return
  try {
    process.kill(shim.pid, 'SIGCONT')
  } catch {
    // It ended meanwhile.
  }
}

/**
 * Keeps the program running: without it the shim ends the program after `keepAliveMs`. False = the launch folder cannot be written.
 * Needs no free disk space after the first call. Never throws, because it is called from timers.
 */
export const touchKeepAlive = (dir: string): boolean => {
  const path = launchFilePath(dir, 'keepalive')
  resume(readRecord<ProcessIdentity>(dir, 'identity.json'))
  try {
    const at = new Date()
    if (existsSync(path)) utimesSync(path, at, at)
    else writeFileSync(path, '', { mode: 0o600 })
    return true
  } catch {
    return false // the folder is gone or belongs to another user
  }
}

/** Requests a stop and does not wait for it. The cause of the first request stays. */
export const requestStop = (shim: Shim, cause: StopCause): void => {
  const isFirst = writeFirstRecord(shim.dir, 'stop.json', { cause, at: new Date().toISOString() })
  if (isFirst) report('a stop was requested', { dir: shim.dir, cause })
  if (livenessOf(shim.identity) !== 'alive') return
  try {
    process.kill(shim.identity.pid, 'SIGTERM')
    resume(shim.identity)
  } catch {
    // It ended meanwhile. The signal only makes the shim read stop.json sooner.
  }
}

const endedState = (dir: string): LaunchState | undefined => {
  const record = readRecord<ExitRecord>(dir, 'exit.json')
  if (record === undefined) return undefined
  const { shim, ...exit } = record
  const owner = readRecord<ProcessIdentity>(dir, 'identity.json')
  // A shim that was ending while its folder was cleared may write its record into the folder of the next shim.
  const another = shim !== undefined && owner !== undefined && shim !== shimName(owner)
  return another ? undefined : { state: 'ended', exit }
}

/** State of a launch from its files and the shim's liveness. For a shim on another host only the files count. */
export const launchState = (dir: string): LaunchState => {
  const ended = endedState(dir)
  if (ended !== undefined) return ended
  const identity = readRecord<ProcessIdentity>(dir, 'identity.json')
  if (identity === undefined)
    return existsSync(launchFilePath(dir, 'spec.json')) ? { state: 'lost' } : { state: 'absent' }
  const shim: Shim = { dir, identity }
  // The shim may have written its exit record and exited since the first read.
  if (livenessOf(identity) === 'dead') return endedState(dir) ?? { state: 'lost', shim }
  return existsSync(launchFilePath(dir, 'gate')) ? { state: 'running', shim } : { state: 'at-gate', shim }
}

/** The incomplete last line, once it has not grown for a while; empty when there is none. */
export const unfinishedLine = (dir: string): string => readRecord<{ text?: string }>(dir, 'unfinished.json')?.text ?? ''

export const isLaunchOver = ({ state }: LaunchState): boolean =>
  state === 'ended' || state === 'lost' || state === 'absent'

/** Returns a check like `isOver(launchState(dir))` for frequent calls: it tests the shim's liveness only every 500 ms. */
export const createOverCheck = (dir: string): (() => boolean) => {
  let checkedAt = Number.NEGATIVE_INFINITY
  let wasOver = false
  const check = (): boolean => {
    if (existsSync(launchFilePath(dir, 'exit.json')) && endedState(dir) !== undefined) return true
    if (performance.now() - checkedAt < livenessEveryMs) return false
    checkedAt = performance.now()
    return isLaunchOver(launchState(dir))
  }
  return () => {
    const isOver = check()
    if (isOver && !wasOver) reportEnd(dir)
    wasOver = isOver
    return isOver
  }
}

/** Waits until the launch is over (ended, lost or absent), the deadline passes or the signal aborts, and returns the state then. */
export const waitForExit = async (
  dir: string,
  options: { signal?: AbortSignal; deadlineMs?: number } = {},
): Promise<LaunchState> => {
  const deadline = performance.now() + (options.deadlineMs ?? Number.POSITIVE_INFINITY)
  const over = createOverCheck(dir)
  const wake = createFolderWatch(dir, options.signal)
  try {
    while (!over() && performance.now() < deadline && options.signal?.aborted !== true) await wake.nextChange()
    return launchState(dir)
  } finally {
    wake.close()
  }
}
