/** A run: one attempt at a task. `phase` is written before its effects: a restarted engine continues there after a look at files and refs. */
import type { MachineFault } from './machine-fault.ts'
import type { Install } from './install.ts'
import type { Flow } from './flow.ts'
import type { Proof } from './proof.ts'
import type { Oversized } from './change-size.ts'
import { addSpend, noSpend, type Spend } from './budget.ts'
import type { LoopState, RoleTurn } from './loop.ts'
import type { CommandSource } from './task.ts'
import { defined } from './defined.ts'

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

/** How a launch differs from a plain one. Corrections accumulate over the launches of a run and end with it. */
export interface LaunchCorrections {
  addDirs: string[]
  skipGitCheck: boolean
  /** Rules for single tools, in the syntax of the harness. Absent = none. */
  toolRules?: string[]
}

/** One start of the agent within a run. */
export interface Launch {
  number: number
  corrections: LaunchCorrections
  resumeSession: string | null
  hint: string | null
  /** Set where the launch only asks for a command that replaces this check; the hint is then the whole prompt. */
  ask?: string
  /** Set before the gate opens. Null = the gate was never opened, so the agent did not run. */
  shim: { host: string; bootId: string; pid: number; startTime: string } | null
  gateOpened: boolean
  /** The sandbox of the CLI keeps it from the owner's files; set before the gate opens. */
  confined?: boolean
  startedAt: string | null
  /** `loginStamp` before the gate opened; absent in launches of older versions. */
  loginBefore?: string | null
  /** Written when the launch ended; the spend of the run is the sum. */
  spend: Spend | null
  /** How its agent ended where that was no proper end, and what it left was checked all the same. */
  leftAs?: string
  /** The git tree that was checked then, where only a person may decide that work which passes is all of the work. */
  heldTree?: string
  /** The turn of a loop that it belongs to; absent = the task is no loop. */
  turn?: RoleTurn
  /** The harness of the turn, where roles may have different ones; absent = that of the run. */
  harness?: string
}

/** Where a check comes from: `contract` is the repository's `.unstuck/verify.contract.json`. */
export type CheckSource = CommandSource | 'contract'

/** How one verification command ended. */
export interface CheckResult {
  command: string
  source: CheckSource
  exitCode: number | null
  signal: string | null
  timedOut: boolean
  durationMs: number
  /** It exited with 0, but its output says that no test ran, so it does not count as passed. */
  ranNothing?: string
  /** Why the check does not block although it failed. */
  excused?: Excuse
  /** How the same command ends on the base commit; absent where that was not tried. */
  baseline?: string
  /** How many tests it ran and skipped, and how many of them failed if any did; absent where no runner counted. */
  tests?: { ran: number; skipped: number; failed?: number }
}

/** Why a failed check does not block. Every view of the verdict lists it. */
export interface Excuse {
  because: 'flaky' | 'fails on the base commit'
  /** The failing tests, by name where the runner names them. */
  failing: string[]
  /** Other tests of the same command ran and passed, or the command passed when it was run again. */
  proves: boolean
}

/** Whether a check is evidence for the work: it passed, or some of its tests did. */
export const isEvidence = (check: CheckResult): boolean =>
  check.excused === undefined
    ? check.exitCode === 0 && !check.timedOut && check.ranNothing === undefined
    : check.excused.proves

/** A check that fails now and failed on the base commit as well. */
export interface PreexistingFailure {
  command: string
  /** The failing tests, by name where the runner names them. */
  failing: string[]
}

/** Checks that failed before the work and still fail: they do not block, and every view of the verdict names them. */
export const preexistingFailures = (checks: readonly CheckResult[]): PreexistingFailure[] =>
  checks.flatMap(({ command, excused }) =>
    excused?.because === 'fails on the base commit' ? [{ command, failing: excused.failing }] : [],
  )

/** Work without evidence of a check is never verified. `needsNone`: the work is only documentation, or no change at all. */
export const outcomeOf = (checks: readonly CheckResult[], needsNone: boolean): Verdict['outcome'] => {
  if (checks.some(isEvidence)) return 'verified'
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
  /** What failed in the check, comparable between two runs. `areTests`: the items are names of tests. */
  failing?: { items: string[]; areTests: boolean }
  /** A correction of the checks that the run planned and could not carry out. */
  adjustment?: CheckAdjustment
  /** Its agent failed and left no change. */
  withoutWork?: true
  machine?: MachineFault
}

/** A correction of the list of checks, as an action of a playbook describes it. */
export type CheckAdjustment =
  | { type: 'drop_command'; command: string; rest?: string }
  | { type: 'replace_command'; command: string; by: string }
  | { type: 'reorder'; command: string; order: string[]; build?: string }

/** A requested check that did not run as requested. */
export interface Dropped {
  command: string
  reason: string
  /** The weaker check that ran instead. */
  by?: string
}

/** The result of the gates: the judge `auto` decides from this alone. */
export interface Verdict {
  outcome: 'verified' | 'nothing to verify' | 'not verified'
  checks: CheckResult[]
  /** Requested checks that are not part of the verdict, with the reason. */
  dropped: Dropped[]
  changedPaths: string[]
  /** Denials that the agent met but that did not matter for the result. */
  notes: string[]
  /** The tree that the checks ran on; no other tree may be committed. Absent where none was accepted, and in older verdicts. */
  tree?: string
  /** The agent changed nothing, and the requested checks pass without a change, so there is nothing to commit. */
  noChange?: true
  /** It is the work of a person, who gave the task back. */
  givenBack?: true
  /** How the work weakened tests or checks; absent in older verdicts. A weakening that the task does not ask for waits for a person. */
  weakened?: Weakening[]
  /** What the passing checks prove; absent in verdicts without passing checks, and in older ones. */
  proof?: Proof
  /** Set where the change is larger than the owner's limits, which only a person may approve. */
  oversized?: Oversized
  /** All checks in the order in which they ran, where that differs from the requested order. */
  order?: string[]
  /** Installs that the checks needed; wherever the checks run again, these run first. */
  installed?: Install[]
  /** Changed paths that are not part of the work, with the reason. */
  excluded?: Excluded[]
  /** Paths that a model refused; it is not asked about them again. */
  refused?: string[]
}

/** A change that Unstuck left out of the work. */
export interface Excluded {
  /** A path; with a final slash everything below it. */
  path: string
  because: string
  /** It looks generated, and the checks have to make it again before that counts. */
  unproven?: true
}

/** Whether an entry of `Verdict.excluded` covers the path. */
export const isExcluded = (path: string, excluded: readonly Excluded[]): boolean =>
  excluded.some((entry) => path === entry.path || (entry.path.endsWith('/') && path.startsWith(entry.path)))

export const emptyVerdict: Verdict = {
  outcome: 'not verified',
  checks: [],
  dropped: [],
  changedPaths: [],
  notes: [],
}

/** The part of a verdict that survives a new verification: what was changed about the checks, the packages and the paths. */
export const keptVerdict = (verdict: Verdict | null): Verdict => ({
  ...emptyVerdict,
  dropped: verdict?.dropped ?? [],
  ...defined({ order: verdict?.order, installed: verdict?.installed }),
  ...defined({ excluded: verdict?.excluded, refused: verdict?.refused }),
})

/** As `keptVerdict`; null where nothing survives, because an empty verdict would claim a result that was never measured. */
export const carriedVerdict = (verdict: Verdict | null): Verdict | null => {
  const kept = keptVerdict(verdict)
  const { dropped, installed, order, excluded, refused } = kept
  return dropped.length === 0 && [installed, order, excluded, refused].every((part) => part === undefined) ? null : kept
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
  /** It would take part in every run that proves the work, or takes effect only on other machines. */
  beyondProof?: true
}

/** Written before the commit is made: with the same author and time, a repeated commit has the same hash. */
export interface CommitIntent {
  /** Null where the user has no git identity: the author is then Unstuck. */
  author: { name: string; email: string } | null
  /** Time of author and committer in git's format: `@<seconds> <zone>`. */
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
  loop: LoopState | null // null = the task is no loop
  /** A person cancelled the run, or it is out of time; its executor notices at its next poll. */
  stopAsked: 'cancelled' | null
  /** What a person wrote to its agent, until a launch starts with it. `launch`: the one that is interrupted for it. */
  message: { text: string; launch: number } | null
  /** The commit that a run of a review task brought before the judge; null = the run made the work itself. */
  reviewed: string | null
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

/**
 * The run's spend when its newest launch has spent this much. It replaces what an earlier reading of the same launch stored, so that a
 * crash in between does not count it twice; what questions spent stays.
 */
export const spendWithLaunch = ({ spend, launches }: Pick<Run, 'spend' | 'launches'>, newest: Spend): Spend => {
  const before = launches.at(-1)?.spend ?? noSpend
  return addSpend(spend, {
    tokens: newest.tokens - before.tokens,
    costUsd: newest.costUsd - before.costUsd,
    seconds: newest.seconds - before.seconds,
  })
}

/** Whether both launches belong to the same turn of a loop. */
export const isSameTurn = (one: Launch, other: Launch): boolean =>
  one.turn?.iteration === other.turn?.iteration && one.turn?.role === other.turn?.role

/**
 * The spend that limits of a run are compared with. In a loop they hold for each turn, because a turn is one attempt at its part. What
 * earlier turns spent counts for the goal.
 */
export const limitedSpend = ({ spend, launches, loop }: Pick<Run, 'spend' | 'launches' | 'loop'>, goal: Spend) => {
  const last = launches.at(-1)
  if (loop === null || last === undefined) return { run: spend, goal }
  const own = spendOfLaunches(launches.filter((launch) => isSameTurn(launch, last)))
  const earlier = {
    tokens: spend.tokens - own.tokens,
    costUsd: spend.costUsd - own.costUsd,
    seconds: spend.seconds - own.seconds,
  }
  return { run: own, goal: addSpend(goal, earlier) }
}

export const lastLaunch = (run: Run): Launch | undefined => run.launches.at(-1)

/** Whose output a launch is; without a number that of the newest. */
export const harnessOfLaunch = ({ launches, harness }: Pick<Run, 'launches' | 'harness'>, number?: number): string =>
  launches.find((launch) => launch.number === (number ?? launches.length))?.harness ?? harness

/** The shims whose launch ran an agent. */
export const shimsOf = ({ launches }: Pick<Run, 'launches'>): NonNullable<Launch['shim']>[] =>
  launches.flatMap(({ shim }) => (shim === null ? [] : [shim]))

export const freshRun = { phase: 'prepare', launches: [], spend: noSpend } as const

/** Nothing of it but a sandboxed agent runs. The settings and the checkout are read before each launch, so it is so since then. */
export const isSandboxed = (run: Run): boolean =>
  run.state === 'running' && run.phase === 'supervise' && lastLaunch(run)?.confined === true
