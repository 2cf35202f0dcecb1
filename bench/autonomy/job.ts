/** The orders of the scripted agent: for each task the right work, and the fault on the way to it. */

export const agentFaults = [
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

export type AgentFault = (typeof agentFaults)[number]

export interface ScriptedChange {
  path: string
  /** Text to replace once; absent = the whole file is written. */
  before?: string
  after: string
}

export interface Job {
  /** Text by which the agent recognises the task in its prompt. */
  match: string
  fault: AgentFault
  right: ScriptedChange[]
  /** What it does instead until its prompt reports the fault. */
  wrong?: ScriptedChange[]
  /** Text in a prompt that reports the fault. */
  told?: string
  /** A file that it changes outside its task until its prompt reports it, or that it deletes. */
  file?: string
  /** Duration of the fault from the first launch. */
  seconds?: number
}

/** Files in the memory folder with which the agent and the benchmark synchronise. */
export const beganFile = 'began'
export const goFile = 'go'
/** Gets one line per launch of the agent. */
export const launchesFile = 'launches'
