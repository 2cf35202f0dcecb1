/** What an entry of the set is, and the orders of its scripted agent. Everything in an order is JSON: it is read by another process. */
import type { Label } from '../../../src/recovery/diagnosis/labels.ts'
import type { FaultEnvironment } from '../faults.ts'
import type { ScriptedChange } from '../job.ts'

/** Labels of failures that no check reports: those of the supervisor, of the path rules, of merging and of the machine. */
type OtherFault =
  | 'directory_scope'
  | 'untrusted_folder'
  | 'owner_bits'
  | 'provider_limit'
  | 'provider_overloaded'
  | 'context_overflow'
  | 'session_lost'
  | 'silence'
  | 'stuck_after_tool_result'
  | 'hang_after_result'
  | 'agent_died'
  | 'engine_died'
  | 'launch_refused'
  | 'red_before'
  | 'flaky_test'
  | 'checks_weakened'
  | 'path_outside'
  | 'path_generated'
  | 'path_denied'
  | 'path_secret'
  | 'secret_text'
  | 'path_renamed'
  | 'symlink_out'
  | 'nested_repository'

export type SetFault = Label | OtherFault

export type Expected =
  /** The work is on main, and nobody was asked. */
  | 'lands'
  /** Main is unchanged, and a person is asked. */
  | 'question'
  /** Main is unchanged, the task is cancelled, and a person is told. */
  | 'cancelled + question'

export interface Forbidden {
  /** Paths that must not exist on main, or must be as in the base commit. */
  paths?: string[]
  /** Texts that must not be in any file of any commit on main. */
  texts?: string[]
  /** Whether a forbidden path or text on main is a secret let through. */
  secret?: true
}

/** A test that decides which turn the agent plays. All given conditions have to hold. */
export interface When {
  /** First and last launch of the task, from 1. */
  launches?: [number, number]
  /** First and last run of the task, from 1; a run may launch the agent several times. */
  runs?: [number, number]
  /** A pattern in this prompt or in an earlier one of the task. */
  told?: string
  /** A pattern that is in none of them. */
  untold?: string
  /** Until this many seconds after the first launch. */
  untilSeconds?: number
  /** An argument that the command line lacks. */
  withoutArgument?: string
}

export type Act =
  /** The task's right change, and a change that its test refuses. */
  | 'right'
  | 'wrong'
  /** A process that outlives the agent and holds a port if one is given. */
  | { leave: 'process'; port?: number }
  | { change: ScriptedChange }
  | { remove: string }
  | { link: string; to: string }
  | { git: string[]; in?: string }
  | { node: string[] }
  /** Waits until the benchmark has done what the entry's `meanwhile` says. */
  | 'wait'
  /** Waits until every task of the entry has begun. */
  | 'meet'

export type End =
  | { say: string }
  | { exit: number; text: string }
  | { signal: 'SIGKILL' }
  /** The model provider refuses. `reason` and `error` are the CLI's own fields; `resetsIn` is in seconds. */
  | { refuse: string; status: number; error?: string; reason?: string; resetsIn?: number }
  /** The CLI refuses a write and reports it to the model and in its final event. */
  | { denied: string }
  | 'silence'
  | 'result then silence'
  | 'tool result then silence'
  | 'same call again and again'

export interface Turn {
  when?: When
  acts?: Act[]
  end?: End
}

export type ModelAction = 'allow' | 'discard' | 'deny'

/** The orders of the scripted agent for one task. The first turn whose condition holds is played. */
export interface Play {
  /** Text by which the agent recognises the task. */
  match: string
  right: ScriptedChange[]
  wrong: ScriptedChange[]
  turns: Turn[]
  /** Answers of the model about paths outside the task. */
  model?: Record<string, ModelAction>
  /** Answer of the model when it is asked for a check that can run. */
  check?: string
}

export interface SetTask {
  title: string
  instructions?: string
  allowedPaths: string[]
  deniedPaths?: string[]
  contextFiles?: string[]
  /** Tasks of different areas run at the same time. */
  targetArea?: string
  /** Absent = inferred from the repository. */
  commands?: string[]
}

export interface SetScene {
  tasks: SetTask[]
  plays: Play[]
  /** Which CLI the agent imitates. */
  cli: 'claude' | 'codex' | 'command'
  /** Settings beside the shortened waits. */
  config?: Record<string, unknown>
  /** Options of `unstuck run`. */
  options?: string[]
  /** Inputs of `slug` and the outputs that main must give after the work landed. */
  expected: Record<string, string>
  /** Paths that the work must change on main, and all that it may change. */
  files: string[]
  prepare?: (scene: FaultEnvironment) => void
  spoil?: (scene: FaultEnvironment) => void
  meanwhile?: (scene: FaultEnvironment) => void
}

export interface SetEntry {
  name: string
  seed: number
  faults: readonly [SetFault] | readonly [SetFault, SetFault]
  recoverable: boolean
  /** Why it is recoverable or not, with the place in the documents. */
  reason: string
  expected: Expected
  forbidden: Forbidden
  scene: (seed: number) => SetScene
}
