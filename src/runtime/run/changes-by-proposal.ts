/**
 * What a proposed command changed in files of the work. Only a lockfile may become part of the work, if the task may change it or a
 * person approved the command; everything else is undone, so that what is checked is what lands.
 */
import { join } from 'node:path'
import { pathMatcher } from '../../recovery/policy/path-rule.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import { collectNow } from '../agent/collected.ts'
import { isLockfile, undoTracked } from '../checks/proposed-command.ts'
import { deniedTexts, effectiveMatcher, pathRulesOf } from '../core/effective-paths.ts'
import { checkedTreeOf, saveProgress, type RunContext } from '../core/run-context.ts'

const mayEnter = async (runContext: RunContext, byPerson: boolean): Promise<(path: string) => boolean> => {
  const allowed = await effectiveMatcher(runContext)
  const denied = pathRulesOf(deniedTexts(runContext)).map(pathMatcher)
  return (path) => isLockfile(path) && (byPerson || allowed(path)) && !denied.some((matches) => matches(path))
}

/** The lockfiles become part of the work, as if the agent had written them. */
const addToWork = async (runContext: RunContext, { from, to }: { from: string; to: string }): Promise<void> => {
  const { context, paths } = runContext
  await context.ports.git.revertFiles(context.shadow, { before: to, after: from, workTree: paths.workspace })
  const { tree } = await collectNow(runContext)
  await saveProgress(runContext, { tree })
}

/** Returns the tracked files that the command changed. In direct mode the command worked on the user's files, as its goal does. */
export const keepPermitted = async (
  runContext: RunContext,
  found: ChangeList,
  { byPerson }: { byPerson: boolean },
): Promise<string[]> => {
  const { context, goal, paths } = runContext
  if (goal.repoMode === 'direct') return []
  const place = { base: found.tree, workTree: checkedTreeOf(runContext), indexFile: join(paths.root, 'checked-index') }
  const { changed, kept } = await undoTracked(context, place, await mayEnter(runContext, byPerson))
  if (kept !== undefined) await addToWork(runContext, { from: found.tree, to: kept })
  return changed
}
