/** Runs `forge.command`: without a shell, as a tree that ends with it, and with the owner's own variables, such as the key of a tracker. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, join } from 'node:path'
import { AppError } from '../errors.ts'
import type { CommandOutput } from '../forge/command-issues.ts'
import { outerFolders } from '../process/environment.ts'
import { runCommand, type CommandResult } from '../process/run-command.ts'
import { planCommand } from '../recovery/command/command-plan.ts'

const timeoutMs = 60_000
const graceMs = 2_000
const keepAliveMs = 30_000
const mostBytes = 16 * 1024 * 1024

type Environment = Record<string, string | undefined>

/** All but Unstuck's own. The folders of a PATH that the current folder decides are left out. */
const ownerEnvironment = (environment: Environment): Record<string, string> => {
  const kept = Object.entries(environment).flatMap(([name, value]) =>
    value === undefined || name.startsWith('UNSTUCK_') ? [] : [[name, value] as const],
  )
  return { ...Object.fromEntries(kept), PATH: outerFolders(environment.PATH ?? '').join(delimiter) }
}

const lastLine = (text: string): string => text.trim().split('\n').at(-1)?.slice(0, 400) ?? ''

const problemOf = (result: CommandResult): string | undefined => {
  if (result.spawnError !== undefined) return result.spawnError
  if (result.timedOut) return `it did not end within ${timeoutMs / 1000} seconds`
  if (result.exitCode !== 0)
    return `it ended with ${result.exitCode === null ? (result.signal ?? 'no status') : `exit status ${result.exitCode}`}: ${lastLine(result.stderr)}`
  return result.stdoutTruncated ? `it printed more than ${mostBytes} bytes` : undefined
}

export const runIssueCommand = async (
  command: string,
  args: readonly string[],
  { cwd, environment }: { cwd: string; environment: Environment },
): Promise<CommandOutput> => {
  const plan = planCommand(command)
  const [step] = plan.ok ? plan.steps : []
  if (step === undefined) throw new AppError('CONFIG_INVALID', 'forge.command: allowed: one program with its arguments')
  const dir = mkdtempSync(join(tmpdir(), 'unstuck-issues-'))
  try {
    const result = await runCommand(join(dir, 'launch'), {
      ...{ argv: [...step.argv, ...args], cwd, environment: { ...ownerEnvironment(environment), ...step.env } },
      ...{ timeoutMs, graceMs, keepAliveMs, headBytes: mostBytes, marker: basename(dir) },
    })
    return { stdout: result.stdout, problem: problemOf(result) }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
