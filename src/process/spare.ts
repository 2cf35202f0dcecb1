/**
 * A shim started ahead: most of what a launch costs is the start of the shim's own process, and this one has it behind it
 * when it is needed. It waits for its order at its standard input and ends when that closes, so it does not outlive
 * an engine that was killed.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ShimOrder } from './contract.ts'

/** After a launch, whose last steps need the processor first. A refused agent is launched again a moment later. */
const refillMs = 25

/** TypeScript in a checkout, JavaScript when built. */
const extension = extname(import.meta.url)
const besideThis = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** In a checkout most of the shim's start is stripping types; the cache saves it. It holds code, so never in a shared folder. */
const cache = (): Record<string, string> =>
  extension === '.ts' ? { NODE_COMPILE_CACHE: besideThis('../../node_modules/.cache/unstuck-shim') } : {}

/** `log`: file for its last words before it has a launch folder to leave them in; absent = a spare, which says when it is ready. */
export const spawnShim = (log?: string): ChildProcess => {
  const words = log === undefined ? 'ignore' : openSync(log, 'a', 0o600)
  try {
    const shim = besideThis(`./shim${extension}`)
    const child = spawn(process.execPath, log === undefined ? [shim, '--spare'] : [shim], {
      cwd: '/',
      detached: true,
      env: { TMPDIR: tmpdir(), ...cache() },
      stdio: ['pipe', log === undefined ? 'pipe' : words, words],
    })
    // One that has ended is seen by its exit.
    child.stdin?.on('error', () => {})
    child.on('error', () => {})
    return child
  } finally {
    if (words !== 'ignore') closeSync(words)
  }
}

export const giveOrder = (child: ChildProcess, order: ShimOrder): void =>
  void child.stdin?.end(`${JSON.stringify(order)}\n`)

let keeping = false
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
  // Neither it nor its pipes keep a process that is done.
  child.unref()
  for (const pipe of [child.stdin, child.stdout]) if (pipe instanceof Socket) pipe.unref()
  const forget = (): void => {
    if (spare === mine) spare = undefined
  }
  child.once('exit', forget)
  child.once('error', forget)
}

/** Has one ready from now on, or not any more. */
export const keepSpare = (keep: boolean): void => {
  keeping = keep
  clearTimeout(refill)
  if (keep && spare === undefined) start()
  if (keep) return
  spare?.child.stdin?.end()
  spare = undefined
}

/** Its pid, once it waits for nothing but its order. */
export const readySpare = (): number | undefined => (spare?.ready === true ? spare.child.pid : undefined)

/** The spare, if one is ready; the next is started a little later. */
export const takeSpare = (): ChildProcess | undefined => {
  if (spare?.ready !== true) return undefined
  const { child } = spare
  spare = undefined
  if (keeping) {
    clearTimeout(refill)
    refill = setTimeout(() => keepSpare(keeping), refillMs).unref()
  }
  return child
}
