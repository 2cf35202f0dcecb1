/**
 * What the runtime observed when something failed, in structured form. Diagnosis reads nothing else: it never searches a log,
 * because a tool or a model could have written anything there.
 */

import type { DirectEvidence } from './diagnosis/direct-evidence.ts'
import type { AbsentFile } from './probes/absent-files.ts'
import type { Measurement } from './probes/measurement.ts'
import type { Install } from '../domain/install.ts'
import type { MessageTime } from './reset-time.ts'
import type { NoProgress } from './stall.ts'

export interface ReportedFailure {
  source: 'event' | 'stderr' | 'exit'
  type?: string
  /** The error code of the CLI or the server. */
  code?: string
  httpStatus?: number
  text: string
  resetAt?: Date
  /** When and in which time zone the text was written, for a reset time in it; absent = the text is not searched for one. */
  messageTime?: MessageTime
}

export interface ObservedDenial {
  kind: 'scope' | 'tool' | 'filesystem' | 'safety'
  tool: string
  target?: string
  text: string
  /** Nearest existing folder of the target (realpath), and the allowed directory that covers it. */
  directory?: string
  allowedBy?: string
  /** Of a `tool` denial: the rules of the harness that would allow it and that no launch of the run had. */
  toolRules?: string[]
  /** Of a `filesystem` denial where the agent may work: the folder above the target that this user cannot use. */
  unusable?: ObservedDirectory
}

/** A required folder that cannot be read, written and entered. */
export interface ObservedDirectory {
  path: string
  problem: 'missing' | 'not a directory' | 'no access'
  /** The permission bits (07777), and whether the folder belongs to this user; absent where `stat` failed. */
  mode?: number
  isOurs?: boolean
  /** Why Unstuck never changes the mode of this folder. */
  spared?: string
  /** Why adding the owner's bits failed or did not help. */
  failed?: string
}

export interface ObservedCheck {
  command: string
  source: 'task' | 'config' | 'contract' | 'inferred'
  exitCode: number | null
  signal: string | null
  timedOut: boolean
  spawnError?: string
  stdout: string
  stderr: string
  /** Set when the command line could not be planned without a shell. */
  unsupported?: { piece: string; reason: string }
  /** Set when the command calls a package script: whether the manifest has it. */
  script?: { name: string; manifest: string; exists: boolean; inBase?: boolean; replacement?: string }
  /** Set when the command names make targets: the targets without a rule in the makefile. */
  make?: { makefile: string; missing: string[] }
  /** The same check, only for the packages that the change affects, if the command runs in all packages. */
  narrowed?: string
  /** The rest of a `&&` chain without the failed element; absent = nothing is left. */
  rest?: string
  /** The runner counted no test and no failed file. */
  countedNone?: true
  /** A file of the command line that does not exist. */
  missingFile?: string
  /** The task names the command, and its owner wants such a command to block if it cannot run: nothing may take its place. */
  mustRun?: true
  /** Only documentation changed, so the last check may be dropped. */
  needsNone?: true
  /** The line with which the runner reports that no test ran, although the command ended with 0. */
  ranNothing?: string
  /** Installs for the folder in which the command failed; none where the run has no clone of its own. */
  installs?: Install[]
  /** A command of the repository after which the check ran, seen in the clone of the checks. `install`: what that command needed itself. */
  build?: { command: string; install?: Install }
  /** What the agent wrote where git ignores it, and the output says is missing; it is not part of the work. */
  unkept?: readonly AbsentFile[]
  /** How an install for it ended that the work's own manifest and lockfile make impossible. */
  refusedInstall?: string
  /** What the probes measured right after the failure. */
  measurements?: Measurement[]
  /** What fails, comparable between two rounds (failing-set.ts). `areTests`: the items are names of tests. Absent = unknown. */
  failing?: { items: string[]; areTests: boolean }
  /** Commands of this run that passed before this one. */
  passed?: readonly string[]
  /** The result of the same command on the base commit. */
  baseline?: {
    state: 'passes' | 'fails' | 'no tests' | 'unknown'
    detail: string
    label?: string
    /** It fails there in exactly the same way, so the work made it neither better nor worse. */
    isSame?: true
  }
  /** Paths that the work changed; absent = unknown. */
  changed?: readonly string[]
  /** The task asks for what the output says is missing, or for the check to pass. */
  asked?: true
  /** All checks of this run in order, including this one. */
  plan?: readonly string[]
  /** The number of other checks that are still part of the plan. */
  remaining: number
}

/** A launch without progress: it was stopped for that, or its process died. */
export interface ObservedStall {
  kind: NoProgress
  /** What was observed, as prose. */
  text: string
  /** The call that was open or was repeated. */
  call?: string
  /** Programs that it had started before it opened a session and that were as silent: it may wait for one of them. */
  started?: readonly string[]
  /** Git tree of the workspace when the launch ended; empty = unknown. */
  tree: string
  /** Paths that differ from the base commit; absent = unknown. */
  changed?: string[]
  /** See `LeftFacts` and `StallFacts`. */
  left?: string
  again?: true
}

export type Evidence =
  /**
   * `next`: a harness that the task could continue with, whose account is not at a limit. `renewedLogin`: the file of the login,
   * if it was renewed after the launch began. `opened`: a session was open before the failure. `refused`: what was refused,
   * according to the failure itself. `proxy`: a proxy of the CLI's environment that does not answer. `left`: see `LeftFacts`.
   */
  | {
      kind: 'launch'
      harness: string
      failure: ReportedFailure
      denials: ObservedDenial[]
      next?: string
      renewedLogin?: string
      opened?: true
      refused?: ObservedDenial[]
      proxy?: string
      left?: string
    }
  | {
      kind: 'denial'
      harness: string
      denials: ObservedDenial[]
      because: 'verification failed' | 'nothing changed' | 'it may be granted'
    }
  | { kind: 'stall'; stall: ObservedStall; proxy?: string }
  /** `otherHarness`: a harness that has not worked on the task yet. */
  | { kind: 'check'; check: ObservedCheck; otherHarness?: string }
  /** Found before the launch. */
  | { kind: 'directory'; directory: ObservedDirectory }
  | DirectEvidence
