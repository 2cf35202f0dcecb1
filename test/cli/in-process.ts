/**
 * The command line in the test's own process: what it prints and its exit status, without the start of a program, which costs a
 * quarter of a second of processor time. A suite that uses it starts the real program for one case of each kind.
 */
import { fileURLToPath } from 'node:url'
import type { Io } from '../../src/cli/io.ts'
import { runCommandLine } from '../../src/cli/run-command-line.ts'

export interface Ended {
  exitCode: number
  stdout: string
  stderr: string
}

export const runHere = async (
  args: string[],
  { cwd, environment }: { cwd: string; environment: Record<string, string | undefined> },
): Promise<Ended> => {
  const printed = { stdout: '', stderr: '' }
  const io: Io = {
    ...{ cwd, environment, colours: false, json: args.includes('--json'), version: '0.0.0' },
    out: (text) => void (printed.stdout += text),
    error: (text) => void (printed.stderr += text),
    signal: new AbortController().signal,
    self: [process.execPath, fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))],
  }
  const exitCode = await runCommandLine(args, io, (status) => {
    throw new Error(`ended by a signal, with status ${status}`)
  })
  return { exitCode, ...printed }
}
