/**
 * A run: one attempt at a task. Its `phase` is written before each step's effect, so that a restarted engine goes on
 * where the files and refs say it really is. `launches` holds the accumulated corrections.
 */
import type { Flow } from './flow.ts'
import { addSpend, noSpend, type Spend } from './budget.ts'
import type { CommandSource } from './task.ts'

export const runStates = ['running', 'success', 'failed', 'cancelled'] as const
export type RunState = (typeof runStates)[number]

export const runPhases = ['prepare', 'launch', 'supervise', 'collect', 'verify', 'policy', 'commit', 'finish'] as const
export type RunPhase = (typeof runPhases)[number]

/** What a person reads for each phase. */
export const phaseWords: Record<RunPhase, string> = {
  prepare: 'preparing',
  launch: 'preparing',
  supervise: 'the agent is working',
  collect: 'collecting its changes',
  verify: 'checking',
  policy: 'checking the changed paths',
  commit: 'committing',
  finish: 'finishing',
}

/** What differs from a plain launch. Every launch correction adds to it; grants end with the run. */
export interface LaunchCorrections {
  addDirs: string[]
  skipGitCheck: boolean
  /** Rules for single tools, in the words of the harness. Absent = none. */
  toolRules?: string[]
}

/** One start of the agent within a run. */
export interface Launch {
  number: number
  corrections: LaunchCorrections
  resumeSession: string | null
  hint: string | null
  /** The check for which this launch is only asked for a command, with the hint as its whole prompt. */
  ask?: string
  /** Set before the gate opens. Null = the gate was never opened, so the agent did not run. */
  shim: { host: string; bootId: string; pid: number; startTime: string } | null
  gateOpened: boolean
  startedAt: string | null
  /** `loginStamp` before the gate opened; absent in launches of older versions. */
  loginBefore?: string | null
  /** What this launch used, written when it ended; the run's spend is the sum. */
  spend: Spend | null
}

/** Who asked for a check: `contract` is the repository's `.unstuck/verify.contract.json`. */
export type CheckSource = CommandSource | 'contract'

/** How one verification command ended. */
export interface CheckResult {
  command: string
  source: CheckSource
  exitCode: number | null
  signal: string | null
  timedOut: boolean
  durationMs: number
  /** It ended with 0 and its own words say that no test ran: not a pass. */
  ranNothing?: string
  /** It failed and does not block. */
  excused?: Excuse
  /** What the same command does on the base commit, where that was asked. */
  baseline?: string
}

/** Why a check that failed does not block. It is listed wherever the verdict is shown. */
export interface Excuse {
  because: 'flaky' | 'fails on the base commit'
  /** What fails, by name where the runner names it. */
  failing: string[]
  /** Other tests of the same command ran and passed, or the command passed when it was run again. */
  proves: boolean
}

/** Whether a check shows something about the work: it passed, or tests of it did. */
export const proves = (check: CheckResult): boolean =>
  check.excused === undefined
    ? check.exitCode === 0 && !check.timedOut && check.ranNothing === undefined
    : check.excused.proves

/** What fails in a check and failed on the base commit as well. */
export interface StillRed {
  command: string
  /** By name where the runner names it. */
  failing: string[]
}

/** What was red before the work and stayed red: it does not block, and is named wherever the verdict is shown. */
export const stillRed = (checks: readonly CheckResult[]): StillRed[] =>
  checks.flatMap(({ command, excused }) =>
    excused?.because === 'fails on the base commit' ? [{ command, failing: excused.failing }] : [],
  )

/** Work of which no check shows anything is never verified; `needsNone`: it is documentation alone, or no change. */
export const outcomeOf = (checks: readonly CheckResult[], needsNone: boolean): Verdict['outcome'] => {
  if (checks.some(proves)) return 'verified'
  return needsNone && checks.length === 0 ? 'nothing to verify' : 'not verified'
}

/** Why a run failed; stored as `runs.errorMeta`. */
export interface ErrorMeta {
  source: 'execution' | 'verification' | 'policy' | 'merge' | 'engine' | 'person'
  failureCode: string
  message: string
  evidence: string
  signature: string
  failedCommand?: string
  failedCommandSource?: string
  failedCommandStderr?: string
  policyViolations?: { path: string; kind: string; rule: string }[]
}

/** A check that was asked for and did not run as asked. */
export interface Dropped {
  command: string
  reason: string
  /** The weaker check that ran in its place. */
  by?: string
}

/** What the gates found: the judge `auto` decides from this alone. */
export interface Verdict {
  outcome: 'verified' | 'nothing to verify' | 'not verified'
  checks: CheckResult[]
  /** Checks that were asked for and are not part of the verdict, with the reason. */
  dropped: Dropped[]
  changedPaths: string[]
  /** Denials that the agent met on the way but that did not matter in the end. */
  notes: string[]
  /** What the checks ran on: no other tree may be committed. Absent where none was accepted, and in older verdicts. */
  tree?: string
  /** The agent changed nothing, and checks that were asked for show that nothing had to be: the verdict is all there is. */
  noChange?: true
  /** What the work took from its tests and made of its checks; absent in older verdicts. What the task does not name waits for a person. */
  weakened?: Weakening[]
  /** All checks in the order in which they ran, where that is not the order in which they were asked for. */
  order?: string[]
  /** The checks ran with what these brought; wherever they run again, these run first. */
  installed?: Install[]
}

export const emptyVerdict: Verdict = {
  outcome: 'not verified',
  checks: [],
  dropped: [],
  changedPaths: [],
  notes: [],
}

/** What stays when the work is looked at anew: how the checks came to be those that they are. */
export const keptVerdict = (verdict: Verdict | null): Verdict => ({
  ...emptyVerdict,
  dropped: verdict?.dropped ?? [],
  ...(verdict?.order === undefined ? {} : { order: verdict.order }),
  ...(verdict?.installed === undefined ? {} : { installed: verdict.installed }),
})

/** The same where nothing may be told that was not looked at: null where nothing stays. */
export const carriedVerdict = (verdict: Verdict | null): Verdict | null => {
  const kept = keptVerdict(verdict)
  return kept.dropped.length === 0 && kept.installed === undefined && kept.order === undefined ? null : kept
}

/** What a package manager brought into the run's clone, because a check could not run without it. */
export interface Install {
  manager: string
  /** Where its commands run, relative to the workspace; '' = its top. */
  folder: string
  commands: string[][]
}

export interface Weakening {
  kind:
    | 'file deleted'
    | 'test removed'
    | 'test skipped'
    | 'test focused'
    | 'assertion removed'
    | 'assertion loosened'
    | 'snapshot changed'
    | 'test renamed'
    | 'check redefined'
    | 'configuration changed'
    | 'threshold lowered'
  path: string
  count: number
  detail: string
}

/** Written before the commit is made: with the same author and time a replay makes the same object. */
export interface CommitIntent {
  /** Null where the user has no git identity: then the commit is by Unstuck. */
  author: { name: string; email: string } | null
  /** For author and committer, in git's own form: `@<seconds> <zone>`. */
  at: string
}

export interface Run {
  id: string
  taskId: string
  goalId: string
  /** 1, 2, … within its task. */
  number: number
  epoch: number
  agentId: string
  harness: string
  state: RunState
  phase: RunPhase
  baseCommit: string | null
  launches: Launch[]
  sessionId: string | null
  spend: Spend
  /** Tree of the collected work and the commit made from its permitted part. */
  tree: string | null
  commitIntent: CommitIntent | null
  commit: string | null
  verdict: Verdict | null
  errorMeta: ErrorMeta | null
  /** A person asked for its end; whoever executes it sees this at its next look. */
  stopAsked: 'cancelled' | null
  judgedAt: Date | null
  judgementVersion: number
  startedAt: Date
  endedAt: Date | null
  version: number
}

export const runFlow = {
  entity: 'run',
  states: runStates,
  terminal: ['success', 'failed', 'cancelled'],
  rows: [
    { from: '', to: 'running', trigger: 'claimed', owner: 'dispatcher', event: 'run.started' },
    { from: 'running', to: 'success', trigger: 'succeeded', owner: 'executor', event: 'run.succeeded' },
    { from: 'running', to: 'failed', trigger: 'failed', owner: 'executor', event: 'run.failed' },
    { from: 'running', to: 'cancelled', trigger: 'interrupted', owner: 'engine', event: 'run.cancelled' },
    { from: 'running', to: 'cancelled', trigger: 'cancelled', owner: 'person', event: 'run.cancelled' },
  ],
} as const satisfies Flow<RunState>

export const noCorrections: LaunchCorrections = { addDirs: [], skipGitCheck: false }

export const spendOfLaunches = (launches: readonly Launch[]): Spend =>
  launches.reduce((sum, launch) => addSpend(sum, launch.spend ?? noSpend), noSpend)

export const lastLaunch = (run: Run): Launch | undefined => run.launches.at(-1)

/** The shims that ran something. */
export const shimsOf = ({ launches }: Pick<Run, 'launches'>): NonNullable<Launch['shim']>[] =>
  launches.flatMap(({ shim }) => (shim === null ? [] : [shim]))

export const freshRun = { phase: 'prepare', launches: [], spend: noSpend } as const
