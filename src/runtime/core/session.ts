/** One run in this engine's hands: what its phases share, and the fenced way to write its progress. */
import type { Config, HarnessConfig } from '../../config.ts'
import type { Goal } from '../../domain/goal.ts'
import type { Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import type { Driver } from '../../harness/driver.ts'
import { must } from '../../store/db.ts'
import { saveRun, type RunProgress } from '../../store/run.ts'
import type { Queryable } from '../../store/db.ts'
import type { PortLease } from '../../process/port-lease.ts'
import type { Refs } from '../../workspace/refs.ts'
import type { ChangeList } from '../../workspace/contract.ts'
import { runPaths, type Context, type RunPaths } from './context.ts'

/** The secrets in the new lines of a tree. */
export interface Searched {
  tree: string
  /** By path: which rules found something, and in which lines. */
  found: ReadonlyMap<string, string>
  /** Changed files that are too large to be searched. */
  tooLarge: readonly string[]
}

export interface Session {
  context: Context
  goal: Goal
  task: Task
  run: Run
  driver: Driver
  harness: HarnessConfig
  paths: RunPaths
  /** Aborted with the reason `cancelled` (by a person) or `lease-lost` (somebody else may act). */
  abort: AbortController
  /** When the lease was renewed last, by the clock that no jump touches. */
  renewedAt: number
  /** Called at each renewal: what is kept alive with the lease. */
  renewed?: () => void
  /** This engine found it running, so nobody saw how what wrote into its workspace ended. */
  takenUp?: boolean
  /** Ports that are lent to the run. */
  ports?: PortLease | undefined
  /** See collected.ts. */
  collected?: ChangeList
  /** See secret-lines.ts. */
  searched?: Searched
  /** Refs of the user's repository before the agent ran; absent after a restart of the engine. */
  refs?: { refs: Refs; readAt: number }
}

export interface SessionParts {
  goal: Goal
  task: Task
  run: Run
  driver: Driver
  harness: HarnessConfig
}

export const createSession = (context: Context, parts: SessionParts): Session => ({
  context,
  ...parts,
  paths: runPaths(context, parts.run.id),
  abort: new AbortController(),
  renewedAt: context.clock.elapsed(),
})

/** Where the agent works. */
export const workTreeOf = (session: Pick<Session, 'goal' | 'context' | 'paths'>): string =>
  session.goal.repoMode === 'direct' ? session.context.repository.root : session.paths.workspace

/** What verification looks at: never the agent's own workspace, but where it works in the user's folder itself. */
export const checkedTreeOf = (session: Pick<Session, 'goal' | 'context' | 'paths'>): string =>
  session.goal.repoMode === 'direct' ? session.context.repository.root : session.paths.checked

/** In the caller's transaction, or in one of its own: a new phase and its event are written together or not at all. */
export const save = async (session: Session, progress: RunProgress, tx?: Queryable): Promise<void> => {
  const write = async (inside: Queryable) => must(await saveRun(inside, session.run, progress))
  session.run = tx === undefined ? await session.context.db.transaction(write) : await write(tx)
}

/** The engine shuts down or somebody else decides now: nothing more is written for this run. */
export const letGo = (session: Session): boolean => session.context.stopping.aborted || session.abort.signal.aborted

export const bothSignals = (session: Session): AbortSignal =>
  AbortSignal.any([session.context.stopping, session.abort.signal])

/** Names of environment variables that the owner lets through to agents and commands. */
export const passedNames = (config: Config, harness: HarnessConfig): string[] => [...config.env, ...(harness.env ?? [])]
