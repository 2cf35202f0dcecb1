/**
 * Work that an agent left beside the files of its clone: commits on another branch or on none, a stash, a linked worktree inside of it. Only what
 * the agent wrote is read; its refs and paths are parsed as text.
 */
import { lstat, readdir, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { readRegularText } from '../platform/regular-file.ts'
import { captureTree } from './changes.ts'
import { fieldsOf, git, gitLine, objectName } from './git.ts'
import { inShadow, overFiles, withIndex, type Shadow } from './shadow.ts'
import type { KeptCommits } from './snapshot.ts'

export interface StrayWork {
  /** For people: `branch mine`, `stash`, `worktree .claude/worktrees/a`. */
  where: string
  /** A commit or tree with the files. */
  files: string
  /** Folders of the workspace in which they are: those of worktrees. */
  inside: string[]
}

export interface StrayRequest {
  workspace: string
  base: string
  /** The agent's own commits, as `keepAgentCommits` found them. */
  kept: KeptCommits['kept']
}

/** A limit for what a hostile agent could list; nobody works in this many. */
const mostWorktrees = 20

const treeOf = (shadow: Shadow, treeish: string): Promise<string> =>
  gitLine(['rev-parse', '--verify', `${objectName(treeish)}^{tree}`], inShadow(shadow))

const isAncestor = async (shadow: Shadow, one: string, other: string): Promise<boolean> => {
  const args = ['merge-base', '--is-ancestor', objectName(one), objectName(other)]
  return (await git(args, { ...inShadow(shadow), okCodes: [0, 1] })).code === 0
}

interface Worktree {
  path: string
  /** The branch that it has checked out; '' = none. */
  branch: string
}

const text = (path: string): Promise<string> =>
  readRegularText(path, { most: 4_096, noLink: true }).then(
    (found) => found.trim(),
    () => '',
  )

/** Linked worktrees inside the clone, as its git directory lists them. */
const worktreesIn = async (workspace: string): Promise<Worktree[]> => {
  const admin = join(workspace, '.git', 'worktrees')
  const names = await readdir(admin).catch((): string[] => [])
  const found: Worktree[] = []
  for (const name of names.slice(0, mostWorktrees)) {
    const path = (await text(join(admin, name, 'gitdir'))).replace(/\/\.git$/, '')
    const real = await realpath(path).catch(() => '')
    const head = await text(join(admin, name, 'HEAD'))
    if (real.startsWith(workspace + sep)) found.push({ path: real, branch: head.replace(/^ref: refs\/heads\//, '') })
  }
  return found
}

const inWorktrees = async (
  shadow: Shadow,
  { workspace, base }: StrayRequest,
  worktrees: readonly Worktree[],
): Promise<StrayWork[]> => {
  const found: StrayWork[] = []
  for (const { path } of worktrees) {
    const { tree } = await withIndex(shadow, (indexFile) => captureTree(shadow, { base, workTree: path, indexFile }))
    const inside = path.slice(workspace.length + 1)
    found.push({ where: `worktree ${inside}`, files: tree, inside: [inside] })
  }
  return found
}

const parentsOf = async (shadow: Shadow, commit: string): Promise<string[]> =>
  (await gitLine(['rev-list', '--parents', '-n', '1', objectName(commit)], inShadow(shadow))).split(' ').slice(1)

/**
 * The tree of a commit. `git stash -u` keeps new files apart, in a third parent that has no parent itself; no merge has one. Such a tree
 * is returned with them.
 */
const filesOf = async (shadow: Shadow, commit: string): Promise<string> => {
  const [, , apart] = await parentsOf(shadow, commit)
  if (apart === undefined || (await parentsOf(shadow, apart)).length > 0) return commit
  return withIndex(shadow, async (indexFile) => {
    const place = { ...inShadow(shadow), indexFile }
    await git(['read-tree', objectName(commit)], place)
    const { stdout: input } = await git(['ls-tree', '-r', '-z', '--full-tree', objectName(apart)], place)
    await git(['update-index', '-z', '--index-info'], { ...place, input })
    return gitLine(['write-tree'], place)
  })
}

/** Commits that contain the base and are part of no other of them. Others lead elsewhere and can only be named. */
const onBranches = async (
  shadow: Shadow,
  { base, kept }: StrayRequest,
  worktrees: readonly Worktree[],
): Promise<StrayWork[]> => {
  const own = kept.filter(({ name }) => !worktrees.some(({ branch }) => name === `branch ${branch}`))
  const found: StrayWork[] = []
  for (const { commit, name } of own) {
    const others = own.filter((other) => other.commit !== commit)
    const inOther = await Promise.all(others.map((other) => isAncestor(shadow, commit, other.commit)))
    if (!inOther.includes(true) && (await isAncestor(shadow, base, commit)))
      found.push({ where: name, files: await filesOf(shadow, commit), inside: [] })
  }
  return found
}

/** Each place whose files differ from the base, once per content. */
export const findStrayWork = async (shadow: Shadow, request: StrayRequest): Promise<StrayWork[]> => {
  const workspace = await realpath(request.workspace)
  const worktrees = await worktreesIn(workspace)
  const all = [
    ...(await inWorktrees(shadow, { ...request, workspace }, worktrees)),
    ...(await onBranches(shadow, request, worktrees)),
  ]
  const seen = new Set([await treeOf(shadow, request.base)])
  const found: StrayWork[] = []
  for (const work of all) {
    const tree = await treeOf(shadow, work.files)
    if (seen.has(tree)) continue
    seen.add(tree)
    found.push(work)
  }
  return found
}

/** What tools leave in a turn that writes nothing: packages and caches. */
const ofTools = /(?:^|\/)(?:node_modules|\.venv|__pycache__|\.(?:pytest|mypy|ruff)_cache)\/$/

export interface UnseenRequest {
  workspace: string
  base: string
  /** In milliseconds. */
  since: number
}

/** Untracked paths, folders with a final slash, that were written after `since`. */
const writtenSince = (
  shadow: Shadow,
  { workspace, base, since }: UnseenRequest,
  options: readonly string[],
): Promise<string[]> =>
  withIndex(shadow, async (indexFile) => {
    const place = overFiles(shadow, workspace, indexFile)
    await git(['read-tree', objectName(base)], place)
    const args = ['ls-files', '--others', ...options, '--exclude-standard', '--directory', '-z']
    const paths = fieldsOf((await git(args, place)).stdout).filter((path) => !ofTools.test(path))
    const times = await Promise.all(paths.map((path) => lstat(join(workspace, path)).catch(() => undefined)))
    return paths.filter((_path, at) => (times[at]?.mtimeMs ?? 0) >= since)
  })

/** Ignored files and folders that were written after `since`: git shows no change of them. */
export const ignoredSince = (shadow: Shadow, request: UnseenRequest): Promise<string[]> =>
  writtenSince(shadow, request, ['--ignored'])

/** Folders within a folder that are looked into; one with more is not taken for empty. */
const mostFolders = 100

const isEmpty = async (folder: string): Promise<boolean> => {
  const left = [folder]
  for (let looked = 0; looked < mostFolders; looked += 1) {
    const next = left.pop()
    if (next === undefined) return true
    const entries = await readdir(next, { withFileTypes: true }).catch(() => undefined)
    if (entries === undefined || !entries.every((entry) => entry.isDirectory())) return false
    left.push(...entries.map(({ name }) => join(next, name)))
  }
  return false
}

/** Folders without any file that were made after `since`: git stores no folders, so they are no change. */
export const emptyFoldersSince = async (shadow: Shadow, request: UnseenRequest): Promise<string[]> => {
  const folders = (await writtenSince(shadow, request, [])).filter((path) => path.endsWith('/'))
  const empty = await Promise.all(folders.map((path) => isEmpty(join(request.workspace, path))))
  return folders.filter((_path, at) => empty[at] === true)
}
