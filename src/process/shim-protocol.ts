/**
 * Types of the process layer. Each launch has a folder of its own, and its whole state is in that folder's files, so that a
 * restarted engine can reconstruct the launch from its files only.
 *
 *   spec.json      what to run (no environment: that would put secrets on disk)
 *   identity.json  identity of the shim, written before the gate opens
 *   gate           created by the engine after it committed the identity; the shim waits for it
 *   agent.json     identity of the program, written right after its start
 *   keepalive      touched by the engine; when it stops changing the shim ends the program
 *   stop.json      written by the engine to request a stop, with the cause; the shim is signalled as well
 *   unfinished.json  an incomplete line that has not grown for a while: perhaps a question to the user
 *   stdout-<offset>, stderr-<offset>   segments of redacted, bounded output
 *   exit.json      written atomically, after the whole tree has ended and the logs are complete
 */
import type { ProcessIdentity } from '../platform/process.ts'

export type OutputStream = 'stdout' | 'stderr'

/** The shim's order: one line of JSON on its standard input. */
export interface ShimOrder {
  /** The launch folder. */
  dir: string
  /** The program's, without the marker. */
  environment: Record<string, string>
}

export interface LaunchSpec {
  /** Marks every process of the tree as `UNSTUCK_RUN=<marker>` in its environment; several launches of a run may share it. */
  marker: string
  argv: string[]
  cwd: string
  /** A folder that only this launch uses: a process that still works there at the end belongs to its tree. */
  ownFolder?: string
  stdinFile: string | null
  /** The program is stopped with cause `limit` after this long. */
  limitMs: number
  /** The program is stopped with cause `abandoned` when `keepalive` did not change for this long. */
  keepAliveMs: number
  /** Grace period between SIGTERM and SIGKILL. */
  graceMs: number
  /** A longer line is cut, with a note. */
  lineMaxBytes: number
  /** Per stream: the head and the tail are kept up to this total; the middle is dropped and shows as a gap. */
  logMaxBytes: number
}

export type StopCause =
  | 'limit'
  | 'abandoned'
  | 'cancelled'
  | 'correction'
  | 'message'
  | 'budget'
  | 'lingering'
  | 'waiting_for_person'
  | 'stuck_after_tool_result'
  | 'hanging_tool'
  | 'silence'
  | 'doom_loop'
  | 'shutdown'
  | 'gate'

export interface LaunchExit {
  code: number | null
  signal: string | null
  /** The first requested cause; absent when the program ended by itself. */
  cause?: StopCause
  /** Set when the program could not be started at all. */
  spawnError?: string
  forced: boolean
  /** Processes of the tree that even SIGKILL did not end within 30 s; absent = all are gone. */
  survivors?: number
  startedAt: string | null
  endedAt: string
  durationMs: number
}

/** What exit.json holds. */
export interface ExitRecord extends LaunchExit {
  /** `shimName` of the shim that wrote the record; absent in records of older versions. */
  shim?: string
}

export interface Shim {
  dir: string
  identity: ProcessIdentity
}

/** State of a launch as its files show it. `lost` = the shim is dead and left no exit record. */
export type LaunchState =
  | { state: 'absent' }
  | { state: 'at-gate'; shim: Shim }
  | { state: 'running'; shim: Shim }
  | { state: 'ended'; exit: LaunchExit }
  | { state: 'lost'; shim?: Shim }
