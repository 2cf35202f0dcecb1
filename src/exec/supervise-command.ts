/**
 * Supervises one agent command without a project, a store or an engine: with the same drivers, diagnoses and ladder as a run of
 * the engine, and with a recovery record in memory.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { backoff } from '../domain/backoff.ts'
import { noCorrections } from '../domain/run.ts'
import type { ObservedDenial } from '../recovery/evidence.ts'
import type { ExecParts, ExecResult } from './exec-events.ts'
import { exitCodes } from '../errors.ts'
import { leftRunningEnding, resultOf, type ExecEnding } from './ending.ts'
import { launchOnce, type EndedLaunch, type ExecLaunch } from './launch-once.ts'
import type { createRecovery } from './recover.ts'
import { remainingRefusal } from './refusal.ts'
import { createSecretHider } from './hide-secrets.ts'

interface Concluded {
  ended: EndedLaunch
  ending: ExecEnding
}

/** Turns `done` into `refused` when a refused write is still missing. */
const withRefusal = (
  parts: ExecParts,
  { ended, ending }: Concluded,
  { earlier, startedAt }: { earlier: ObservedDenial[]; startedAt: number },
): Concluded => {
  if (ending.outcome !== 'done') return { ended, ending }
  const last = ended.denials
  const { cwd, allowDirs } = parts
  const refused = remainingRefusal(
    { earlier, last },
    { cwd, allowDirs, startedAt, writes: parts.command.driver.userCommand.writes },
  )
  if (refused === undefined) return { ended, ending }
  return {
    ended: { ...ended, denials: [refused, ...last.filter((denial) => denial !== refused)] },
    ending: { outcome: 'refused', exitCode: exitCodes.needsPerson },
  }
}

const endedWell = ({ conclusion, denials }: EndedLaunch): boolean => conclusion.ok && denials.length === 0

/** False = the user stopped the command meanwhile. */
const pauseBefore = async ({ pause, signal }: ExecParts, launched: number): Promise<boolean> => {
  const ms = backoff(launched - 1, { firstMs: pause.firstMs, maxMs: pause.longestMs })
  return delay(ms, true, { signal }).catch(() => false)
}

const stopped: ExecEnding = { outcome: 'stopped', exitCode: 130 }

/** Runs the command to its end. Rejects only when it cannot be started at all. */
export const superviseCommand = async (given: ExecParts): Promise<ExecResult | { fault: string }> => {
  const hide = createSecretHider(given.command.argv, given.environment)
  const parts: ExecParts = { ...given, emit: (event) => given.emit(hide(event)) }
  let recovery: ReturnType<typeof createRecovery> | undefined
  let launch: ExecLaunch = { number: 1, change: { corrections: noCorrections }, because: null }
  const { cwd, allowDirs } = parts
  const command = { driver: parts.command.driver, cwd, allowDirs, startedAt: Date.now() }
  const { startedAt } = command
  const earlier: ObservedDenial[] = []
  const result = (ended: EndedLaunch, ending: ExecEnding): ExecResult =>
    hide(resultOf(command, ended, launch.number, ending))
  for (;;) {
    const ended = await launchOnce(parts, launch)
    if ('fault' in ended) return ended
    if (ended.exit.left !== undefined) return result(ended, leftRunningEnding(parts, ended.exit.left))
    if (parts.signal.aborted) return result(ended, stopped)
    if (recovery === undefined && endedWell(ended)) return result(ended, { outcome: 'done', exitCode: 0 })
    recovery ??= (await import('./recover.ts')).createRecovery(parts)
    const after = await recovery(ended, launch.change)
    if ('ending' in after) {
      const concluded = withRefusal(parts, { ended, ending: after.ending }, { earlier, startedAt })
      return result(concluded.ended, concluded.ending)
    }
    earlier.push(...ended.denials)
    if (after.waited !== true && !(await pauseBefore(parts, launch.number))) return result(ended, stopped)
    launch = { number: launch.number + 1, change: after.next, because: after.because }
  }
}
