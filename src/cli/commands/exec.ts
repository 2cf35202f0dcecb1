/** `unstuck exec`: any headless agent command under supervision, with no project, store or engine. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { AppError } from '../../errors.ts'
import { agentCommand } from '../../exec/command.ts'
import type { ExecEvent, ExecResult } from '../../exec/contract.ts'
import { superviseCommand } from '../../exec/supervise.ts'
import { standardLoop, type LoopSettings } from '../../recovery/doom-loop.ts'
import { standardStall, type StallSettings } from '../../recovery/stall.ts'
import { printJson, type Io } from '../io.ts'
import { clockOf, createPaint, safe, secondsText, type Paint } from '../render.ts'

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

const lines = (text: string): string => `${text.split('\n').map(safe).join('\n')}\n`

const resultLine = ({ outcome, text, exitCode, denials, until, label }: ExecResult): string | undefined => {
  if (outcome === 'waiting')
    return `the provider's limit has to be waited for${until === null ? '' : ` until ${until}`}`
  if (outcome === 'stopped') return 'stopped; nothing of the agent is left running'
  if (outcome === 'failed')
    return `failed with status ${exitCode}${label === null || label === 'unknown' ? '' : ` (${label.replaceAll('_', ' ')})`}: ${text}`
  const [first] = denials
  // All agent CLIs end with 0 when a tool was refused; whoever reads only the status would never know.
  return first === undefined
    ? undefined
    : `refused on the way: ${first.text}${first.kind === 'scope' ? ' (--allow-dir)' : ''}`
}

/** The agent's words on standard output, ours on standard error, so that a pipe gets what the agent said. */
const live = (io: Io, paint: Paint): ((event: ExecEvent) => void) => {
  const say = (text: string): void => io.error(`${paint.dim(`unstuck: ${safe(text)}`)}\n`)
  let said = ''
  return (event) => {
    switch (event.type) {
      case 'output':
        return event.stream === 'stdout' ? io.out(`${event.text}\n`) : io.error(`${event.text}\n`)
      case 'note':
        if (event.kind !== 'text' && event.kind !== 'result')
          return io.error(`${paint.dim(`${event.kind.replace('_', ' ')}: ${safe(event.text)}`)}\n`)
        // The result repeats the last words.
        if (event.kind === 'text' || event.text !== said) io.out(lines(event.text))
        said = event.text
        return
      case 'launch':
        return event.because === null
          ? undefined
          : say(`${event.because}: launch ${event.number}${event.resumed ? ', the session goes on' : ''}`)
      case 'recovery':
        return say(`${event.payload.action_taken}: ${event.payload.status}`)
      case 'waiting': {
        const { reason, evidence, seconds, until } = event.payload
        return say(`${reason}: ${evidence}; to be tried again in ${secondsText(seconds)}, at ${clockOf(until)}`)
      }
      case 'quiet':
        return say(`it has printed nothing for ${secondsText(event.payload.quietSeconds)} and uses no processor time`)
      case 'stalled':
        return say(`${event.payload.stall.replaceAll('_', ' ')}: it is ended`)
      case 'blocker':
        return say(`${event.payload.text} ${event.payload.details}`)
      case 'result': {
        const text = resultLine(event.payload)
        return text === undefined ? undefined : say(text)
      }
    }
  }
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

export const exec = async (io: Io, argv: string[], options: ExecOptions): Promise<number> => {
  const command = agentCommand(argv, options.harness)
  const emit = options.json === true ? (event: ExecEvent) => printJson(io, event) : live(io, createPaint(io.colours))
  const ended = await superviseCommand({
    command,
    cwd: io.cwd,
    environment: io.environment,
    stdinFile: options.stdin === undefined ? null : existing(io.cwd, options.stdin, '--stdin', 'file'),
    allowDirs: options.allowDir.map((dir) => existing(io.cwd, dir, '--allow-dir', 'directory')),
    retry: {
      transientBaseSeconds: numberIn(io, 'FAILED_TASK_RETRY_COOLDOWN_MS', 5_000) / 1000,
      transientMaxSeconds: 300,
      transientLimit: numberIn(io, 'FAILED_TASK_MAX_RETRY_COUNT', 6),
      quotaBaseSeconds: numberIn(io, 'BLOCKED_TASK_RETRY_COOLDOWN_MS', 120_000) / 1000,
      quotaMaxSeconds: 1800,
    },
    maxWaitMs: options.maxWait * 1000,
    ...withSettings(options.set),
    signal: io.signal,
    emit,
  })
  if ('fault' in ended) throw new AppError('HARNESS_MISSING', `${ended.fault}; install it or give its path`)
  const payload: ExecResult = ended
  emit({ type: 'result', timestamp: new Date().toISOString(), payload })
  return payload.exitCode
}
