/**
 * The dependencies of the runtime, passed to every function instead of globals: store, clock, ids, folders, configuration, and the
 * named crash points. `at` does nothing in the product. The chaos suites build the same runtime with an `at` that kills the process
 * at one point, to prove that a restart loses nothing there.
 */
import type { Goal } from '../../domain/goal.ts'
import type { ListEntry } from '../../config/config-edit.ts'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import type { Listener } from '../../platform/tcp-ports.ts'
import type { MachineResources, DiskSpace } from '../../platform/machine.ts'
import type { ProcessIdentity } from '../../platform/process.ts'
import type { LadderSettings } from '../../recovery/ladder.ts'
import type { PolicyRecovery } from '../../recovery/policy/recovery-policy.ts'
import type { Db } from '../../store/db.ts'
import type { Forge, IssueSource } from '../../forge/forge.ts'
import type { Repository } from '../../workspace/repository-types.ts'
import type { Remote } from '../../workspace/remote.ts'
import type { Shadow } from '../../workspace/shadow.ts'
import type { Ports } from './ports.ts'

/** The points at which the chaos suites kill the engine, in the order in which a run passes them. */
export const crashPoints = [
  'goal-created',
  'claimed',
  'workspace-made',
  'launch-intended',
  'after-spawn',
  'identity-committed',
  'gate-open',
  'supervising',
  'checkout-read',
  'checkout-reported',
  'agent-ended',
  'recovery-intended',
  'collected',
  'check-passed',
  'counterfactual-ran',
  'verified',
  'commit-intended',
  'commit-made',
  'run-push',
  'run-pushed',
  'run-finished',
  'judged',
  'merge-claimed',
  'merge-integrated',
  'merge-push',
  'merge-published',
  'merge-recorded',
  'goal-ready',
  'goal-outdated',
  'goal-rebased',
  'goal-rebase-published',
  'goal-rebase-recorded',
  'goal-reverified',
  'goal-signing-intended',
  'goal-signing-published',
  'goal-push',
  'goal-landed',
  'goal-branch-kept',
  'goal-branch-removed',
] as const
export type CrashPoint = (typeof crashPoints)[number]

export interface Clock {
  now(): Date
  /** Resolves after `ms` or at once when `signal` aborts. */
  wait(ms: number, signal?: AbortSignal): Promise<void>
  /** Calls `work` once after `ms`, unless the returned function is called before. */
  after(ms: number, work: () => void): () => void
  /** Calls `work` every `ms` until the returned function is called. */
  every(ms: number, work: () => void): () => void
  /** Milliseconds since an arbitrary moment, for measuring durations; a jump of the wall clock does not change it. */
  elapsed(): number
  /** The same with the time that the machine slept: what a clock that was not set goes on by. */
  sinceBoot(): number
}

export interface Logger {
  /** Written only where `UNSTUCK_LOG` asks for it. */
  debug(fields: Record<string, unknown>, message: string): void
  info(fields: Record<string, unknown>, message: string): void
  warn(fields: Record<string, unknown>, message: string): void
  error(fields: Record<string, unknown>, message: string): void
}

/** The git remote of a repository that is given by URL, with its failures counted: see remote-link.ts. */
export interface RemoteLink extends Remote {
  /** Milliseconds until the next try; 0 while the remote responds. */
  waitMs(): number
  /** The last request failed. */
  failing(): boolean
}

export interface Context {
  db: Db
  ports: Ports
  clock: Clock
  newId(prefix: string): string
  at(point: CrashPoint): void
  log: Logger
  repository: Repository
  /** Set if the repository is given by URL; `repository` is then Unstuck's mirror of it. */
  remote?: RemoteLink | undefined
  /** The forge of the configuration, if there is one. Throws CONFIG_INVALID or REMOTE_REFUSED if it lacks a name or a token. Absent = as without one. */
  forge?(): Promise<Forge | undefined>
  /** Where issues come from: the forge, or a command of the owner. Throws as `forge`. */
  issues?(): Promise<IssueSource | undefined>
  /** The remote `origin` of a repository in a folder; null = it has none. */
  origin?(): Promise<Remote | null>
  shadow: Shadow
  stateDir: string
  cacheDir: string
  /** The present configuration. While its file is broken, the last good one, so that an edit cannot stop running work. */
  config(): Config
  policy(): LadderSettings
  /** The rules by which changed paths are allowed without a person; kept while its file is broken, as `config`. */
  pathPolicy(): PolicyRecovery
  /** The verify contract in use, empty if there is none; kept while its file is broken. Absent = its file is read at each use. */
  contract?(): object
  /** Takes over changes of the owner's files, as far as they may apply now. Absent = nothing waits here. */
  refreshSettings?(): Promise<void>
  /** A person confirms the change that waits under this digest. */
  confirmSettings?(digest: string): Promise<{ digest: string }>
  /** A person answered that a list of the configuration, which is written now, gets this entry: it does not wait. */
  approveEntry?(entry: ListEntry): void
  /** In the context of a run: its next launch begins, with the settings of this moment. */
  renewSettings?(): Promise<void>
  /** Versions that programs reported, by path and modification time, so that each is asked once. */
  cliVersions: Map<string, Promise<string>>
  /** Environment of the user who started the engine. Reduced to an allow list before a process gets it. */
  environment: Record<string, string | undefined>
  /** Keeps credentials that a person gave beyond this process. */
  keepLogin?: (variables: Readonly<Record<string, string>>) => void
  /** Wakes the engine's loop, so that a change is handled at once instead of at the next poll. */
  wake(): void
  /** Aborted when the engine shuts down: agents continue under their shims, and nothing is written any more. */
  stopping: AbortSignal
  host: string
  /** Absent = the engine has no public URL, and notifications have no link to answer. */
  answerLinks?: AnswerLinks
  /** Absent = agents get no tools of their run. */
  runTools?: RunToolAccess
  /** Absent = processes and resources of the machine cannot be inspected. */
  machine?: MachineView
  /** Absent = no other engine shares this process. */
  turns?: ClaimTurn
}

/** The place of one engine among those that share its process: see claim-turns.ts. */
export interface ClaimTurn {
  join(engine: { working: () => number; limit: () => number; wake: () => void }): void
  /** Undefined = it may claim one task now, and calls `done` afterwards; else why it waits. Only for an engine with a task that is ready. */
  ask(): string | undefined
  /** A claim, or a run, has ended. */
  done(): void
  /** It has nothing to claim. */
  withdraw(): void
}

export interface AnswerLink {
  question: string
  /** Ids of the choices that it offers. */
  choices: string[]
  expiresAt: Date
}

/** Makes and reads the signed links to answer a question in a browser. */
export interface AnswerLinks {
  publicUrl: URL
  urlOf(link: AnswerLink): string
  /** Undefined = the link was not made here, or was changed. */
  read(token: string): AnswerLink | undefined
}

/** How an agent reaches the tools of its own run. */
export interface RunToolAccess {
  /** Starts the MCP server of the tools. */
  command: string[]
  /** What the server needs in its environment; the token is there and nowhere else. */
  variables(run: { id: string; epoch: number }): Record<string, string>
}

export interface MachineView {
  /** This process. */
  self: ProcessIdentity
  liveness(identity: ProcessIdentity): 'alive' | 'dead' | 'elsewhere'
  now(folder: string): MachineResources
  /** For the probes; undefined = the system does not report it. */
  room(folder: string): DiskSpace | undefined
  oomKills(): number | undefined
  fileLimit(): { soft: number; hard: number } | undefined
  /** Undefined = the port is free; null = the system does not report it. */
  listener(port: number): Listener | undefined | null
  /** Why no connection is possible; undefined = the host responds. */
  reach(host: string, port: number, timeoutMs: number): Promise<string | undefined>
}

/** Caches of build tools that only checks use: see private-caches.ts. */
export const checkCaches = (context: { stateDir: string }): string => join(context.stateDir, 'caches')

/** Trees of workspaces that are used again: see tree-pool.ts. */
export const treePool = (context: { stateDir: string }): string => join(context.stateDir, 'trees')

export const runFolder = (context: { stateDir: string }, runId: string): string => join(context.stateDir, 'runs', runId)

export interface RunPaths {
  root: string
  workspace: string
  /** Clean clone of the collected work in which its checks run. Exists only while they run. */
  checked: string
  /** `$UNSTUCK_RUN_DIR` */
  agentDir: string
  brief: string
  launch(number: number): string
  check(number: number): string
  index: string
  /** The git commands of the agent, noted by git itself: see git-trace.ts. */
  gitTrace: string
}

export const runPaths = (context: { stateDir: string }, runId: string): RunPaths => {
  const root = runFolder(context, runId)
  return {
    root,
    workspace: join(root, 'workspace'),
    checked: join(root, 'checked'),
    agentDir: join(root, 'agent'),
    brief: join(root, 'brief.md'),
    launch: (number) => join(root, 'launches', String(number)),
    check: (number) => join(root, 'checks', String(number)),
    index: join(root, 'index'),
    gitTrace: join(root, 'git-trace'),
  }
}

/** What a branch is named by. */
type BranchOwner = Pick<Goal, 'id' | 'branchPrefix'>

export const goalBranch = ({ id, branchPrefix }: BranchOwner): string => `${branchPrefix}goal/${id}`
export const goalRef = (goal: BranchOwner): string => `refs/heads/${goalBranch(goal)}`
