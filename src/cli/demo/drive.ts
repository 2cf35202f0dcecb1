/**
 * Plays the user: starts the public CLI, passes on what it prints, kills its engine once, and finally makes sure that no
 * process of the demo is left. Only processes with the demo's own mark in their environment are ever signalled.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { livenessOf, processesWithEnvironment, type ProcessIdentity } from '../../platform/process.ts'
import { homeOf } from '../engine/home.ts'
import type { Io } from '../io.ts'
import type { Observation } from './observe.ts'
import type { DemoFolders, Stage } from './folders.ts'

const pollMs = 50

interface Ended {
  code: number | null
  stderr: string
}

/** Runs `unstuck <args>` and calls `onLine` with each JSON line. Aborting the signal ends the command. */
export const callCli = (
  io: Io,
  scene: Pick<Stage, 'environment'>,
  call: { cwd: string; args: string[]; signal: AbortSignal; onLine?: (line: Observation) => void },
): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const [program = '', ...first] = io.self
    const child = spawn(program, [...first, ...call.args], {
      cwd: call.cwd,
      env: scene.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const stop = (): void => void child.kill('SIGTERM')
    let stderr = ''
    child.stderr.on('data', (chunk: Buffer) => (stderr = `${stderr}${chunk.toString()}`.slice(-4_000)))
    createInterface({ input: child.stdout }).on('line', (text) => {
      if (text.startsWith('{')) call.onLine?.(JSON.parse(text) as Observation)
    })
    child.once('error', reject)
    child.once('close', (code) => {
      call.signal.removeEventListener('abort', stop)
      resolve({ code, stderr })
    })
    call.signal.addEventListener('abort', stop, { once: true })
    if (call.signal.aborted) stop()
  })

/** Waits for a file that an agent creates; false if the signal aborts first. */
export const waitForFile = async (path: string, signal: AbortSignal): Promise<boolean> => {
  while (!existsSync(path)) {
    if (signal.aborted) return false
    await delay(pollMs)
  }
  return true
}

/** Sends SIGKILL to the engine process, but not to its parent `up`. Returns its pid, or undefined if no engine was running. */
export const killEngine = async (io: Io, scene: DemoFolders): Promise<number | undefined> => {
  const { stateDir } = await homeOf({ ...io, cwd: scene.repository, environment: scene.environment })
  const { identity } = JSON.parse(readFileSync(join(stateDir, 'engine.json'), 'utf8')) as { identity: ProcessIdentity }
  if (livenessOf(identity) !== 'alive') return undefined
  process.kill(identity.pid, 'SIGKILL')
  return identity.pid
}

const marked = ({ mark }: Pick<Stage, 'mark'>): number[] => processesWithEnvironment(...mark)

const signalAll = (scene: Pick<Stage, 'mark'>, signal: NodeJS.Signals): void => {
  for (const pid of marked(scene)) {
    try {
      process.kill(pid, signal)
    } catch {
      // the process ended before the signal arrived
    }
  }
}

/** Waits until no marked process is left; false after `ms`. Repeats the signal, because a process may start another one meanwhile. */
const goneWithin = async (scene: Pick<Stage, 'mark'>, ms: number, signal?: NodeJS.Signals): Promise<boolean> => {
  const deadline = performance.now() + ms
  while (marked(scene).length > 0) {
    if (performance.now() > deadline) return false
    if (signal !== undefined) signalAll(scene, signal)
    await delay(signal === 'SIGTERM' ? 10 * pollMs : pollMs)
  }
  return true
}

/** Ends the remaining processes, with SIGTERM before SIGKILL. Returns how many processes needed a signal. */
export const endProcesses = async (scene: Pick<Stage, 'mark'>): Promise<number> => {
  if (await goneWithin(scene, 0)) return 0
  const left = marked(scene).length
  if (!(await goneWithin(scene, 10_000, 'SIGTERM'))) await goneWithin(scene, 10_000, 'SIGKILL')
  return left
}

/** Runs `unstuck stop` in each folder and waits `exitMs` for the processes. Returns how many had to be ended by a signal. */
export const stopEngines = async (io: Io, scene: Stage, exitMs: number): Promise<number> => {
  const signal = AbortSignal.timeout(30_000)
  const calls = scene.places.map((cwd) => callCli(io, scene, { cwd, args: ['stop'], signal }))
  await Promise.allSettled(calls) // an engine that does not stop is ended with the remaining processes
  if (await goneWithin(scene, exitMs)) return 0
  return endProcesses(scene)
}
