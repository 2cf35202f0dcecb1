/** A launch folder for tests: starts shims with short times, keeps them alive while asked, and leaves nothing behind. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { LaunchExit, LaunchSpec, Shim } from '../../src/process/shim-protocol.ts'
import { startShim, waitForExit } from '../../src/process/shim-client.ts'
import { sweep } from '../../src/process/sweep.ts'
import { readSegments } from '../../src/process/tail.ts'
import { startTimeOf } from '../../src/platform/process.ts'

export const fixture = (name: string): string => fileURLToPath(new URL(`../fixture/process/${name}`, import.meta.url))
export const nodeProgram = (name: string, ...args: string[]): string[] => [process.execPath, fixture(name), ...args]
/** A fault agent of the simulation. */
export const faultAgent = (name: string, ...args: string[]): string[] => [
  process.execPath,
  fileURLToPath(new URL(`../../sim/agents/${name}.ts`, import.meta.url)),
  ...args,
]
export const shell = (script: string): string[] => ['/bin/sh', '-c', script]
export const baseEnvironment = { PATH: process.env.PATH ?? '' }
export const isGone = (pid: number): boolean => startTimeOf(pid) === undefined

export const until = async <T>(what: string, look: () => T | undefined | false, deadlineMs = 60_000): Promise<T> => {
  const deadline = performance.now() + deadlineMs
  for (;;) {
    const found = look()
    if (found !== undefined && found !== false) return found
    if (performance.now() > deadline) throw new Error(`not within ${deadlineMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

export interface Bench {
  root: string
  folder(): string
  spec(argv: string[], changes?: Partial<LaunchSpec>): LaunchSpec
  start(argv: string[], changes?: Partial<LaunchSpec>, environment?: Record<string, string>): Promise<Shim>
  clear(): Promise<void>
}

export const createBench = (): Bench => {
  const root = mkdtempSync(join(tmpdir(), 'unstuck-process-'))
  const markers: string[] = []
  const folder = (): string => join(root, `launch-${markers.length}`)
  const spec = (argv: string[], changes: Partial<LaunchSpec> = {}): LaunchSpec => {
    const marker = `${root.slice(-6)}-${markers.length + 1}`
    markers.push(marker)
    const times = { limitMs: 120_000, keepAliveMs: 120_000, graceMs: 20_000 }
    return {
      marker,
      argv,
      cwd: root,
      stdinFile: null,
      lineMaxBytes: 1 << 20,
      logMaxBytes: 64 << 20,
      ...times,
      ...changes,
    }
  }
  return {
    root,
    folder,
    spec,
    start(argv, changes, environment = {}) {
      const given = spec(argv, changes)
      return startShim(folder(), given, { ...baseEnvironment, ...environment })
    },
    async clear() {
      await Promise.all(markers.map((marker) => sweep(marker, { graceMs: 0 })))
      rmSync(root, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

export const exitOf = async (dir: string, deadlineMs = 60_000): Promise<LaunchExit> => {
  const state = await waitForExit(dir, { deadlineMs })
  if (state.state !== 'ended') throw new Error(`the launch in ${dir} is ${state.state}, not ended`)
  return state.exit
}

export const allLines = (
  dir: string,
  stream: 'stdout' | 'stderr' = 'stdout',
): { lines: string[]; gapBytes: number } => {
  const lines: string[] = []
  let gapBytes = 0
  for (let offset = 0; ;) {
    const part = readSegments(dir, stream, offset)
    if (part.lines.length === 0) return { lines, gapBytes }
    for (const line of part.lines) lines.push(line)
    gapBytes += part.gapBytes
    offset = part.nextOffset
  }
}
