/**
 * What a proposed command changed in files that git does not ignore. Only a lockfile may become part of the work, if the
 * task may change it or a person approved the command; everything else is undone, so that what is checked is what lands.
 */
import { join } from 'node:path'
import { pathMatcher } from '../../recovery/policy/path-rule.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import { collectNow } from '../agent/collected.ts'
import { isLockfile, runUndone } from '../checks/proposed-command.ts'
import { deniedTexts, effectiveMatcher, pathRulesOf } from '../core/effective-paths.ts'
import { checkedTreeOf, isReleased, saveProgress, type RunContext } from '../core/run-context.ts'

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

type Ran = Awaited<ReturnType<typeof runUndone>>

/** Runs the command and keeps what the work may have of its changes. In direct mode it works on the user's files, as its goal does. */
export const keepPermitted = async (
  runContext: RunContext,
  found: ChangeList,
  { byPerson, run }: { byPerson: boolean; run: () => Promise<Ran['result']> },
): Promise<Pick<Ran, 'result' | 'changed'>> => {
  const { context, goal, paths } = runContext
  if (goal.repoMode === 'direct') return { result: await run(), changed: [] }
  const place = { base: found.tree, workTree: checkedTreeOf(runContext), indexFile: join(paths.root, 'checked-index') }
  const keeps = await mayEnter(runContext, byPerson)
  const { result, changed, after } = await runUndone(context, place, run, keeps)
  const entering = changed.filter(keeps)
  if (entering.length === 0 || isReleased(runContext)) return { result, changed }
  const to = await context.ports.git.buildTree(context.shadow, { base: found.tree, tree: after, paths: entering })
  await addToWork(runContext, { from: found.tree, to })
  return { result, changed }
}
