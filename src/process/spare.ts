/**
 * A spare shim, started in advance, because most of a launch's cost is the start of the shim's own process. It waits for its order
 * on standard input and ends when that closes, so it does not outlive a killed engine.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ShimOrder } from './shim-protocol.ts'

/** Delay after a launch, whose last steps need the processor first. It is short because a refused agent is relaunched soon. */
const refillMs = 25

/** TypeScript in a checkout, JavaScript when built. */
const extension = extname(import.meta.url)
const besideThis = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** In a checkout most of the shim's start is stripping types, which the cache avoids. The cache holds code, so it is never in a shared folder. */
const cache = (): Record<string, string> =>
  extension === '.ts' ? { NODE_COMPILE_CACHE: besideThis('../../node_modules/.cache/unstuck-shim') } : {}

/** `log`: file for errors before the shim has read its order. Absent = a spare, which prints a line when it is ready. */
export const spawnShim = (log?: string): ChildProcess => {
  const errors = log === undefined ? 'ignore' : openSync(log, 'a', 0o600)
  try {
    const shim = besideThis(`./shim${extension}`)
    const child = spawn(process.execPath, log === undefined ? [shim, '--spare'] : [shim], {
      cwd: '/',
      detached: true,
      env: { TMPDIR: tmpdir(), ...cache() },
      stdio: ['pipe', log === undefined ? 'pipe' : errors, errors],
    })
    // A shim that has ended is noticed by its exit event.
    child.stdin?.on('error', () => {})
    child.on('error', () => {})
    return child
  } finally {
    if (errors !== 'ignore') closeSync(errors)
  }
}

export const sendOrder = (child: ChildProcess, order: ShimOrder): void =>
  void child.stdin?.end(`${JSON.stringify(order)}\n`)

/** How many engines of this process want one. They share it: an engine that ends must not take it from the others. */
let wanting = 0
let spare: { child: ChildProcess; ready: boolean } | undefined
let refill: NodeJS.Timeout | undefined

const start = (): void => {
  const child = spawnShim()
  const mine = { child, ready: false }
  spare = mine
  child.stdout?.once('data', () => {
    mine.ready = true
    child.stdout?.destroy()
  })
  // Neither the spare nor its pipes may keep this process from exiting.
  child.unref()
  for (const pipe of [child.stdin, child.stdout]) if (pipe instanceof Socket) pipe.unref()
  const forget = (): void => {
    if (spare === mine) spare = undefined
  }
  child.once('exit', forget)
  child.once('error', forget)
}

/** One more engine wants a spare to be ready, or one less. With the last one, the spare ends. */
export const keepSpare = (keep: boolean): void => {
  wanting = Math.max(0, wanting + (keep ? 1 : -1))
  clearTimeout(refill)
  if (wanting > 0) {
    if (spare === undefined) start()
    return
  }
  spare?.child.stdin?.end()
  spare = undefined
}

/** The spare's pid, once it is ready for its order. */
export const readySpare = (): number | undefined => (spare?.ready === true ? spare.child.pid : undefined)

/** Takes the spare, if it is ready; the next spare is started a little later. */
export const takeSpare = (): ChildProcess | undefined => {
  if (spare?.ready !== true) return undefined
  const { child } = spare
  spare = undefined
  if (wanting > 0) {
    clearTimeout(refill)
    refill = setTimeout(() => spare ?? start(), refillMs).unref()
  }
  return child
}
