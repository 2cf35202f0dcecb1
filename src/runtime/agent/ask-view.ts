/**
 * What a question's agent sees, and the proof that it changed nothing. It reads a view of the work in a folder of its own, never the
 * workspace. Files that configure or instruct agents have the content of the base commit there: the work of an agent must not
 * decide what runs in the next one, or how its own work is judged. Afterwards the view and the workspace are compared.
 */
import { join } from 'node:path'
import { knownHarnesses } from '../../harness/names.ts'
import { installedPatterns } from '../../recovery/install.ts'
import { copiedPatterns } from '../checks/fresh-workspace.ts'
import { workTreeOf } from '../core/run-context.ts'
import type { AskContext } from './ask-context.ts'
import { readPrepared } from './prepared.ts'

const instructing = new Set<string>([
  ...[...knownHarnesses, 'agents'].flatMap((name) => [
    `.${name}`,
    `${name}.md`,
    `${name}.local.md`,
    `${name}.override.md`,
  ]),
  ...knownHarnesses.flatMap((name) => [`${name}.json`, `${name}.jsonc`]),
  ...['.mcp.json', '.unstuck', '.env'],
])

/** Compared without case, because some file systems have none. */
export const instructsAgents = (path: string): boolean =>
  path.split('/').some((part) => instructing.has(part.toLowerCase()))

export interface AskView {
  dir: string
  /** Tree of the view. */
  tree: string
  indexFile: string
  /**
   * Tree of the workspace before the question. Null = nothing to compare with: it is the user's folder, in which other programs may
   * work, or the work is a commit.
   */
  workspace: string | null
}

const captureWork = async (runContext: AskContext, folder: string): Promise<{ tree: string; paths: string[] }> => {
  const { context, run } = runContext
  const found = await context.ports.git.captureTree(context.shadow, {
    base: run.baseCommit ?? '',
    workTree: workTreeOf(runContext),
    indexFile: join(folder, 'index-of-work'),
    exclude: [...installedPatterns(run.verdict?.installed ?? []), ...copiedPatterns(readPrepared(runContext).copied)],
  })
  return { tree: found.tree, paths: found.changes.map(({ path }) => path) }
}

const committedWork = async (
  { context, run }: AskContext,
  commit: string,
): Promise<{ tree: string; paths: string[] }> => {
  const { git } = context.ports
  const tree = await git.treeOf(context.shadow, commit)
  const changes = await git.changesBetween(context.shadow, run.baseCommit ?? '', commit)
  return { tree, paths: changes.map(({ path }) => path) }
}

export const layAskView = async (runContext: AskContext, folder: string): Promise<AskView> => {
  const { context, goal, run } = runContext
  const commit = runContext.claim?.commit ?? runContext.commit
  const { git } = context.ports
  const base = run.baseCommit
  if (base === null) throw new Error('a question needs a prepared workspace')
  const work = await (commit === undefined ? captureWork(runContext, folder) : committedWork(runContext, commit))
  const paths = work.paths.filter((path) => !instructsAgents(path))
  const tree = await git.buildTree(context.shadow, { base, tree: work.tree, paths })
  const view = { tree, dir: join(folder, 'view'), indexFile: join(folder, 'index-of-view') }
  await git.layView(context.shadow, view)
  return { ...view, workspace: goal.repoMode === 'direct' || commit !== undefined ? null : work.tree }
}

/** Paths that changed while the question was asked. Changes of the workspace are undone; those of the view go with it. */
export const undoAskChanges = async (runContext: AskContext, folder: string, view: AskView): Promise<string[]> => {
  const { context } = runContext
  const { git } = context.ports
  const seen = await git.viewChanges(context.shadow, view)
  const before = view.workspace
  if (before === null) return seen
  const after = (await captureWork(runContext, folder)).tree
  if (after === before) return seen
  const changed = (await git.changesBetween(context.shadow, before, after)).map(({ path }) => path)
  await git.revertFiles(context.shadow, { before, after, workTree: workTreeOf(runContext) })
  if ((await captureWork(runContext, folder)).tree !== before)
    throw new Error(`changes of a question's agent in ${workTreeOf(runContext)} could not be undone`)
  return [...new Set([...seen, ...changed])].sort()
}

export const dropAskView = async ({ context }: AskContext, view: AskView): Promise<void> =>
  context.ports.git.removeWorkspace(view.dir)
