/**
 * The changes of an agent, collected before verification can write to the workspace. The tree is stored in the run's row. The list of
 * changes is kept in memory and computed again only when another engine re-attaches to the run.
 */
import { isExcluded, type Excluded } from '../../domain/run.ts'
import { visibleText } from '../../visible-text.ts'
import { installedPatterns } from '../../recovery/install.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import { copiedPatterns } from '../checks/fresh-workspace.ts'
import { workTreeOf, type RunContext } from '../core/run-context.ts'
import { readPrepared } from './prepared.ts'

/** Files that `workspace.setup` made and that did not change since are not the agent's work. */
const withoutSetup = async ({ context }: RunContext, found: ChangeList, setupTree: string): Promise<ChangeList> => {
  const { git } = context.ports
  const since = new Set((await git.changesBetween(context.shadow, setupTree, found.tree)).map(({ path }) => path))
  const changes = found.changes.filter(({ path }) => since.has(path))
  if (changes.length === found.changes.length) return found
  const paths = changes.map(({ path }) => path)
  return { ...found, changes, tree: await git.buildTree(context.shadow, { base: found.base, tree: found.tree, paths }) }
}

/** The work without the changes that are left out of it. */
export const withoutExcluded = async (
  { context }: RunContext,
  found: ChangeList,
  excluded: readonly Excluded[],
): Promise<ChangeList> => {
  const changes = found.changes.filter(({ path }) => !isExcluded(path, excluded))
  const nestedRepositories = found.nestedRepositories.filter((path) => !isExcluded(path, excluded))
  if (changes.length === found.changes.length) return { ...found, nestedRepositories }
  const paths = changes.map(({ path }) => path)
  const tree = await context.ports.git.buildTree(context.shadow, { base: found.base, tree: found.tree, paths })
  return { ...found, changes, nestedRepositories, tree }
}

/** The changes in the workspace now, against the base commit, without set-up files, copied files and installed packages. */
export const workNow = async (runContext: RunContext): Promise<ChangeList> => {
  const { copied, setupTree } = readPrepared(runContext)
  const found = await runContext.context.ports.git.captureTree(runContext.context.shadow, {
    base: runContext.run.baseCommit ?? '',
    workTree: workTreeOf(runContext),
    indexFile: runContext.paths.index,
    // Packages that were installed for the checks are not work, also in a repository that does not ignore them.
    exclude: [...installedPatterns(runContext.run.verdict?.installed ?? []), ...copiedPatterns(copied)],
  })
  const work = setupTree === null ? found : await withoutSetup(runContext, found, setupTree)
  return withoutExcluded(runContext, work, runContext.run.verdict?.excluded ?? [])
}

/** For people: files of the agent that git cannot store, with the reason. */
export const leftOutNotes = (found: ChangeList | undefined): string[] =>
  (found?.leftOut ?? []).map(({ path, reason }) => `${visibleText(path)} is not part of the work: ${reason}`)

/** The same for changes that were left out. */
export const excludedNotes = (excluded: readonly Excluded[]): string[] =>
  excluded.map(({ path, because }) => `${visibleText(path)} is not part of the work: ${because}`)

export const isUnchanged = ({ changes, nestedRepositories, leftOut }: ChangeList): boolean =>
  changes.length === 0 && nestedRepositories.length === 0 && leftOut.every(({ encoding }) => encoding === undefined)

export const collectNow = async (runContext: RunContext): Promise<ChangeList> => {
  runContext.collected = await workNow(runContext)
  return runContext.collected
}

/** The work of an agent that failed; undefined = its workspace is gone or broken. */
export const leftWork = async (runContext: RunContext): Promise<ChangeList | undefined> => {
  try {
    return await collectNow(runContext)
  } catch (error) {
    runContext.context.log.warn({ run: runContext.run.id, error: String(error) }, 'what an agent left cannot be read')
    return undefined
  }
}

export const collectedWork = async (runContext: RunContext): Promise<ChangeList> => {
  const { collected, run } = runContext
  if (collected !== undefined && collected.tree === run.tree) return collected
  const base = run.baseCommit ?? ''
  const tree = run.tree ?? ''
  const now = await workNow(runContext)
  const changes = await runContext.context.ports.git.changesBetween(runContext.context.shadow, base, tree)
  runContext.collected = { base, tree, changes, nestedRepositories: now.nestedRepositories, leftOut: now.leftOut }
  return runContext.collected
}
