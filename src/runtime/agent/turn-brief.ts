/** What an agent in a role of a loop reads in its brief beside the task: its role, the turn, and what it may write. */
import { turnText, type LoopRole, type LoopState } from '../../domain/loop.ts'
import type { RunContext } from '../core/run-context.ts'
import type { BriefInput } from './brief.ts'
import { loopInstructions } from './role-instructions.ts'

const ownFiles: Record<Exclude<LoopRole, 'worker'>, string> = {
  planner: 'the plan',
  tester: 'your reports',
  reviewer: 'your reports',
}

const reportNames =
  'goal.md (the goal in full), plan.md, implementation.md, test-results.json and test-output.txt (the checks as Unstuck ran them), test-report.md, review.md'

const testsLine = ({ tests }: LoopState): string[] =>
  tests === null ? [] : [`Checks of this iteration, run by Unstuck: ${tests.text}`]

const turnLines = ({ paths, task }: RunContext, loop: LoopState): string[] => [
  `This is ${turnText(loop)}.`,
  `The reports of the turns before are in ${paths.agentDir} (also $UNSTUCK_RUN_DIR), those that exist: ${reportNames}.`,
  ...(loop.role === 'planner' && task.commands.length > 0 ? [] : testsLine(loop)),
  ...(loop.open === '' ? [] : [`What the last iteration left open:\n${loop.open}`]),
]

const writesLines = (runContext: RunContext, role: Exclude<LoopRole, 'worker'>): string[] => {
  const { plan_files: planned } = runContext.context.config().loop
  const more = role === 'planner' && planned.length > 0 ? ` and ${planned.join(', ')} in the repository` : ''
  return [
    `Write only ${ownFiles[role]} in ${runContext.paths.agentDir}${more}. Any other change is undone after your turn.`,
  ]
}

export const turnBrief = (
  runContext: RunContext,
  loop: LoopState,
): Pick<BriefInput, 'roleText' | 'turnLines'> & { writes?: string[] } => ({
  roleText: loopInstructions(runContext.context, loop.role),
  turnLines: turnLines(runContext, loop),
  ...(loop.role === 'worker' ? {} : { writes: writesLines(runContext, loop.role) }),
})
