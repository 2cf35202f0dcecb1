/**
 * What the runtime works with, passed to every function instead of globals: the store, the clock, ids, the effects' folders
 * and the named crash points. `at` is a no-op in the product; the chaos suites build the same runtime with one that kills.
 */
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import type { Listener } from '../../platform/network.ts'
import type { Machine, Room } from '../../platform/machine.ts'
import type { ProcessIdentity } from '../../platform/process.ts'
import type { RecoveryPolicy } from '../../recovery/ladder.ts'
import type { Db } from '../../store/db.ts'
import type { Repository } from '../../workspace/contract.ts'
import type { Remote } from '../../workspace/remote.ts'
import type { Shadow } from '../../workspace/shadow.ts'
import type { Ports } from './ports.ts'

/** Every point where a crash is provoked in the chaos suites, in the order in which a run passes them. */
export const crashPoints = [
  'goal-created',
  'claimed',
  'workspace-made',
  'launch-intended',
  'after-spawn',
  'identity-committed',
  'gate-open',
  'supervising',
  'agent-ended',
  'recovery-intended',
  'collected',
  'check-passed',
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
  'goal-push',
  'goal-landed',
] as const
export type CrashPoint = (typeof crashPoints)[number]

export interface Clock {
  now(): Date
  /** Resolves after `ms` or at once when `signal` aborts. */
  wait(ms: number, signal?: AbortSignal): Promise<void>
  /** Does `work` once after `ms`, unless the function that is given back was called before. */
  after(ms: number, work: () => void): () => void
  /** Does `work` every `ms` until the function that is given back is called. */
  every(ms: number, work: () => void): () => void
  /** Milliseconds from any beginning, for measuring how long something takes; no jump of the wall clock touches it. */
  elapsed(): number
}

export interface Log {
  info(fields: Record<string, unknown>, message: string): void
  warn(fields: Record<string, unknown>, message: string): void
  error(fields: Record<string, unknown>, message: string): void
}

/** The other end of a repository by URL, with its outages counted: see remote-link.ts. */
export interface RemoteLink extends Remote {
  /** Milliseconds until another try makes sense; 0 while the remote answers. */
  restMs(): number
  /** The last thing that was asked of it failed. */
  failing(): boolean
}

export interface Context {
  db: Db
  ports: Ports
  clock: Clock
  newId(prefix: string): string
  at(point: CrashPoint): void
  log: Log
  repository: Repository
  /** Of an engine that works on a repository by URL; `repository` is then our mirror of it. */
  remote?: RemoteLink | undefined
  shadow: Shadow
  stateDir: string
  cacheDir: string
  /** Reads the configuration again, keeping the last good one (a broken file stops nothing that runs). */
  config(): Config
  policy(): RecoveryPolicy
  /** What programs said when they were asked for their version, by place and time of change. */
  cliVersions: Map<string, Promise<string>>
  /** Environment of the user who started the engine; allow-listed before anything is started with it. */
  environment: Record<string, string | undefined>
  /** Tells the loop that something changed. */
  wake(): void
  /** Aborted when the engine shuts down: agents are left to their shims, nothing is written any more. */
  stopping: AbortSignal
  host: string
  /** Absent = nothing is known of processes and of what the machine has left. */
  machine?: MachineView
}

export interface MachineView {
  /** This process. */
  self: ProcessIdentity
  liveness(identity: ProcessIdentity): 'alive' | 'dead' | 'elsewhere'
  now(folder: string): Machine
  /** What the probes look at; undefined where the system does not tell. */
  room(folder: string): Room | undefined
  oomKills(): number | undefined
  fileLimit(): { soft: number; hard: number } | undefined
  /** Undefined = nobody listens on the port, null = the system does not tell. */
  listener(port: number): Listener | undefined | null
  /** What stands in the way of a connection; undefined = it answers. */
  reach(host: string, port: number, timeoutMs: number): Promise<string | undefined>
}

/** Build tools' own, for checks alone: see private-caches.ts. */
export const cachesOfChecks = (context: { stateDir: string }): string => join(context.stateDir, 'caches')

export const runFolder = (context: { stateDir: string }, runId: string): string => join(context.stateDir, 'runs', runId)

export interface RunPaths {
  root: string
  workspace: string
  /** Clean clone of the collected work in which its checks run; there only meanwhile. */
  checked: string
  /** `$UNSTUCK_RUN_DIR` */
  agentDir: string
  brief: string
  launch(number: number): string
  check(number: number): string
  index: string
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
  }
}

export const goalBranch = (goalId: string): string => `unstuck/goal/${goalId}`
export const goalRef = (goalId: string): string => `refs/heads/${goalBranch(goalId)}`
