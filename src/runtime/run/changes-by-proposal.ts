/**
 * What a proposed command changed in files of the work. Only a lockfile may become part of the work, if the task may change it or a
 * person approved the command; everything else is undone, so that what is checked is what lands.
 */
import { basename, join } from 'node:path'
import { pathMatcher } from '../../recovery/policy/path-rule.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import { collectNow } from '../agent/collected.ts'
import { deniedTexts, effectiveMatcher, pathRulesOf } from '../core/effective-paths.ts'
import { checkedTreeOf, saveProgress, type RunContext } from '../core/run-context.ts'

const lockfileNames = new Set([
  ...['package-lock.json', 'npm-shrinkwrap.json', 'pnpm-lock.yaml', 'yarn.lock', 'bun.lock', 'bun.lockb'],
  ...['uv.lock', 'poetry.lock', 'Cargo.lock', 'Gemfile.lock', 'composer.lock', 'go.sum'],
])

const isLockfile = (path: string): boolean => lockfileNames.has(basename(path))

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
  const { git } = context.ports
  const { shadow } = context
  if (goal.repoMode === 'direct') return []
  const workTree = checkedTreeOf(runContext)
  const now = await git.captureTree(shadow, {
    base: found.tree,
    workTree,
    indexFile: join(paths.root, 'checked-index'),
  })
  const changes = now.changes.filter(({ path, kind }) => kind !== 'added' || isLockfile(path))
  if (changes.length === 0) return []
  const enters = await mayEnter(runContext, byPerson)
  const all = changes.map(({ path }) => path)
  const tree = (selected: string[]): Promise<string> =>
    git.buildTree(shadow, { base: found.tree, tree: now.tree, paths: selected })
  const [kept, changed] = [await tree(all.filter(enters)), await tree(all)]
  if (kept !== changed) await git.revertFiles(shadow, { before: kept, after: changed, workTree })
  if (kept !== found.tree) await addToWork(runContext, { from: found.tree, to: kept })
  return all
}
