/** Grants paths to a run or its task, with the areas that keep other tasks away from them. */
import { extendAreas } from '../../store/area-hold.ts'
import type { Queryable } from '../../store/db.ts'
import { recordGrant, type GrantRequest } from '../core/granted-paths.ts'
import type { RunContext } from '../core/run-context.ts'

interface Wanted extends Pick<GrantRequest, 'scope' | 'by'> {
  paths: readonly { path: string; rule: string; because: string }[]
}

/** Returns the paths that are granted now; none if another task works on one of them. The caller holds the lease. */
export const grantPaths = async (
  tx: Queryable,
  runContext: RunContext,
  { scope, by, paths }: Wanted,
): Promise<string[]> => {
  const { context, run } = runContext
  if (paths.length === 0) return []
  const task = await extendAreas(
    tx,
    run,
    runContext.task,
    paths.map(({ path }) => path),
  )
  if (task === undefined) return []
  runContext.task = task
  const granted: string[] = []
  for (const { path, rule, because } of paths) {
    const outcome = await recordGrant(tx, { context, run, task }, { path, rule, why: because, scope, by })
    if (outcome.ok) granted.push(path)
  }
  return granted
}
