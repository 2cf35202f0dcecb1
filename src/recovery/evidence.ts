/**
 * What the runtime observed when something failed, in structured form. Diagnosis reads nothing else: no log is searched
 * here that a tool or a model could have written to look like trouble.
 */

import type { OwnEvidence } from './diagnosis/kinds.ts'
import type { Reading } from './probes/reading.ts'
import type { Install } from '../domain/run.ts'
import type { Saying } from './reset-time.ts'
import type { Stalled } from './stall.ts'

export interface ReportedFailure {
  source: 'event' | 'stderr' | 'exit'
  type?: string
  /** The CLI's or server's own word for it. */
  code?: string
  httpStatus?: number
  text: string
  resetAt?: Date
  /** When it was said and in which zone, for a reset time in its words; absent = none is looked for. */
  said?: Saying
}

export interface ObservedDenial {
  kind: 'scope' | 'tool' | 'filesystem' | 'safety'
  tool: string
  target?: string
  text: string
  /** Nearest existing folder of the target as realpath, and the allowed directory that covers it (looked up by the runtime). */
  directory?: string
  allowedBy?: string
  /** Of a `tool` denial: the rules of the harness that would let it through and that no launch of the run had. */
  toolRules?: string[]
  /** Of a `filesystem` denial: the folder on the way to its target that this user cannot use, where the agent may work. */
  unusable?: ObservedDirectory
}

/** A folder that is needed and cannot be read, written and entered. */
export interface ObservedDirectory {
  path: string
  problem: 'missing' | 'not a directory' | 'no access'
  /** Its permission bits (07777) and whether it is ours; absent where it could not be looked at. */
  mode?: number
  isOurs?: boolean
  /** Why its mode is never changed. */
  spared?: string
  /** The owner's bits were to be added, and that did not help. */
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
  /** Set when the command calls a package script: does the manifest have it? */
  script?: { name: string; manifest: string; exists: boolean; inBase?: boolean; replacement?: string }
  /** Set when the command names make targets: those of them for which the makefile has no rule. */
  make?: { makefile: string; missing: string[] }
  /** The same check for the packages that the change affects alone, where it was one of all packages. */
  narrowed?: string
  /** Of a `&&` chain what is left without the element that failed; absent = nothing. */
  rest?: string
  /** The runner counted no test and no file that failed. */
  countedNone?: true
  /** A file that the command names and that is not there. */
  missingFile?: string
  /** Documentation alone changed, so that no check has to be left. */
  needsNone?: true
  /** It ended with 0, but its own words say that no test ran. */
  ranNothing?: string
  /** Installs that govern the folder in which it failed; none where the checks do not run in a clone of the run's own. */
  installs?: Install[]
  /** What the machine was seen to be right after it failed. */
  readings?: Reading[]
  /** What fails, comparable between two rounds (failing-set.ts), and whether these are names of tests; absent = not looked at. */
  failing?: { items: string[]; areTests: boolean }
  /** Commands of this run that passed before this one. */
  passed?: readonly string[]
  /** What the same command does on the base commit. */
  baseline?: { state: 'passes' | 'fails' | 'no tests' | 'unknown'; detail: string; label?: string }
  /** All checks of this run in order, this one among them. */
  plan?: readonly string[]
  /** Checks of this run besides this one that are still part of the plan. */
  remaining: number
}

/** A launch that did not get on: stopped for it, or dead. */
export interface ObservedStall {
  kind: Stalled
  /** What was seen, in words. */
  text: string
  /** The call that was open, or that was made again and again. */
  call?: string
  /** What its workspace held when it was stopped; empty = nobody knows. */
  tree: string
  /** Paths that differ from the base commit; absent = nobody knows. */
  changed?: string[]
}

export type Evidence =
  /**
   * `next`: a harness that the task could go on with, on an account that takes launches. `renewedLogin`: the file of its login,
   * where that was renewed after the launch began. `opened`: a session was open before it failed. `refused`: what the failure
   * itself says was refused.
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
    }
  | {
      kind: 'denial'
      harness: string
      denials: ObservedDenial[]
      because: 'verification failed' | 'nothing changed' | 'it may be granted'
    }
  | { kind: 'stall'; stall: ObservedStall }
  /** `otherHarness`: one that the task could go on with and that did not work on it yet. */
  | { kind: 'check'; check: ObservedCheck; otherHarness?: string }
  /** Found before anything was launched. */
  | { kind: 'directory'; directory: ObservedDirectory }
  | OwnEvidence
