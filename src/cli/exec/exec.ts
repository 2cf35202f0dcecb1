/** The work of `unstuck exec`: turns its options into settings of the supervision, and prints the events as text or JSON lines. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { realFiles } from '../../runtime/core/files.ts'
import { whyNotAllowed } from '../../config/wide-folder.ts'
import { AppError } from '../../errors.ts'
import { agentCommand } from '../../exec/agent-command.ts'
import type { ExecEvent, ExecResult } from '../../exec/exec-events.ts'
import { superviseCommand } from '../../exec/supervise-command.ts'
import { defaultLoopSettings, type LoopSettings } from '../../recovery/doom-loop.ts'
import { defaultStallSettings, type StallSettings } from '../../recovery/stall.ts'
import { printJson, type Io } from '../io.ts'
import { createPaint } from '../render.ts'
import { showOutput } from './exec-output.ts'

export interface ExecOptions {
  harness: string
  allowDir: string[]
  maxWait: number
  set: string[]
  stdin?: string
  json?: boolean
}

const existing = (cwd: string, path: string, option: string, kind: 'file' | 'directory'): string => {
  const found = statSync(resolve(cwd, path), { throwIfNoEntry: false })
  if (kind === 'file' ? found?.isFile() : found?.isDirectory()) return resolve(cwd, path)
  throw new AppError('USAGE', `${option} ${JSON.stringify(path)} is not an existing ${kind}; correct the path`)
}

const allowedDirectory = (cwd: string, path: string): string => {
  const found = existing(cwd, path, '--allow-dir', 'directory')
  const refused = whyNotAllowed(realFiles, found)
  if (refused !== undefined) throw new AppError('USAGE', `--allow-dir ${refused}`)
  return found
}

/** A whole number from an environment variable; the default if the variable is not set or not a whole number. */
const numberIn = (io: Io, name: string, fallback: number): number => {
  const text = io.environment[name]
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : fallback
}

/** The keys that --set accepts, with their default values. */
const settable: Record<string, Record<string, number>> = { stall: defaultStallSettings, doomLoop: defaultLoopSettings }

/** Applies settings such as `stall.silenceSeconds=60` to the defaults. */
const withSettings = (given: readonly string[]): { stall: StallSettings; loops: LoopSettings } => {
  const stall = { ...defaultStallSettings }
  const doomLoop = { ...defaultLoopSettings }
  const chosen: Record<string, Record<string, number>> = { stall, doomLoop }
  for (const text of given) {
    const [, folder = '', key = '', value = ''] = /^(\w+)\.(\w+)=(-1|\d+(?:\.\d+)?)$/.exec(text) ?? []
    const known = Object.entries(settable).flatMap(([name, keys]) => Object.keys(keys).map((last) => `${name}.${last}`))
    if (!known.includes(`${folder}.${key}`))
      throw new AppError(
        'USAGE',
        `--set ${JSON.stringify(text)} is not <key>=<number> with a known key; the keys are ${known.join(', ')}`,
      )
    ;(chosen[folder] ?? {})[key] = Number(value)
  }
  return { stall, loops: doomLoop }
}

const retryOf = (io: Io) => ({
  transientBaseSeconds: numberIn(io, 'FAILED_TASK_RETRY_COOLDOWN_MS', 5_000) / 1000,
  transientMaxSeconds: 300,
  transientLimit: numberIn(io, 'FAILED_TASK_MAX_RETRY_COUNT', 6),
  quotaBaseSeconds: numberIn(io, 'BLOCKED_TASK_RETRY_COOLDOWN_MS', 120_000) / 1000,
  quotaMaxSeconds: 1800,
})

/**
 * Pauses before another launch. They keep a CLI that fails at once from starting several times a second, which could lock
 * its session or count towards a rate limit. A shorter FAILED_TASK_RETRY_COOLDOWN_MS shortens them too.
 */
const firstPauseMs = 1_000
const longestPauseMs = 8_000

const pauseOf = (io: Io) => {
  const cooldownMs = Math.max(0, numberIn(io, 'FAILED_TASK_RETRY_COOLDOWN_MS', longestPauseMs))
  return { firstMs: Math.min(firstPauseMs, cooldownMs), longestMs: Math.min(longestPauseMs, cooldownMs) }
}

export const execCommand = async (io: Io, argv: string[], options: ExecOptions): Promise<number> => {
  const command = agentCommand(argv, options.harness)
  const emit =
    options.json === true
      ? (event: ExecEvent) => printJson(io, event)
      : showOutput(io, createPaint(io.colours), command.driver)
  const ended = await superviseCommand({
    command,
    cwd: io.cwd,
    environment: io.environment,
    stdinFile: options.stdin === undefined ? null : existing(io.cwd, options.stdin, '--stdin', 'file'),
    allowDirs: options.allowDir.map((dir) => allowedDirectory(io.cwd, dir)),
    retry: retryOf(io),
    maxWaitMs: options.maxWait * 1000,
    pause: pauseOf(io),
    ...withSettings(options.set),
    signal: io.signal,
    emit,
  })
  if ('fault' in ended) throw new AppError('HARNESS_MISSING', `${ended.fault}; install it or give its path`)
  const payload: ExecResult = ended
  emit({ type: 'result', timestamp: new Date().toISOString(), payload })
  return payload.exitCode
}
