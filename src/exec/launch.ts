/**
 * One launch of the command, followed to its end: its lines are read as its driver reads them, and it is ended where it
 * lingers, stands still, goes in circles or insists on a wrong key. The clocks are those of a run of the engine.
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
  /** `loginStamp` before the launch. */
  loginBefore: string | null
  startedAt: number
  /** Why it was ended, where it did not get on and its provider is not the reason. */
  stall?: ObservedStall
}

export interface Launch {
  number: number
  change: LineChange
  because: string | null
}

const now = (): string => new Date().toISOString()

interface Watch {
  heard(stream: 'stdout' | 'stderr', before: Reading, after: Reading): void
  end(): void
}

/** Circles are told by the calls alone: no store knows the work here. */
const watchCircles = ({ loops, emit }: ExecParts, stop: (cause: 'doom_loop') => void) => {
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

/** What can end it before it ends itself. `reading` gives what was read so far. */
const watchAgent = (parts: ExecParts, agent: RunningAgent, reading: () => Reading): Watch => {
  const { emit, stall, signal } = parts
  const looks = watchQuiet({
    ...{ clock: systemClock, limits: stallLimits(stall), usage: agent.usage, unfinished: agent.unfinished },
    // One that has said its last word lingers, and that is another clock.
    rests: () => reading().final !== undefined,
    quiet: (payload) => emit({ type: 'quiet', timestamp: now(), payload }),
    stalled: (kind, seen) => {
      emit({ type: 'stalled', timestamp: now(), payload: { stall: kind, ...seen } })
      agent.stop(kind)
    },
  })
  const turn = watchTurn(systemClock, () => stall.lingerSeconds, agent.stop)
  const circles = watchCircles(parts, agent.stop)
  const stop = (): void => agent.stop('stopped')
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  return {
    heard(stream, before, after) {
      looks.heard(stream, before, after)
      turn.heard(after)
      circles(before, after)
    },
    end() {
      looks.end()
      turn.end()
      signal.removeEventListener('abort', stop)
    },
  }
}

/** Gemini ends its own circles with a success, and the work is as unfinished as when we end them. */
const withoutLoopStop = ({ loopStopped }: Reading, settled: Settled): Settled =>
  loopStopped === undefined || !settled.ok
    ? settled
    : {
        ok: false,
        fatal: true,
        error: { source: 'event', text: 'the agent repeated the same call and ended its turn' },
      }

/** Any command other than an agent's CLI may do something that must not be done twice: its death is no stall. */
const stallIn = (
  parts: ExecParts,
  { reading, exit, settled }: Pick<Ended, 'reading' | 'exit' | 'settled'>,
  question: string,
) => {
  const limits = { stall: stallLimits(parts.stall), loops: loopLimits(parts.loops), question: () => question }
  const circles =
    reading.loopStopped === undefined ? undefined : seenAtStall('doom_loop', reading, { ...limits, question })
  const stall =
    circles === undefined
      ? stallOf({ driver: parts.command.driver.name, reading, settled, cause: exit.stopCause }, limits)
      : { kind: 'doom_loop' as const, ...circles }
  const isOther = stall?.kind === 'agent_died' && parts.command.driver.name === 'command'
  return stall === undefined || isOther ? {} : { stall: { ...stall, tree: '' } }
}

/** No commands were named that may run, so a rule can only be one for an edit in the folder itself. */
export const rulesIn =
  ({ command, cwd }: Pick<ExecParts, 'command' | 'cwd'>): RulesFor =>
  (denial) =>
    command.driver.toolRules?.(denial, { workspace: cwd, given: [], own: [] }) ?? []

/** Their mode may be changed: the working folder and the allowed ones themselves, nothing below them and no part of a git directory. */
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

/** Reads the agent's lines as its driver does, and tells each of them. */
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
      watch.heard(stream, before, after)
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
