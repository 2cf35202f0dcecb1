/**
 * Plays the user: starts the public CLI, hands on what it prints, kills its engine once, and in the end sees to it that no
 * process of the demo is left. Only processes that carry the demo's own mark are ever signalled.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { livenessOf, processesWithEnvironment, type ProcessIdentity } from '../../platform/process.ts'
import { placeOf } from '../engine/place.ts'
import type { Io } from '../io.ts'
import type { Seen } from './observe.ts'
import { markName, type Scene } from './scene.ts'

const pollMs = 50

interface Ended {
  code: number | null
  stderr: string
}

/** Starts `unstuck <args>` and calls `see` with each JSON line. An abort ends it. */
export const callCli = (
  io: Io,
  scene: Scene,
  call: { cwd: string; args: string[]; signal: AbortSignal; see?: (line: Seen) => void },
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
      if (text.startsWith('{')) call.see?.(JSON.parse(text) as Seen)
    })
    child.once('error', reject)
    child.once('close', (code) => {
      call.signal.removeEventListener('abort', stop)
      resolve({ code, stderr })
    })
    call.signal.addEventListener('abort', stop, { once: true })
    if (call.signal.aborted) stop()
  })

/** Waits for a file that an agent makes; false = aborted before. */
export const waitForFile = async (path: string, signal: AbortSignal): Promise<boolean> => {
  while (!existsSync(path)) {
    if (signal.aborted) return false
    await delay(pollMs)
  }
  return true
}

/** `kill -9` of the engine process alone (its parent `up` lives on); gives its pid, or undefined when there was none. */
export const killEngine = async (io: Io, scene: Scene): Promise<number | undefined> => {
  const { stateDir } = await placeOf({ ...io, cwd: scene.repository, environment: scene.environment })
  const { identity } = JSON.parse(readFileSync(join(stateDir, 'engine.json'), 'utf8')) as { identity: ProcessIdentity }
  if (livenessOf(identity) !== 'alive') return undefined
  process.kill(identity.pid, 'SIGKILL')
  return identity.pid
}

const marked = (scene: Scene): number[] => processesWithEnvironment(markName, scene.root)

const signalAll = (scene: Scene, signal: NodeJS.Signals): void => {
  for (const pid of marked(scene)) {
    try {
      process.kill(pid, signal)
    } catch {
      // it ended between the look and the signal
    }
  }
}

/** Signals again and again where asked to: a process may be born between the look and the signal. */
const goneWithin = async (scene: Scene, ms: number, signal?: NodeJS.Signals): Promise<boolean> => {
  const deadline = performance.now() + ms
  while (marked(scene).length > 0) {
    if (performance.now() > deadline) return false
    if (signal !== undefined) signalAll(scene, signal)
    await delay(signal === 'SIGTERM' ? 10 * pollMs : pollMs)
  }
  return true
}

/** Ends what is left, in order first; gives how many processes had to be ended by a signal. */
export const endAll = async (scene: Scene): Promise<number> => {
  if (await goneWithin(scene, 0)) return 0
  const left = marked(scene).length
  if (!(await goneWithin(scene, 10_000, 'SIGTERM'))) await goneWithin(scene, 10_000, 'SIGKILL')
  return left
}

/** `unstuck stop` in both places, then some time to leave; gives the number of processes that did not. */
export const stopEngines = async (io: Io, scene: Scene, graceMs: number): Promise<number> => {
  const signal = AbortSignal.timeout(30_000)
  const calls = [scene.repository, scene.folder].map((cwd) => callCli(io, scene, { cwd, args: ['stop'], signal }))
  await Promise.allSettled(calls) // an engine that cannot be stopped in order is among those left
  if (await goneWithin(scene, graceMs)) return 0
  return endAll(scene)
}
