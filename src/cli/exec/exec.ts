/** The work of `unstuck exec`: its options become the settings of the supervision, its events text or JSON lines. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { realFiles } from '../../runtime/core/files.ts'
import { refusedAllowance } from '../../wide-folder.ts'
import { AppError } from '../../errors.ts'
import { agentCommand } from '../../exec/command.ts'
import type { ExecEvent, ExecResult } from '../../exec/contract.ts'
import { superviseCommand } from '../../exec/supervise.ts'
import { standardLoop, type LoopSettings } from '../../recovery/doom-loop.ts'
import { standardStall, type StallSettings } from '../../recovery/stall.ts'
import { printJson, type Io } from '../io.ts'
import { createPaint } from '../render.ts'
import { showLive } from './live.ts'

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
  throw new AppError('USAGE', `${option} ${JSON.stringify(path)} is no ${kind}; give one that exists`)
}

const allowedDirectory = (cwd: string, path: string): string => {
  const found = existing(cwd, path, '--allow-dir', 'directory')
  const refused = refusedAllowance(realFiles, found)
  if (refused !== undefined) throw new AppError('USAGE', `--allow-dir ${refused}`)
  return found
}

/** Variables of the founding documents; whole numbers, anything else is not taken. */
const numberIn = (io: Io, name: string, standard: number): number => {
  const text = io.environment[name]
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : standard
}

/** Keys of the configuration that this command knows, with their standard values. */
const settable: Record<string, Record<string, number>> = { stall: standardStall, doomLoop: standardLoop }

/** `stall.silenceSeconds=60`, as a file of the configuration would have it. */
const withSettings = (given: readonly string[]): { stall: StallSettings; loops: LoopSettings } => {
  const stall = { ...standardStall }
  const doomLoop = { ...standardLoop }
  const chosen: Record<string, Record<string, number>> = { stall, doomLoop }
  for (const text of given) {
    const [, folder = '', key = '', value = ''] = /^(\w+)\.(\w+)=(-1|\d+(?:\.\d+)?)$/.exec(text) ?? []
    const known = Object.entries(settable).flatMap(([name, keys]) => Object.keys(keys).map((last) => `${name}.${last}`))
    if (!known.includes(`${folder}.${key}`))
      throw new AppError(
        'USAGE',
        `--set ${JSON.stringify(text)} is not <key>=<number>; known keys are ${known.join(', ')}`,
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
 * Pauses before another launch: long enough that a CLI which fails at once is not started several times a second (it may
 * lock its session, or count towards a rate limit), short enough to wait for. A shorter FAILED_TASK_RETRY_COOLDOWN_MS
 * shortens them too.
 */
const firstPauseMs = 1_000
const longestPauseMs = 8_000

const pauseOf = (io: Io) => {
  const cooldownMs = Math.max(0, numberIn(io, 'FAILED_TASK_RETRY_COOLDOWN_MS', longestPauseMs))
  return { firstMs: Math.min(firstPauseMs, cooldownMs), longestMs: Math.min(longestPauseMs, cooldownMs) }
}

export const exec = async (io: Io, argv: string[], options: ExecOptions): Promise<number> => {
  const command = agentCommand(argv, options.harness)
  const emit =
    options.json === true
      ? (event: ExecEvent) => printJson(io, event)
      : showLive(io, createPaint(io.colours), command.driver)
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
