/** What the scripted agent is given: for each task the work that is right, and what goes wrong on the way to it. */

export const faults = [
  'none',
  'crash once',
  'crash always',
  'overload',
  'limit',
  'hang once',
  'wrong first',
  'stray file',
  'nothing once',
  'never right',
  'deletes the test',
  'leaves processes',
  'waits for the user',
  'not now once',
  'unknown exit once',
] as const

export type Fault = (typeof faults)[number]

export interface Change {
  path: string
  /** Text that is replaced once; absent: the whole file is written. */
  before?: string
  after: string
}

export interface Job {
  /** Words of the task by which the agent knows it in its prompt. */
  match: string
  fault: Fault
  right: Change[]
  /** What it does instead until it is told. */
  wrong?: Change[]
  /** Words in a prompt that tell it what was wrong. */
  told?: string
  /** A file that it leaves outside of its task until it is told, or that it deletes. */
  file?: string
  /** How long the fault lasts from the first launch. */
  seconds?: number
}

/** Files of the memory folder by which the agent and the bench tell each other how far they are. */
export const beganFile = 'began'
export const goFile = 'go'
/** One line for each launch of the agent. */
export const launchesFile = 'launches'
