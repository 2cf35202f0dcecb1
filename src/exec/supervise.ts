/**
 * The supervision around one agent command, without a project, a store or an engine: the same readings, diagnoses and
 * ladder as a run of the engine has, with a record that lasts as long as the command.
 */
import { noCorrections } from '../domain/run.ts'
import type { ObservedDenial } from '../recovery/evidence.ts'
import type { ExecParts, ExecResult } from './contract.ts'
import { exitCodes } from '../errors.ts'
import { leftRunning, resultOf, type Ending } from './ending.ts'
import { launchOnce, type Ended, type Launch } from './launch.ts'
import type { createRecovery } from './recover.ts'
import { standingRefusal } from './refusal.ts'

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

/** Runs the command to its end. Rejects only when it cannot be started at all. */
export const superviseCommand = async (parts: ExecParts): Promise<ExecResult | { fault: string }> => {
  let recovery: ReturnType<typeof createRecovery> | undefined
  let launch: Launch = { number: 1, change: { corrections: noCorrections }, because: null }
  const startedAt = Date.now()
  const earlier: ObservedDenial[] = []
  for (;;) {
    const ended = await launchOnce(parts, launch)
    if ('fault' in ended) return ended
    if (ended.exit.left !== undefined) return resultOf(ended, launch.number, leftRunning(parts, ended.exit.left))
    if (parts.signal.aborted) return resultOf(ended, launch.number, { outcome: 'stopped', exitCode: 130 })
    if (recovery === undefined && endedWell(ended))
      return resultOf(ended, launch.number, { outcome: 'done', exitCode: 0 })
    recovery ??= (await import('./recover.ts')).createRecovery(parts)
    const after = await recovery(ended, launch.change)
    if ('ending' in after) {
      const told = honest(parts, { ended, ending: after.ending }, { earlier, startedAt })
      return resultOf(told.ended, launch.number, told.ending)
    }
    earlier.push(...ended.denials)
    launch = { number: launch.number + 1, change: after.next, because: after.because }
  }
}
