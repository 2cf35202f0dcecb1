/**
 * The supervision around one agent command, without a project, a store or an engine: the same readings, diagnoses and
 * ladder as a run of the engine has, with a record that lasts as long as the command.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { noCorrections } from '../domain/run.ts'
import type { ObservedDenial } from '../recovery/evidence.ts'
import type { ExecParts, ExecResult } from './contract.ts'
import { exitCodes } from '../errors.ts'
import { leftRunning, resultOf, type Ending } from './ending.ts'
import { launchOnce, type Ended, type Launch } from './launch.ts'
import type { createRecovery } from './recover.ts'
import { anyChanged, standingRefusal } from './refusal.ts'

interface Honest {
  ended: Ended
  ending: Ending
}

/** An end that looks well is none while what was refused is missing. */
const honest = (
  parts: ExecParts,
  { ended, ending }: Honest,
  { earlier, startedAt }: { earlier: ObservedDenial[]; startedAt: number },
): Honest => {
  if (ending.outcome !== 'done') return { ended, ending }
  const last = ended.denials
  const refused = standingRefusal({ earlier, last }, { cwd: parts.cwd, startedAt })
  if (refused === undefined) return { ended, ending }
  return {
    ended: { ...ended, denials: last.includes(refused) ? last : [refused, ...last] },
    ending: { outcome: 'refused', exitCode: exitCodes.needsPerson },
  }
}

const endedWell = ({ settled, denials }: Ended): boolean => settled.ok && denials.length === 0

/** Every agent CLI ends with 0 when it did nothing, so it is looked for. A command of any other kind need not write files. */
const withChange = ({ command, cwd, startedAt }: ExecParts, ending: Ending): Ending =>
  (ending.outcome === 'done' || ending.outcome === 'refused') && command.driver.name !== 'command'
    ? { ...ending, changed: anyChanged(cwd, startedAt) }
    : ending

/** Before the first relaunch and the longest between two: a CLI that dies at once must not use up its tries within a second. */
const firstPauseMs = 500
const longestPauseMs = 8_000

/** Between two launches; false = the user stopped the command meanwhile. */
const pause = (launches: number, { signal }: ExecParts): Promise<boolean> =>
  delay(Math.min(firstPauseMs * 2 ** (launches - 1), longestPauseMs), true, { signal }).catch(() => false)

/** Runs the command to its end. Rejects only when it cannot be started at all. */
export const superviseCommand = async (parts: ExecParts): Promise<ExecResult | { fault: string }> => {
  let recovery: ReturnType<typeof createRecovery> | undefined
  let launch: Launch = { number: 1, change: { corrections: noCorrections }, because: null }
  const { startedAt } = parts
  const earlier: ObservedDenial[] = []
  for (;;) {
    const ended = await launchOnce(parts, launch)
    if ('fault' in ended) return ended
    if (ended.exit.left !== undefined) return resultOf(ended, launch.number, leftRunning(parts, ended.exit.left))
    if (parts.signal.aborted) return resultOf(ended, launch.number, { outcome: 'stopped', exitCode: 130 })
    if (recovery === undefined && endedWell(ended))
      return resultOf(ended, launch.number, withChange(parts, { outcome: 'done', exitCode: 0 }))
    recovery ??= (await import('./recover.ts')).createRecovery(parts)
    const after = await recovery(ended, launch.change)
    if ('ending' in after) {
      const told = honest(parts, { ended, ending: after.ending }, { earlier, startedAt })
      return resultOf(told.ended, launch.number, withChange(parts, told.ending))
    }
    if (!after.waited && !(await pause(launch.number, parts)))
      return resultOf(ended, launch.number, { outcome: 'stopped', exitCode: 130 })
    earlier.push(...ended.denials)
    launch = { number: launch.number + 1, change: after.next, because: after.because }
  }
}
