/**
 * Follows one launch of the command to its end. The driver reads its lines, and it is stopped when it lingers, stalls, repeats
 * itself or keeps retrying with a wrong key, with the same time limits as a run of the engine.
 */
import { randomUUID } from 'node:crypto'
import { basename, sep } from 'node:path'
import { capabilitiesOf } from '../harness/capabilities.ts'
import { loginStamp } from '../harness/cli-login.ts'
import { receivedBytes } from '../process/received-bytes.ts'
import { startedPrograms } from '../process/started-programs.ts'
import type { Transcript, Conclusion } from '../harness/driver.ts'
import { loopLimits, loopOf } from '../recovery/doom-loop.ts'
import type { ObservedDenial, ObservedStall } from '../recovery/evidence.ts'
import { stallLimits, type StallLimits } from '../recovery/stall.ts'
import type { FailedLaunch } from '../runtime/agent/launch-evidence.ts'
import {
  observeDenials,
  observeRefusals,
  realDirectories,
  type ObservedLaunch,
  type RulesFor,
} from '../runtime/agent/observe-denial.ts'
import { isAnswerUnseen, stallDescription, stallOf, watchQuiet } from '../runtime/agent/quiet-watch.ts'
import { watchTurn } from '../runtime/agent/turn-watch.ts'
import { realFiles } from '../runtime/core/files.ts'
import { systemClock } from '../runtime/core/system-clock.ts'
import { launchAgent, type AgentEnd, type RunningAgent } from './agent-process.ts'
import type { LineChange, Restriction } from '../harness/user-command.ts'
import type { ExecParts } from './exec-events.ts'

// What the user's own command line forbids the agent. `unstuck exec` corrects only what the user left open: a mode, a rule or
// a sandbox on the command line, or named by the CLI in its refusal, is the user's decision.

/** The denial without the corrections that the user's own restriction rules out. `decided`: sentences of the CLI that name one. */
const restrictedDenial = (denial: ObservedDenial, may: Restriction, decided: readonly RegExp[]): ObservedDenial => {
  const { allowedBy, toolRules, unusable, ...rest } = denial
  const open = !decided.some((sentence) => sentence.test(denial.text))
  return {
    ...rest,
    ...(allowedBy !== undefined && open && may.dirs ? { allowedBy } : {}),
    ...(toolRules !== undefined && open && may.tools ? { toolRules } : {}),
    ...(unusable !== undefined && open && may.writes ? { unusable } : {}),
  }
}

export interface EndedLaunch {
  transcript: Transcript
  exit: AgentEnd
  conclusion: Conclusion
  denials: ObservedDenial[]
  observe: FailedLaunch['observeRefusal']
  /** `loginStamp` before the launch, to recognize a login that was renewed meanwhile. */
  loginBefore: string | null
  startedAt: number
  /** Why it was stopped, when it made no progress and its provider was not the reason. */
  stall?: ObservedStall
}

export interface ExecLaunch {
  number: number
  change: LineChange
  because: string | null
}

const now = (): string => new Date().toISOString()

interface Watch {
  onLine(stream: 'stdout' | 'stderr', before: Transcript, after: Transcript): void
  end(): void
}

/** detects loops from tool calls only, because no store knows the changes here. */
const watchLoops = ({ loops, emit }: ExecParts, stop: (cause: 'doom_loop') => void) => {
  const limits = loopLimits(loops)
  let found = false
  return (before: Transcript, after: Transcript): void => {
    if (found || after.final !== undefined) return
    found =
      (after.retry?.attempt ?? 0) >= limits.ownRetries ||
      (after.calls !== before.calls && loopOf(after.calls, limits) !== undefined)
    if (!found) return
    emit({ type: 'stalled', timestamp: now(), payload: { stall: 'doom_loop' } })
    stop('doom_loop')
  }
}

const quietLimits = ({ command, stall }: ExecParts): StallLimits =>
  stallLimits(stall, isAnswerUnseen(command.driver, receivedBytes))

/**
 * Stops the agent for a stall, a loop, lingering or the user's signal. `reading` returns what was read so far; `onStarted` is told which
 * programs a stalled agent had started.
 */
const watchAgent = (
  parts: ExecParts,
  agent: RunningAgent,
  reading: () => Transcript,
  onStarted: (programs: readonly string[]) => void,
): Watch => {
  const { emit, stall, signal } = parts
  const quiet = watchQuiet({
    ...{
      clock: systemClock,
      limits: quietLimits(parts),
      usage: agent.usage,
      unfinished: agent.unfinishedLine,
    },
    received: receivedBytes,
    // What a plain command has started is its work.
    started: (members) =>
      parts.command.driver.name === 'command' ? [] : startedPrograms(members, parts.command.driver.name),
    // After its final event an agent lingers, which has a time limit of its own.
    isPaused: () => reading().final !== undefined,
    onQuiet: (payload) => emit({ type: 'quiet', timestamp: now(), payload }),
    onStall: (kind, seen) => {
      emit({ type: 'stalled', timestamp: now(), payload: { stall: kind, ...seen } })
      onStarted(seen.started ?? [])
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
      quiet.onLine(stream, before, after)
      turn.onLine(after)
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
const withoutLoopStop = ({ loopStopped }: Transcript, settled: Conclusion): Conclusion =>
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
  { transcript, exit, conclusion }: Pick<EndedLaunch, 'transcript' | 'exit' | 'conclusion'>,
  seen: { question: string; started: readonly string[] },
) => {
  const limits = { stall: quietLimits(parts), loops: loopLimits(parts.loops) }
  const loop =
    transcript.loopStopped === undefined ? undefined : stallDescription('doom_loop', transcript, { ...limits, ...seen })
  const stall =
    loop === undefined
      ? stallOf(
          {
            ...{ driver: parts.command.driver.name, name: basename(parts.command.argv[0] ?? '') },
            ...{ reading: transcript, settled: conclusion, cause: exit.stopCause },
          },
          { ...limits, seen: () => seen },
        )
      : { kind: 'doom_loop' as const, ...loop }
  const isOther = stall?.kind === 'agent_died' && parts.command.driver.name === 'command'
  return stall === undefined || isOther ? {} : { stall: { ...stall, tree: '' } }
}

/** No task names commands here, so a rule can only allow an edit in the folder itself. */
export const rulesIn =
  ({ command, cwd }: Pick<ExecParts, 'command' | 'cwd'>): RulesFor =>
  (denial) =>
    command.driver.toolRules?.(denial, { workspace: cwd, launchCommands: [], taskCommands: [] }) ?? []

/** Folders whose mode may be changed: the working folder and the allowed ones, but nothing below them and no git directory. */
const ownFolders = ({ cwd, allowDirs }: ExecParts): ReadonlySet<string> =>
  new Set(realDirectories(realFiles, [cwd, ...allowDirs]).filter((path) => !path.split(sep).includes('.git')))

const withoutForeignMode = ({ unusable, ...denial }: ObservedDenial, own: ReadonlySet<string>): ObservedDenial =>
  unusable === undefined || !own.has(unusable.path) ? denial : { ...denial, unusable }

const launchedWith = (parts: ExecParts, { cliVersion }: Transcript, { corrections }: LineChange): ObservedLaunch => ({
  place: {
    workTree: parts.cwd,
    allowed: realDirectories(realFiles, parts.allowDirs),
    given: [...corrections.addDirs, ...realDirectories(realFiles, parts.command.givenDirectories(parts.cwd))],
  },
  can: capabilitiesOf(parts.command.driver, cliVersion).capabilities,
  granted: corrections.toolRules ?? [],
  rulesFor: rulesIn(parts),
})

/** Reads the agent's lines with its driver and emits each as an event. */
const reader = (parts: ExecParts) => {
  const { driver } = parts.command
  let reading = driver.emptyTranscript()
  return {
    now: () => reading,
    read(stream: 'stdout' | 'stderr', text: string): { before: Transcript; after: Transcript } {
      if (driver.name === 'command') parts.emit({ type: 'output', stream, text })
      const before = reading
      const step = driver.read(before, stream, text)
      reading = step.transcript
      if (step.note !== undefined && driver.name !== 'command') parts.emit({ type: 'note', ...step.note })
      return { before, after: reading }
    },
  }
}

export const launchOnce = async (
  parts: ExecParts,
  { number, change, because }: ExecLaunch,
): Promise<EndedLaunch | { fault: string }> => {
  const { driver } = parts.command
  const { argv, env, resumed } = parts.command.line(change, parts.cwd)
  parts.emit({ type: 'launch', number, harness: driver.name, resumed, because, argv })
  const loginBefore = loginStamp(driver, { environment: parts.environment, files: realFiles })
  const output = reader(parts)
  let question = ''
  let started: readonly string[] = []
  const startedAt = Date.now()
  const agent = launchAgent({
    ...{ argv, cwd: parts.cwd, stdinFile: parts.stdinFile, marker: `exec-${randomUUID()}` },
    environment: { ...env, ...parts.environment },
    onLine: (stream, text) => {
      const { before, after } = output.read(stream, text)
      watch.onLine(stream, before, after)
    },
    onStop: () => (question = agent.unfinishedLine()),
  })
  const watch = watchAgent(parts, agent, output.now, (programs) => (started = programs))
  const exit = await agent.ended
  watch.end()
  if (exit.fault !== undefined) return { fault: exit.fault }
  const printed = output.now()
  const source = { environment: parts.environment, files: realFiles, workspace: parts.cwd }
  const transcript = driver.nameRefusals?.(printed, source) ?? printed
  const ended = { transcript, exit, conclusion: withoutLoopStop(transcript, driver.conclude(transcript, exit)) }
  const launched = launchedWith(parts, transcript, change)
  const may = parts.command.restriction(parts.environment)
  const own = ownFolders(parts)
  const restrain = (denials: ObservedDenial[]) =>
    denials.map((denial) => restrictedDenial(withoutForeignMode(denial, own), may, driver.userCommand.decided))
  const denials = restrain(observeDenials(realFiles, transcript.denials, launched))
  const observe: EndedLaunch['observe'] = (refusal) => restrain(observeRefusals(realFiles, refusal, launched))
  return { ...ended, denials, observe, loginBefore, startedAt, ...stallIn(parts, ended, { question, started }) }
}
