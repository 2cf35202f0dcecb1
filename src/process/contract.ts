/**
 * Types of the process layer. One launch lives in one folder; everything about it is in that folder's files, so that a
 * restarted engine learns from the files alone what became of it.
 *
 *   spec.json      what to run (no environment: that would put secrets on disk)
 *   identity.json  who the shim is, written before the gate
 *   gate           made by the engine after it committed the identity; the shim waits for it
 *   agent.json     who the program is, written right after its start
 *   keepalive      touched by the engine; when it stops changing the shim ends the program
 *   stop.json      made by the engine to ask for a stop, with the cause; the shim is signalled as well
 *   unfinished.json  the end of a line that the program began a while ago and did not end: perhaps a question
 *   stdout-<offset>, stderr-<offset>   segments of redacted, bounded output
 *   exit.json      written atomically, after the whole tree is gone and the logs are complete
 */
import type { ProcessIdentity } from '../platform/process.ts'

export type Stream = 'stdout' | 'stderr'

/** What a shim is told, once, through its standard input: one line of JSON. */
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
  /** A folder in which nothing but this launch works: what still works there in the end is a part of its tree. */
  ownFolder?: string
  stdinFile: string | null
  /** The program is stopped with cause `limit` after this long. */
  limitMs: number
  /** The program is stopped with cause `abandoned` when `keepalive` did not change for this long. */
  keepAliveMs: number
  /** Between SIGTERM and SIGKILL. */
  graceMs: number
  /** A longer line is cut and says so. */
  lineMaxBytes: number
  /** Per stream: a head and a tail of this total are kept, the middle is dropped and says so. */
  logMaxBytes: number
}

export type StopCause =
  | 'limit'
  | 'abandoned'
  | 'cancelled'
  | 'correction'
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
  /** First cause wins; absent when the program ended by itself. */
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
  /** `shimName` of who wrote it; absent in records of older versions. */
  shim?: string
}

export interface Shim {
  dir: string
  identity: ProcessIdentity
}

/** What the files say. `lost` = the shim is dead and left no exit file. */
export type LaunchState =
  | { state: 'absent' }
  | { state: 'at-gate'; shim: Shim }
  | { state: 'running'; shim: Shim }
  | { state: 'ended'; exit: LaunchExit }
  | { state: 'lost'; shim?: Shim }
