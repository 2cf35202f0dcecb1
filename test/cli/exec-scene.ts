/** `unstuck exec` as a user has it: a program of ours that speaks like the real CLI stands in for it on the PATH. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import type { ExecEvent, ExecResult } from '../../src/exec/exec-events.ts'
import { faultAgent } from '../process/bench.ts'

const agents = join(import.meta.dirname, '..', '..', 'sim', 'agents')
const entry = join(import.meta.dirname, '..', '..', 'bin', 'unstuck.js')

/** Clocks of a second, and a third of one behind a final event. */
export const shortClocks = [
  ...['silenceSeconds=1', 'afterToolResultSeconds=1', 'toolSeconds=2', 'promptSeconds=1', 'lingerSeconds=0.3'],
].flatMap((text) => ['--set', `stall.${text}`])

/** Between launches; the pauses themselves are in test/waits. */
const noPauses = { FAILED_TASK_RETRY_COOLDOWN_MS: '20' }

export const openExecScene = () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-exec-')))
  const [bin, work, outside] = ['bin', 'work', 'outside'].map((name) => join(root, name)) as [string, string, string]
  for (const dir of [bin, work, outside]) mkdirSync(dir)
  const environment = {
    PATH: [bin, dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter),
    HOME: root,
    ...noPauses,
  }

  const program = (name: string, script: string): void => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(bin, name), 0o755)
  }
  const answerOf = (name: string, path: string): string => {
    const file = join(root, `${name}.json`)
    writeFileSync(file, JSON.stringify({ edits: [{ path, after: 'made\n' }], text: 'Made it.' }))
    return file
  }
  const speaksLike = (name: string, agent: string, path: string, ...args: string[]): void => {
    const words = [process.execPath, join(agents, agent), answerOf(name, path), ...args]
    program(name, `exec ${words.join(' ')} "$@"`)
  }
  /** `claude` is a fault agent whose work is `made.txt`; `memory` holds the pid of the launch with the fault. */
  const plays = (agent: string, often: 'once' | 'always'): void => {
    for (const path of [memory, join(work, 'made.txt')]) rmSync(path, { force: true })
    const flags = ['--answer', answerOf('fault', 'made.txt'), ...(often === 'once' ? ['--once', memory] : [])]
    program('claude', `exec ${faultAgent(agent, ...flags).join(' ')} "$@"`)
  }
  const memory = join(root, 'memory')

  const start = (args: string[], env: Record<string, string> = {}) => {
    const child = spawn(process.execPath, [entry, 'exec', ...args], {
      cwd: work,
      env: { ...environment, ...env },
      // An open pipe that never ends: what hangs two of the CLIs must not reach them.
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const text = { stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text.stdout += chunk))
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (text.stderr += chunk))
    const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...text }))
    return { child, ended, text }
  }
  const exec = (args: string[], env?: Record<string, string>) => start(args, env).ended
  const events = async (args: string[], env?: Record<string, string>) => {
    const { code, stdout, stderr } = await exec(['--json', ...args], env)
    const all = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as ExecEvent)
    const result = all.findLast((event) => event.type === 'result')?.payload as ExecResult
    return { code, stderr, all, result, of: (type: ExecEvent['type']) => all.filter((event) => event.type === type) }
  }
  return {
    ...{ root, work, outside, memory, program, speaksLike, plays, start, exec, events },
    clear: () => rmSync(root, { recursive: true, force: true }),
  }
}

/** No process of that number, or one that has ended and waits for its parent to look. */
export const isGone = (pid: number | string): boolean => {
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return true
  }
}
