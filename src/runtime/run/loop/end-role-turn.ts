/** What follows a turn of a loop: the next role, the checks, or the end of the iteration. */
import type { LoopState } from '../../../domain/loop.ts'
import { afterTurn } from '../../../recovery/loop/iteration.ts'
import type { ChangeList } from '../../../workspace/repository-types.ts'
import { proposalFile } from '../../agent/start-launch.ts'
import { dropReport } from '../../agent/turn-reports.ts'
import { saveProgress, type RunContext } from '../../core/run-context.ts'
import type { PhaseResult } from '../phase.ts'
import { proposalsOn } from '../take-proposal.ts'
import { beginVerificationTime } from '../repair.ts'
import { endIteration } from './end-iteration.ts'
import { limitRole } from './limit-role.ts'
import { startTurn } from './start-turn.ts'

/**
 * A proposal about checks that failed or could not run is decided where they fail, so they run again: if the tester left one, or if the
 * environment is at fault and its repair may be known.
 */
const hasProposal = (runContext: RunContext, { tests }: LoopState): boolean =>
  tests?.state === 'failed' &&
  proposalsOn(runContext) &&
  (tests.infra === true || runContext.context.ports.files.existsSync(proposalFile(runContext)))

const verifyAs = async (runContext: RunContext, loop: LoopState, tree: string): Promise<PhaseResult> => {
  beginVerificationTime(runContext)
  await saveProgress(runContext, { phase: 'verify', tree, loop: { ...loop, before: tree } })
  return 'on'
}

const afterTester = (runContext: RunContext, loop: LoopState, { tree }: ChangeList): Promise<PhaseResult> => {
  if (!hasProposal(runContext, loop)) return startTurn(runContext, { ...loop, role: 'reviewer', before: tree })
  // Read once: the copy must not come back in a later turn.
  dropReport(runContext, 'recovery.json')
  return verifyAs(runContext, { ...loop, stage: 'recovery' }, tree)
}

/** The turn ended without an error and has been collected. */
export const endRoleTurn = async (
  runContext: RunContext,
  loop: LoopState,
  collected: ChangeList,
): Promise<PhaseResult> => {
  const found = await limitRole(runContext, loop, collected)
  const next = afterTurn[loop.role]
  if (next === 'gates') return endIteration(runContext, loop, found)
  if (next === 'proposal') return afterTester(runContext, loop, found)
  if (next === 'tests') return verifyAs(runContext, { ...loop, stage: 'tests', tests: null }, found.tree)
  return startTurn(runContext, { ...loop, role: next.turn, before: found.tree })
}
