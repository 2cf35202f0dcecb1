/**
 * A task of kind `loop`: one run works on it in iterations. Each iteration has four turns, one role after the other, in the same
 * workspace and under the same lease. The state is stored with the run, in the transaction of the phase that it belongs to.
 */
export const loopRoles = ['planner', 'worker', 'tester', 'reviewer'] as const
export type LoopRole = (typeof loopRoles)[number]

export interface RoleTurn {
  /** 1, 2, … */
  iteration: number
  role: LoopRole
}

/** The result of the checks that Unstuck runs before the tester's turn. */
export interface IterationTests {
  state: 'passed' | 'failed' | 'none'
  /** The tree that they ran on. */
  tree: string
  /** For people and agents, one line. */
  text: string
  /** Equal for the same failure; empty = unknown, or nothing failed. */
  signature: string
  /** The environment is at fault by its diagnosis, so a known repair may help where nobody proposed one. */
  infra?: true
}

/**
 * `turn`: an agent works in its role. `tests`: the checks run between the turns of worker and tester. `recovery`: what the tester proposed
 * against a broken environment is decided, and the checks run again. `landing`: promise and gates
 * hold, and the work is verified, committed and merged like that of any task. `asked`: a person was asked.
 */
export const loopStages = ['turn', 'tests', 'recovery', 'landing', 'asked'] as const
export type LoopStage = (typeof loopStages)[number]

export interface LoopState extends RoleTurn {
  stage: LoopStage
  /** The last iteration before a person is asked. */
  limit: number
  /** Tree of the workspace when the turn began, to which changes that the role may not make are put back. */
  before: string | null
  /** Of this iteration; null = they have not run yet. */
  tests: IterationTests | null
  /** How the iterations ended so far, oldest first; empty texts are unknown and never equal. */
  signatures: string[]
  /** What the last iteration left open, for the turns of this one. */
  open: string
  /** The recoveries of the task before this turn: what helped an earlier turn may be needed again in this one. */
  recoveries: number
}

/** "iteration 2 of 20, tester" */
export const turnText = ({ iteration, limit, role }: Pick<LoopState, 'iteration' | 'limit' | 'role'>): string =>
  `iteration ${iteration} of ${limit}, ${role}`

/** For a view: the turn, or what happens between two turns. */
export const loopText = (loop: Pick<LoopState, 'iteration' | 'limit' | 'role' | 'stage'>): string => {
  if (loop.stage === 'turn') return turnText(loop)
  const [iteration = ''] = turnText(loop).split(',')
  return `${iteration}, ${{ tests: 'checks', recovery: 'recovery', landing: 'complete', asked: 'over' }[loop.stage]}`
}
