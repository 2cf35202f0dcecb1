/** The context of one run that this engine executes: what its phases share, and the fenced way to store its progress. */
import type { CarriedPath } from '../../recovery/policy/carried-paths.ts'
import type { Config, HarnessConfig } from '../../config/config.ts'
import type { Goal } from '../../domain/goal.ts'
import type { Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import type { Driver } from '../../harness/driver.ts'
import { mustSucceed } from '../../store/db.ts'
import { saveRun, type RunProgress } from '../../store/run.ts'
import type { Queryable } from '../../store/db.ts'
import type { PortLease } from '../../process/port-lease.ts'
import type { CheckoutState } from '../../workspace/checkout-state.ts'
import type { Refs } from '../../workspace/refs.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import { runPaths, type Context, type RunPaths } from './context.ts'

/** The result of the search for secrets in the new lines of a tree. */
export interface SecretSearch {
  tree: string
  /** By path: the rules that matched, with line numbers. */
  found: ReadonlyMap<string, string>
  /** Changed files that are too large to be searched. */
  tooLarge: readonly string[]
}

export interface RunContext {
  context: Context
  goal: Goal
  task: Task
  run: Run
  driver: Driver
  harness: HarnessConfig
  paths: RunPaths
  /** Aborted with the reason `cancelled` (by a person) or `lease-lost` (another engine may own the task). */
  abort: AbortController
  /** When the lease was last renewed, in `clock.elapsed()`, which a jump of the wall clock does not change. */
  renewedAt: number
  /** Called at each renewal of the lease: tells the shim that the agent may continue. */
  onRenewed?: () => void
  /** This engine re-attached to the run, so it is unknown how the last process that wrote to its workspace ended. */
  isReattached?: boolean
  /** The launch that was interrupted for a person's message. */
  interrupted?: number
  /** TCP ports reserved for the run. */
  ports?: PortLease | undefined
  /** The paths that the agent may change, as texts for its instructions. */
  fence?: string[]
  /** Where renames carried the task's paths; absent = not read yet. */
  carried?: Promise<CarriedPath[]>
  /** See collected.ts. */
  collected?: ChangeList
  /** Where the agent left work beside its files (bring-stray-work.ts), and what changed in the owner's checkout meanwhile. */
  strayWork?: string[]
  strayFiles?: string[]
  /** Files that the agent wrote and git ignores, where it changed nothing else. */
  ignoredFiles?: string[]
  /** Folders without a file that the agent made, where it changed nothing else. */
  emptyFolders?: string[]
  /** Commits or trees that were brought in already. */
  broughtIn?: string[]
  /** See secret-lines.ts. */
  secretSearch?: SecretSearch
  /** The user's repository and checkout before the agent ran (checkout-before.ts); absent after a restart of the engine. */
  before?: { refs: Refs; checkout: CheckoutState; at: string; readAt: number }
}

export interface RunContextParts {
  goal: Goal
  task: Task
  run: Run
  driver: Driver
  harness: HarnessConfig
}

export const createRunContext = (context: Context, parts: RunContextParts): RunContext => ({
  context,
  ...parts,
  paths: runPaths(context, parts.run.id),
  abort: new AbortController(),
  renewedAt: context.clock.elapsed(),
})

/** The folder in which the agent works. */
export const workTreeOf = (session: Pick<RunContext, 'goal' | 'context' | 'paths'>): string =>
  session.goal.repoMode === 'direct' ? session.context.repository.root : session.paths.workspace

/** The folder in which checks run: a clean clone, in direct mode the user's folder. */
export const checkedTreeOf = (session: Pick<RunContext, 'goal' | 'context' | 'paths'>): string =>
  session.goal.repoMode === 'direct' ? session.context.repository.root : session.paths.checked

/** Stores progress of the run in the given transaction, or in its own: a phase and its event are written together or not at all. Throws if the lease is lost. */
export const saveProgress = async (
  runContext: Pick<RunContext, 'context' | 'run'>,
  progress: RunProgress,
  tx?: Queryable,
): Promise<void> => {
  const write = async (inside: Queryable) => mustSucceed(await saveRun(inside, runContext.run, progress))
  runContext.run = tx === undefined ? await runContext.context.db.transaction(write) : await write(tx)
}

/** True = stop working on this run and write nothing more: the engine shuts down, the run was cancelled, or its lease is lost. */
export const isReleased = (runContext: Pick<RunContext, 'context' | 'abort'>): boolean =>
  runContext.context.stopping.aborted || runContext.abort.signal.aborted

export const stopSignal = (runContext: Pick<RunContext, 'context' | 'abort'>): AbortSignal =>
  AbortSignal.any([runContext.context.stopping, runContext.abort.signal])

/** Names of environment variables that the owner passes to agents and commands. */
export const passedVariables = (config: Config, harness: HarnessConfig): string[] => [
  ...config.env,
  ...(harness.env ?? []),
]
