/** What follows a turn of a loop: the next role, the checks, or the end of the iteration. */
import type { LoopState } from '../../../domain/loop.ts'
import { afterTurn } from '../../../recovery/loop/iteration.ts'
import type { ChangeList } from '../../../workspace/repository-types.ts'
import { saveProgress, type RunContext } from '../../core/run-context.ts'
import type { PhaseResult } from '../phase.ts'
import { beginVerificationTime } from '../repair.ts'
import { endIteration } from './end-iteration.ts'
import { limitRole } from './limit-role.ts'
import { startTurn } from './start-turn.ts'

/**
 * The checks of the iteration have their result and the tester has said why: a recovery that it proposes for checks that failed or
 * could not run is read here, before the reviewer.
 */
const afterTester = (runContext: RunContext, loop: LoopState, found: ChangeList): Promise<PhaseResult> =>
  startTurn(runContext, { ...loop, role: 'reviewer', before: found.tree })

/** The turn ended without an error and has been collected. */
export const endTurn = async (runContext: RunContext, loop: LoopState, collected: ChangeList): Promise<PhaseResult> => {
  const found = await limitRole(runContext, loop, collected)
  const next = afterTurn[loop.role]
  if (next === 'gates') return endIteration(runContext, loop, found)
  if (loop.role === 'tester') return afterTester(runContext, loop, found)
  if (next !== 'tests') return startTurn(runContext, { ...loop, role: next.turn, before: found.tree })
  beginVerificationTime(runContext)
  await saveProgress(runContext, {
    ...{ phase: 'verify', tree: found.tree },
    loop: { ...loop, stage: 'tests', before: found.tree, tests: null },
  })
  return 'on'
}
