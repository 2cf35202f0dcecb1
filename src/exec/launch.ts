/**
 * One launch of the command, followed to its end: its lines are read as its driver reads them, and it is ended where it
 * lingers, stands still, goes in circles or insists on a wrong key. The clocks are those of a run of the engine.
 */
import { randomUUID } from 'node:crypto'
import type { AgentExit, Reading, Settled } from '../harness/driver.ts'
import { insistsOnKey } from '../harness/reading.ts'
import { loopLimits, loopOf } from '../recovery/doom-loop.ts'
import type { ObservedDenial, ObservedStall } from '../recovery/evidence.ts'
import { isDeath, isStall, stallLimits } from '../recovery/stall.ts'
import { realFiles } from '../runtime/files.ts'
import { observeDenial, realDirectories } from '../runtime/observe-denial.ts'
import { seenAtStall, watchQuiet } from '../runtime/stall-looks.ts'
import { systemClock } from '../runtime/system-clock.ts'
import { launchAgent, type RunningAgent } from './agent.ts'
import type { Change } from './command.ts'
import type { ExecParts } from './contract.ts'

export interface Ended {
  reading: Reading
  exit: AgentExit
  settled: Settled
  denials: ObservedDenial[]
  startedAt: Date
  /** Why it was ended, where it did not get on and its provider is not the reason. */
  stall?: ObservedStall
}

export interface Launch {
  number: number
  change: Change
  because: string | null
}

const now = (): string => new Date().toISOString()

interface Watch {
  heard(stream: 'stdout' | 'stderr', before: Reading, after: Reading): void
  end(): void
}

/** What can end it before it ends itself. `reading` gives what was read so far. */
const watchAgent = (parts: ExecParts, agent: RunningAgent, reading: () => Reading): Watch => {
  const { emit, stall, signal } = parts
  const loops = loopLimits(parts.loops)
  let endLinger: (() => void) | undefined
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
  const circles = (before: Reading, after: Reading): boolean =>
    (after.retry?.attempt ?? 0) >= loops.ownRetries ||
    (after.calls !== before.calls && loopOf(after.calls, loops) !== undefined)
  let looped = false
  const stop = (): void => agent.stop('stopped')
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  return {
    heard(stream, before, after) {
      looks.heard(stream, before, after)
      if (after.final !== undefined)
        endLinger ??= systemClock.after(stall.lingerSeconds * 1000, () => agent.stop('lingering'))
      else {
        // What looked like the end was none: a CLI went on after compacting its conversation.
        endLinger?.()
        endLinger = undefined
      }
      if (after.final !== undefined || looped) return
      if (insistsOnKey(after)) agent.stop('correction')
      else if (circles(before, after)) {
        looped = true
        emit({ type: 'stalled', timestamp: now(), payload: { stall: 'doom_loop' } })
        agent.stop('doom_loop')
      }
    },
    end() {
      looks.end()
      endLinger?.()
      signal.removeEventListener('abort', stop)
    },
  }
}

/** As in the engine: a CLI that said that it is retrying is its provider's affair. No store knows its work here. */
const stallOf = (
  parts: ExecParts,
  { reading, exit: { stopCause }, settled }: Pick<Ended, 'reading' | 'exit' | 'settled'>,
  question: string,
): Partial<Ended> => {
  if (settled.ok || reading.retry !== undefined || reading.limit !== undefined) return {}
  // Any other command may do something that must not be done twice.
  if (isDeath(settled.error.type) && parts.command.driver.name !== 'command')
    return { stall: { kind: 'agent_died', text: settled.error.text, tree: '' } }
  if (!isStall(stopCause)) return {}
  const limits = { stall: stallLimits(parts.stall), loops: loopLimits(parts.loops) }
  return { stall: { kind: stopCause, ...seenAtStall(stopCause, reading, { ...limits, question }), tree: '' } }
}

/** Nobody named commands that may run, so a rule can only be one for an edit in the folder itself. */
const denialsIn = (parts: ExecParts, { denials }: Reading, { corrections }: Change): ObservedDenial[] => {
  const allowed = realDirectories(realFiles, parts.allowDirs)
  const place = { workTree: parts.cwd, allowed, given: corrections.addDirs }
  const permitted = { workspace: parts.cwd, given: [], own: [] }
  const granted = corrections.toolRules ?? []
  return denials.map((denial) => {
    const seen = observeDenial(realFiles, denial, place)
    const rules = seen.kind === 'tool' ? parts.command.driver.toolRules?.(seen, permitted) : undefined
    return rules === undefined || rules.every((rule) => granted.includes(rule)) ? seen : { ...seen, toolRules: rules }
  })
}

export const launchOnce = async (
  parts: ExecParts,
  { number, change, because }: Launch,
): Promise<Ended | { fault: string }> => {
  const { command, emit } = parts
  const { driver } = command
  const { argv, env, resumed } = command.line(change)
  emit({ type: 'launch', number, harness: driver.name, resumed, because, argv })
  const startedAt = new Date()
  let reading = driver.begin()
  let question = ''
  const agent = launchAgent({
    ...{ argv, cwd: parts.cwd, stdinFile: parts.stdinFile, marker: `exec-${randomUUID()}` },
    environment: { ...env, ...parts.environment },
    line: (stream, text) => {
      if (driver.name === 'command') emit({ type: 'output', stream, text })
      const before = reading
      const step = driver.read(before, stream, text)
      reading = step.reading
      if (step.note !== undefined && driver.name !== 'command') emit({ type: 'note', ...step.note })
      watch.heard(stream, before, reading)
    },
    stopping: () => (question = agent.unfinished()),
  })
  const watch = watchAgent(parts, agent, () => reading)
  const exit = await agent.ended
  watch.end()
  if (exit.fault !== undefined) return { fault: exit.fault }
  const settled = driver.settle(reading, exit)
  const denials = denialsIn(parts, reading, change)
  return { reading, exit, settled, denials, startedAt, ...stallOf(parts, { reading, exit, settled }, question) }
}
