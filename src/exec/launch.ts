/**
 * Follows one launch of the command to its end. The driver reads its lines, and it is stopped when it lingers, stalls, repeats
 * itself or keeps retrying with a wrong key, with the same time limits as a run of the engine.
 */
import { randomUUID } from 'node:crypto'
import { sep } from 'node:path'
import { capabilitiesOf } from '../harness/capabilities.ts'
import { loginStamp } from '../harness/logins.ts'
import type { Reading, Settled } from '../harness/driver.ts'
import { loopLimits, loopOf } from '../recovery/doom-loop.ts'
import type { ObservedDenial, ObservedStall } from '../recovery/evidence.ts'
import { stallLimits } from '../recovery/stall.ts'
import type { Failed } from '../runtime/agent/launch-evidence.ts'
import {
  observeDenials,
  observeRefusals,
  realDirectories,
  type ObservedLaunch,
  type RulesFor,
} from '../runtime/agent/observe-denial.ts'
import { seenAtStall, stallOf, watchQuiet } from '../runtime/agent/stall-looks.ts'
import { watchTurn } from '../runtime/agent/turn-watch.ts'
import { realFiles } from '../runtime/core/files.ts'
import { systemClock } from '../runtime/core/system-clock.ts'
import { restrained } from './restriction.ts'
import { launchAgent, type AgentEnd, type RunningAgent } from './agent.ts'
import type { LineChange } from '../harness/user-command.ts'
import type { ExecParts } from './contract.ts'

export interface Ended {
  reading: Reading
  exit: AgentEnd
  settled: Settled
  denials: ObservedDenial[]
  look: Failed['look']
  /** `loginStamp` before the launch, to recognize a login that was renewed meanwhile. */
  loginBefore: string | null
  startedAt: number
  /** Why it was stopped, when it made no progress and its provider was not the reason. */
  stall?: ObservedStall
}

export interface Launch {
  number: number
  change: LineChange
  because: string | null
}

const now = (): string => new Date().toISOString()

interface Watch {
  onLine(stream: 'stdout' | 'stderr', before: Reading, after: Reading): void
  end(): void
}

/** detects loops from tool calls only, because no store knows the changes here. */
const watchLoops = ({ loops, emit }: ExecParts, stop: (cause: 'doom_loop') => void) => {
  const limits = loopLimits(loops)
  let found = false
  return (before: Reading, after: Reading): void => {
    if (found || after.final !== undefined) return
    found =
      (after.retry?.attempt ?? 0) >= limits.ownRetries ||
      (after.calls !== before.calls && loopOf(after.calls, limits) !== undefined)
    if (!found) return
    emit({ type: 'stalled', timestamp: now(), payload: { stall: 'doom_loop' } })
    stop('doom_loop')
  }
}

/** Stops the agent for a stall, a loop, lingering or the user's signal. `reading` returns what was read so far. */
const watchAgent = (parts: ExecParts, agent: RunningAgent, reading: () => Reading): Watch => {
  const { emit, stall, signal } = parts
  const quiet = watchQuiet({
    ...{ clock: systemClock, limits: stallLimits(stall), usage: agent.usage, unfinished: agent.unfinished },
    // After its final event an agent lingers, which has a time limit of its own.
    rests: () => reading().final !== undefined,
    quiet: (payload) => emit({ type: 'quiet', timestamp: now(), payload }),
    stalled: (kind, seen) => {
      emit({ type: 'stalled', timestamp: now(), payload: { stall: kind, ...seen } })
      agent.stop(kind)
    },
  })
  const turn = watchTurn(systemClock, () => stall.lingerSeconds, agent.stop)
  const loops = watchLoops(parts, agent.stop)
  const stop = (): void => agent.stop('stopped')
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  return {
    onLine(stream, before, after) {
      quiet.heard(stream, before, after)
      turn.heard(after)
      loops(before, after)
    },
    end() {
      quiet.end()
      turn.end()
      signal.removeEventListener('abort', stop)
    },
  }
}

/** Gemini reports success when it stops its own loop, but the work is as unfinished as after our stop. */
const withoutLoopStop = ({ loopStopped }: Reading, settled: Settled): Settled =>
  loopStopped === undefined || !settled.ok
    ? settled
    : {
        ok: false,
        fatal: true,
        error: { source: 'event', text: 'the agent repeated the same call and ended its turn' },
      }

/** The death of a plain command is no stall: it may have done something that must not be repeated. */
const stallIn = (
  parts: ExecParts,
  { reading, exit, settled }: Pick<Ended, 'reading' | 'exit' | 'settled'>,
  question: string,
) => {
  const limits = { stall: stallLimits(parts.stall), loops: loopLimits(parts.loops), question: () => question }
  const loop =
    reading.loopStopped === undefined ? undefined : seenAtStall('doom_loop', reading, { ...limits, question })
  const stall =
    loop === undefined
      ? stallOf({ driver: parts.command.driver.name, reading, settled, cause: exit.stopCause }, limits)
      : { kind: 'doom_loop' as const, ...loop }
  const isOther = stall?.kind === 'agent_died' && parts.command.driver.name === 'command'
  return stall === undefined || isOther ? {} : { stall: { ...stall, tree: '' } }
}

/** No task names commands here, so a rule can only allow an edit in the folder itself. */
export const rulesIn =
  ({ command, cwd }: Pick<ExecParts, 'command' | 'cwd'>): RulesFor =>
  (denial) =>
    command.driver.toolRules?.(denial, { workspace: cwd, given: [], own: [] }) ?? []

/** Folders whose mode may be changed: the working folder and the allowed ones, but nothing below them and no git directory. */
const ownFolders = ({ cwd, allowDirs }: ExecParts): ReadonlySet<string> =>
  new Set(realDirectories(realFiles, [cwd, ...allowDirs]).filter((path) => !path.split(sep).includes('.git')))

const withoutForeignMode = ({ unusable, ...denial }: ObservedDenial, own: ReadonlySet<string>): ObservedDenial =>
  unusable === undefined || !own.has(unusable.path) ? denial : { ...denial, unusable }

const launchedWith = (parts: ExecParts, { cliVersion }: Reading, { corrections }: LineChange): ObservedLaunch => ({
  place: {
    workTree: parts.cwd,
    allowed: realDirectories(realFiles, parts.allowDirs),
    given: [...corrections.addDirs, ...realDirectories(realFiles, parts.command.given(parts.cwd))],
  },
  can: capabilitiesOf(parts.command.driver, cliVersion).capabilities,
  granted: corrections.toolRules ?? [],
  rulesFor: rulesIn(parts),
})

/** Reads the agent's lines with its driver and emits each as an event. */
const reader = (parts: ExecParts) => {
  const { driver } = parts.command
  let reading = driver.begin()
  return {
    now: () => reading,
    read(stream: 'stdout' | 'stderr', text: string): { before: Reading; after: Reading } {
      if (driver.name === 'command') parts.emit({ type: 'output', stream, text })
      const before = reading
      const step = driver.read(before, stream, text)
      reading = step.reading
      if (step.note !== undefined && driver.name !== 'command') parts.emit({ type: 'note', ...step.note })
      return { before, after: reading }
    },
  }
}

export const launchOnce = async (
  parts: ExecParts,
  { number, change, because }: Launch,
): Promise<Ended | { fault: string }> => {
  const { driver } = parts.command
  const { argv, env, resumed } = parts.command.line(change, parts.cwd)
  parts.emit({ type: 'launch', number, harness: driver.name, resumed, because, argv })
  const loginBefore = loginStamp(driver, { environment: parts.environment, files: realFiles })
  const output = reader(parts)
  let question = ''
  const startedAt = Date.now()
  const agent = launchAgent({
    ...{ argv, cwd: parts.cwd, stdinFile: parts.stdinFile, marker: `exec-${randomUUID()}` },
    environment: { ...env, ...parts.environment },
    line: (stream, text) => {
      const { before, after } = output.read(stream, text)
      watch.onLine(stream, before, after)
    },
    stopping: () => (question = agent.unfinished()),
  })
  const watch = watchAgent(parts, agent, output.now)
  const exit = await agent.ended
  watch.end()
  if (exit.fault !== undefined) return { fault: exit.fault }
  const reading = output.now()
  const ended = { reading, exit, settled: withoutLoopStop(reading, driver.settle(reading, exit)) }
  const launched = launchedWith(parts, reading, change)
  const may = parts.command.restriction(parts.environment)
  const own = ownFolders(parts)
  const restrain = (denials: ObservedDenial[]) =>
    denials.map((denial) => restrained(withoutForeignMode(denial, own), may, driver.userCommand.decided))
  const denials = restrain(observeDenials(realFiles, reading.denials, launched))
  const look: Ended['look'] = (refusal) => restrain(observeRefusals(realFiles, refusal, launched))
  return { ...ended, denials, look, loginBefore, startedAt, ...stallIn(parts, ended, question) }
}
