/**
 * What diagnosis gives to the ladder: a label, and the facts that this label carries. The union below is closed, so a playbook
 * cannot answer a label that does not exist nor read a fact that its labels do not have, and no diagnosis lacks one.
 */
import type { Install } from '../domain/run.ts'
import type { OwnFound } from './diagnosis/kinds.ts'
import type { ClaimLabel, Label, Meaning } from './diagnosis/labels.ts'
import type { Stalled } from './stall.ts'

/** Modes in octal digits. The old one is kept so that a person can take the change back. */
export interface ModeChange {
  directory: string
  oldMode: string
  newMode: string
}

/** The evidence says all there is. */
export interface NoFacts {
  none?: never
}

/** The refused call. */
export interface RefusedCall {
  tool: string
  target?: string
}

export interface ScopeFacts {
  refused?: RefusedCall
  /** The refused folder, and the allowed directory that covers it. */
  directory?: string
  allowedBy?: string
}

export interface ToolFacts {
  refused?: RefusedCall
  /** Rules of the harness that would let the refused tool call through. */
  toolRules?: string[]
}

export interface FolderFacts {
  directory?: string
  /** The directory is ours and lacks bits of its owner: what adding them changes. */
  chmod?: ModeChange
  /** Why the owner's bits could not be added to the directory, or did not help. */
  chmodFailed?: string
}

export interface LimitFacts {
  /** Until when the provider refuses, and how far away that was when it was said. */
  resetAt?: Date
  resetInMs?: number
}

export interface QuotaFacts extends LimitFacts {
  /** Another harness that the task could go on with. */
  nextHarness?: string
}

export interface LoginFacts {
  /** The file of the refused login, where it holds a newer one. */
  renewedLogin?: string
}

export interface StallFacts {
  /** What the workspace held when the agent was stopped; empty = unknown. */
  tree: string
  /** Paths that differ from the base commit; absent = unknown. */
  changed?: string[]
  /** The call at which the agent stood still or went in circles. */
  call?: string
}

/** What an agent is told of a check that its work fails, and what shows later whether that helped. */
export interface Feedback {
  command: string
  /** See failing-set.ts. */
  failing: string[]
  text: string
}

export interface CheckFacts {
  command: string
  /** The work is to blame, so it can go back to its agent. */
  feedback?: Feedback
  /** Another harness that the task could go on with, although its own account takes launches. */
  otherHarness?: string
  /** Checks of the run besides this one that are still part of the plan. */
  remaining: number
  /** What of the machine is at fault, as a probe saw it. */
  machine?: string
  /** For a person: which tests fail and the line that tells why; absent where the output names neither. */
  failure?: { tests: string[]; cause?: string }
  /** Nothing was checked: the command cannot run, here or on the base commit. */
  cannotRun?: true
  /** It fails on the base commit as well. */
  redOnBase?: true
  /** Where the check comes from. */
  source?: string
}

export interface UnrunnableFacts extends CheckFacts {
  /** The command cannot check anything here, and the work is not the reason. */
  droppable?: true
  /** The same, also where it could be run with other words. */
  askable?: true
  /** Of a chain what still runs when the element that failed is dropped. */
  rest?: string
  /** No check has to be left. */
  needsNone?: true
}

interface Narrowable {
  /** The same check for the packages that the change affects alone. */
  narrowed?: string
}

interface Replaceable {
  /** A script of the same intent that exists. */
  replacement?: string
}

export interface InstallFacts extends CheckFacts {
  /** What may bring what the check misses. */
  install?: Install
}

export interface SequenceFacts extends CheckFacts {
  /** All checks in an order in which this one can run. */
  order?: string[]
}

type InstallLabel = 'corrupted_install' | 'dependency_version_conflict'
type MissingLabel = 'dependency_missing' | 'command_not_found'
type UnrunnableLabel = 'invalid_usage' | 'missing_make_target' | 'no_test_files' | 'missing_script'

/** Labels of a failed check that offer no action by themselves. */
type PlainLabel = Exclude<Label, ClaimLabel | InstallLabel | MissingLabel | UnrunnableLabel | 'sequence_issue'>

interface Of<L extends string, Facts> {
  label: L
  facts: Facts
}

/** Every label with its facts. A new one joins the line that has its facts, or gets a line. */
type Found =
  | Of<
      'GIT_TRUST_ERROR' | 'GIT_CHECK_ERROR' | 'DANGEROUS_COMMAND' | 'launch_refused' | 'session_lost' | 'unknown',
      NoFacts
    >
  | Of<'SANDBOX_ERROR' | 'DIR_SCOPE_ERROR', ScopeFacts>
  | Of<'TOOL_DENIED', ToolFacts>
  | Of<'FS_PERM_ERROR', FolderFacts>
  | Of<'DIRECTORY_MISSING', { directory: string }>
  | Of<'llm_quota', QuotaFacts>
  | Of<'auth_failure', LoginFacts>
  | Of<'model_missing' | 'context_overflow', NoFacts>
  | Of<'provider_overloaded' | 'network_transient' | 'stream_cut' | 'temporary_failure', LimitFacts>
  | Of<Stalled, StallFacts>
  | Of<'check_failed' | PlainLabel, CheckFacts>
  | Of<'unsupported_format' | 'invalid_usage' | 'missing_make_target', UnrunnableFacts>
  | Of<'no_test_files', UnrunnableFacts & Narrowable>
  | Of<'missing_script', UnrunnableFacts & Narrowable & Replaceable>
  | Of<InstallLabel, InstallFacts>
  | Of<MissingLabel, InstallFacts & Narrowable>
  | Of<'sequence_issue', SequenceFacts>
  | OwnFound

type KeyOf<T> = T extends unknown ? keyof T : never
type ValueOf<T, K> = T extends unknown ? (K extends keyof T ? Exclude<T[K], undefined> : never) : never

/** For readers of every diagnosis: what may be there, if the label has it. Playbooks get the facts of their own labels. */
export type AnyFacts = { [K in KeyOf<Found['facts']>]?: ValueOf<Found['facts'], K> }

export type DiagnosisLabel = Found['label']

interface Described extends Omit<Meaning<DiagnosisLabel>, 'label'> {
  /** The line or fact that shows it, as it was found. */
  evidence: string
}

/** `seen`: what probes saw. It belongs to the evidence, but free space and pids tell no two failures apart. */
export type Finding = Described & { seen?: readonly string[] } & Found

/** `signature`: equal for failures that are the same one again. */
export type Diagnosis = Described & { signature: string } & Found

type Labelled<D, L> = D extends { label: infer Own }
  ? [Extract<Own, L>] extends [never]
    ? never
    : D & { label: Extract<Own, L> }
  : never

/** The diagnoses that these labels can have. */
export type DiagnosisOf<L extends DiagnosisLabel> = Labelled<Diagnosis, L>
