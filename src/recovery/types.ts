/**
 * What diagnosis hands to the ladder: a label and the facts of this label. The union below is closed, so the compiler rejects
 * a playbook for an unknown label, a playbook that reads a fact its labels do not have, and a diagnosis without its facts.
 */
import type { Install } from '../domain/install.ts'
import type { DirectFinding } from './diagnosis/direct-evidence.ts'
import type { ClaimLabel, Label, LabelMeaning } from './diagnosis/labels.ts'
import type { NoProgress } from './stall.ts'

/** Modes in octal digits. The old one is recorded so that a person can revert the change. */
export interface ModeChange {
  directory: string
  oldMode: string
  newMode: string
}

/** The evidence text is all that is known. */
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
  /** Rules of the harness that would allow the refused tool call. */
  toolRules?: string[]
}

export interface FolderFacts {
  directory?: string
  /** The change of mode that adds the missing owner's bits, where the directory belongs to the user of Unstuck. */
  chmod?: ModeChange
  /** Why the owner's bits could not be added, or why adding them did not help. */
  chmodFailed?: string
}

export interface LimitFacts {
  /** When the limit resets, and how long that was away when the provider stated it. */
  resetAt?: Date
  resetInMs?: number
}

export interface QuotaFacts extends LimitFacts {
  /** Another harness that the task could continue with. */
  nextHarness?: string
}

export interface LoginFacts {
  /** The file of the refused login, if it was renewed during the launch. */
  renewedLogin?: string
}

export interface LeftFacts {
  /** Git tree of what the agent left; absent = it left no change, there is no check for it, or it cannot be read. */
  left?: string
}

export interface StallFacts extends LeftFacts {
  /** Git tree of the workspace when the agent was stopped; empty = unknown. */
  tree: string
  /** Paths that differ from the base commit; absent = unknown. */
  changed?: string[]
  /** The call during which the agent hung, or that it repeated. */
  call?: string
  /** Programs that it had started before it opened a session, such as servers of tools. */
  started?: readonly string[]
  /** Its process died, without having reported a failure, on the files that an earlier restart left. */
  again?: true
}

/** What an agent is told about a failed check, and what is compared later to see whether that helped. */
export interface Feedback {
  command: string
  /** See failing-set.ts. */
  failing: string[]
  text: string
}

export interface CheckFacts {
  command: string
  /** Feedback for the agent; set if the work is to blame. */
  feedback?: Feedback
  /** Another harness that has not worked on the task yet, for a failure that the present one does not fix. */
  otherHarness?: string
  /** The number of other checks that are still part of the plan. */
  remaining: number
  /** What is wrong with the machine, as a probe found. */
  machine?: string
  /** Files of the owner's checkout that the check misses, and that are copied only if their owner says so. */
  copyable?: string[]
  /** For a person: the failing tests and the line with the cause; absent where the output names neither. */
  failure?: { tests: string[]; cause?: string }
  /** Nothing was checked, because the command can run neither here nor on the base commit. */
  cannotRun?: true
  /** It fails on the base commit as well. */
  redOnBase?: true
  /** It fails exactly as before the work, and the task does not name it: the agent is told at most once. */
  unchanged?: true
  /** Where the check is defined (`ObservedCheck.source`). */
  source?: string
}

export interface UnrunnableFacts extends CheckFacts {
  /** The command cannot check anything here, and the work is not the cause. */
  droppable?: true
  /** The run may not drop it (`verify.skipMissingExplicitScript`); the next start of its task may be without it. */
  adjustable?: true
  /** The command cannot be run as written, and the work is not the cause; another wording may work. */
  askable?: true
  /** The rest of a chain when the failed element is dropped. */
  rest?: string
  /** The work needs no check, so the last check may be dropped. */
  needsNone?: true
}

interface Narrowable {
  /** The same check, only for the packages that the change affects. */
  narrowed?: string
}

interface Replaceable {
  /** An existing script of the same purpose. */
  replacement?: string
}

export interface InstallFacts extends CheckFacts {
  /** The install that may provide what the check lacks. */
  install?: Install
}

export interface SequenceFacts extends CheckFacts {
  /** All checks in an order in which this one can run. */
  order?: string[]
  /** The command of that order that is no check yet: the build that was seen to make this one run. */
  build?: string
  /** The packages that this build needs. */
  install?: Install
}

type InstallLabel = 'corrupted_install' | 'dependency_version_conflict'
type MissingLabel = 'dependency_missing' | 'command_not_found'
type UnrunnableLabel = 'invalid_usage' | 'missing_make_target' | 'no_test_files' | 'missing_script'

/** Labels of a failed check without facts of their own. */
type PlainLabel = Exclude<Label, ClaimLabel | InstallLabel | MissingLabel | UnrunnableLabel | 'sequence_issue'>

interface Of<L extends string, Facts> {
  label: L
  facts: Facts
}

/** Every label with its facts. A new label joins the line with the same facts, or gets its own line. */
type Found =
  | Of<'GIT_TRUST_ERROR' | 'GIT_CHECK_ERROR' | 'DANGEROUS_COMMAND' | 'launch_refused', NoFacts>
  | Of<'session_lost' | 'unknown', LeftFacts>
  | Of<'SANDBOX_ERROR' | 'DIR_SCOPE_ERROR', ScopeFacts>
  | Of<'TOOL_DENIED', ToolFacts>
  | Of<'FS_PERM_ERROR', FolderFacts>
  | Of<'DIRECTORY_MISSING', { directory: string }>
  | Of<'llm_quota', QuotaFacts>
  | Of<'auth_failure', LoginFacts>
  | Of<'model_missing' | 'context_overflow', NoFacts>
  | Of<'provider_overloaded' | 'network_transient' | 'stream_cut' | 'temporary_failure', LimitFacts>
  | Of<NoProgress, StallFacts>
  | Of<'check_failed' | PlainLabel, CheckFacts>
  | Of<'unsupported_format' | 'invalid_usage' | 'missing_make_target', UnrunnableFacts>
  | Of<'no_test_files', UnrunnableFacts & Narrowable>
  | Of<'missing_script', UnrunnableFacts & Narrowable & Replaceable>
  | Of<InstallLabel, InstallFacts>
  | Of<MissingLabel, InstallFacts & Narrowable>
  | Of<'sequence_issue', SequenceFacts>
  | DirectFinding

type KeyOf<T> = T extends unknown ? keyof T : never
type ValueOf<T, K> = T extends unknown ? (K extends keyof T ? Exclude<T[K], undefined> : never) : never

/** For code that reads any diagnosis: every fact that some label has. Playbooks get the facts of their own labels only. */
export type AnyFacts = { [K in KeyOf<Found['facts']>]?: ValueOf<Found['facts'], K> }

export type DiagnosisLabel = Found['label']

interface Described extends Omit<LabelMeaning<DiagnosisLabel>, 'label'> {
  /** The line or fact that shows the failure, verbatim. */
  evidence: string
}

/** `seen`: what probes found. Part of the evidence but not of the signature, because numbers such as free space vary. */
export type Finding = Described & { seen?: readonly string[] } & Found

/** `signature`: equal for repetitions of the same failure. */
export type Diagnosis = Described & { signature: string } & Found

type Labelled<D, L> = D extends { label: infer Own }
  ? [Extract<Own, L>] extends [never]
    ? never
    : D & { label: Extract<Own, L> }
  : never

/** The diagnoses that these labels can have. */
export type DiagnosisOf<L extends DiagnosisLabel> = Labelled<Diagnosis, L>
