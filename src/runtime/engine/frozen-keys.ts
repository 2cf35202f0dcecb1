/**
 * The keys of the configuration that stay as they are while a goal is in progress: what its agents run in, and the roles of a loop. Half of
 * its work would otherwise be done by another program than it was planned for. A goal that waits for a person is not in progress:
 * the repair that its question asks for must apply. Nor is a harness frozen that cannot be started: only a change helps there.
 */
import type { Config } from '../../config/config.ts'
import { harnessOfLaunch } from '../../domain/run.ts'
import type { Queryable } from '../../store/db.ts'
import { tasksInProgress } from '../../store/goal.ts'
import { runsHere } from './could-write.ts'

export interface FreezePlace {
  host: string
  /** Whether the harness of this name can be started on this host. */
  canStart: (config: Config, name: string) => boolean
}

export const frozenKeys = async (db: Queryable, { host, canStart }: FreezePlace, config: Config): Promise<string[]> => {
  // A run goes on while its goal waits for an answer about another task.
  const runs = (await runsHere(db, host)).map((run) => ({ harnesses: [run.harness, harnessOfLaunch(run)], run }))
  const tasks = await tasksInProgress(db)
  const hasLoop = tasks.some(({ kind }) => kind === 'loop') || runs.some(({ run }) => run.loop !== null)
  const ofRoles = hasLoop ? Object.values(config.loop.roles).flatMap(({ harness }) => harness ?? []) : []
  const inUse = runs.flatMap(({ harnesses }) => harnesses)
  const needed = [...tasks.map(({ harness }) => harness), ...ofRoles].filter((name) => canStart(config, name))
  const names = [...new Set([...inUse, ...needed])].toSorted()
  return [...names.map((name) => `harness.${name}`), ...(hasLoop ? ['loop.roles'] : [])]
}
