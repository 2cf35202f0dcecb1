/**
 * The one place that writes files of the user's checkout: a fast-forward of a branch, only in a clean checkout. Uncommitted work
 * is never stashed, merged or overwritten. The paths that prevent the fast-forward are returned as a value.
 */
import { lstat, readdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { foldersAbove } from '../domain/folders-above.ts'
import type { FastForward, Repository } from './repository-types.ts'
import { fieldsOf, git, gitInCheckout, gitLine, objectName, refName } from './git.ts'
import type { GitOptions } from './git.ts'
import { readRef, swapRef } from './branches.ts'
import { inRepository } from './refs.ts'

type Refusal = Extract<FastForward, { ok: false }>

const refuse = (reason: Refusal['reason'], detail: string, paths: string[] = []): Refusal => ({
  ok: false,
  reason,
  detail,
  paths,
})

const exists = async (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Folder of the worktree that has the branch checked out; undefined = none has. */
export const checkoutOf = async (repository: Repository, ref: string): Promise<string | undefined> => {
  const { stdout } = await git(['worktree', 'list', '--porcelain', '-z'], inRepository(repository))
  const owner = stdout.split('\0\0').find((entry) => entry.split('\0').includes(`branch ${ref}`))
  const listed = owner
    ?.split('\0')
    .find((line) => line.startsWith('worktree '))
    ?.slice('worktree '.length)
  // With the git directory elsewhere (a submodule, --separate-git-dir) git lists that as the main worktree.
  const folder = listed === repository.commonDir ? repository.root : listed
  return folder !== undefined && (await exists(folder)) ? folder : undefined
}

const isAncestor = async (repository: Repository, one: string, other: string): Promise<boolean> => {
  const args = ['merge-base', '--is-ancestor', one, other]
  return (await git(args, { ...inRepository(repository), okCodes: [0, 1] })).code === 0
}

interface Uncommitted {
  path: string
  unstaged: boolean
}

/** Tracked changes only. Submodules are compared by commit only, because comparing their files would start git inside. */
const uncommitted = async (place: GitOptions): Promise<Uncommitted[]> => {
  const args = ['status', '--porcelain=v2', '-z', '--untracked-files=no', '--ignore-submodules=dirty', '--no-renames']
  const { stdout } = await gitInCheckout(args, place)
  return fieldsOf(stdout)
    .filter((line) => line.startsWith('1 ') || line.startsWith('u '))
    .map((line) => {
      const fields = line.split(' ')
      const path = fields.slice(line.startsWith('u ') ? 10 : 8).join(' ')
      return { path, unstaged: line.startsWith('u ') || !(fields[1] ?? '').endsWith('.') }
    })
}

const unfinished = ['MERGE_HEAD', 'CHERRY_PICK_HEAD', 'REVERT_HEAD', 'rebase-merge', 'rebase-apply']

const operationUnderWay = async (place: GitOptions): Promise<string | undefined> => {
  const gitDir = await gitLine(['rev-parse', '--absolute-git-dir'], place)
  for (const name of unfinished) if (await exists(join(gitDir, name))) return name
  return (await exists(join(gitDir, 'index.lock'))) ? 'index.lock' : undefined
}

const filesBelow = async (root: string, folder: string): Promise<string[]> => {
  const entries = await readdir(join(root, folder), { withFileTypes: true })
  const nested = entries.map(async (entry) =>
    entry.isDirectory() ? filesBelow(root, `${folder}/${entry.name}`) : [`${folder}/${entry.name}`],
  )
  return (await Promise.all(nested)).flat()
}

/** What the fast-forward writes. */
interface Paths {
  /** With mode and object in the target. */
  added: { path: string; mode: string; object: string }[]
  deleted: Set<string>
  all: Set<string>
}

const pathsOf = async (place: GitOptions, from: string, to: string): Promise<Paths> => {
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-abbrev', '--no-renames', '--no-ext-diff', from, to]
  const fields = fieldsOf((await git(args, place)).stdout)
  const paths: Paths = { added: [], deleted: new Set(), all: new Set() }
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const [path = '', raw = ''] = [fields[index + 1], fields[index]]
    const [, mode = '', , object = '', status = ''] = raw.slice(1).split(' ')
    paths.all.add(path)
    if (status === 'A') paths.added.push({ path, mode, object })
    if (status === 'D') paths.deleted.add(path)
  }
  return paths
}

/** Whether the untracked file at an added path is what the fast-forward would write there. */
const isSameFile = async (place: GitOptions, { path, mode, object }: Paths['added'][number]): Promise<boolean> => {
  const found = await lstat(join(place.cwd, path)).catch(() => undefined)
  const isExecutable = ((found?.mode ?? 0) & 0o100) !== 0
  if (found?.isFile() !== true || mode !== (isExecutable ? '100755' : '100644')) return false
  const hashed = await gitInCheckout(['hash-object', '--', path], { ...place, okCodes: [0, 1, 128] })
  return hashed.code === 0 && hashed.stdout.trim() === object
}

/** Untracked entries at an added path, or in the place of one of its parent folders. */
const blockers = async (root: string, path: string, deleted: Set<string>): Promise<string[]> => {
  const parts = path.split('/')
  for (let length = 1; length <= parts.length; length += 1) {
    const at = parts.slice(0, length).join('/')
    const found = await lstat(join(root, at)).catch(() => undefined)
    if (found === undefined || deleted.has(at)) return []
    if (!found.isDirectory()) return [at]
  }
  return (await filesBelow(root, path)).filter((file) => !deleted.has(file))
}

interface Untracked {
  /** Those that would be overwritten. */
  inTheWay: string[]
  /** Those that are the same already. */
  same: Paths['added']
}

const untrackedAt = async (place: GitOptions, { added, deleted }: Paths): Promise<Untracked> => {
  const found: Untracked = { inTheWay: [], same: [] }
  for (const entry of added) {
    const entries = await blockers(place.cwd, entry.path, deleted)
    if (entries.length === 1 && entries[0] === entry.path && (await isSameFile(place, entry))) found.same.push(entry)
    else found.inTheWay.push(...entries)
  }
  return { ...found, inTheWay: [...new Set(found.inTheWay)] }
}

/** Uncommitted changes of what the fast-forward writes, or of a folder in the place of a file. Others stay as they are. */
const affected = (changed: readonly Uncommitted[], { all }: Paths): Uncommitted[] => {
  const folders = new Set([...all].flatMap(foldersAbove))
  return changed.filter(
    ({ path }) => all.has(path) || folders.has(path) || foldersAbove(path).some((at) => all.has(at)),
  )
}

/** Paths of the index that differ from a commit. What a crash before the move of the ref left there is the target's already. */
const stagedAgainst = async (place: GitOptions, commit: string): Promise<Set<string>> => {
  const args = ['diff-index', '--cached', '-z', '--name-only', '--no-renames', '--no-ext-diff']
  const { stdout } = await gitInCheckout([...args, '--ignore-submodules=dirty', commit, '--'], place)
  return new Set(fieldsOf(stdout))
}

/** Takes untracked files into the index that are what the target has, because git would refuse to write over them. */
const takeSame = async (place: GitOptions, same: Untracked['same']): Promise<void> => {
  if (same.length === 0) return
  const input = same.map(({ path, mode, object }) => `${mode} ${object} 0\t${path}\0`).join('')
  await gitInCheckout(['update-index', '-z', '--index-info'], { ...place, input })
  await gitInCheckout(['update-index', '-q', '--refresh'], { ...place, okCodes: [0, 1] })
}

const giveBackSame = async (place: GitOptions, same: Untracked['same']): Promise<void> => {
  if (same.length === 0) return
  const input = same.map(({ path }) => `${path}\0`).join('')
  await gitInCheckout(['update-index', '-z', '--force-remove', '--stdin'], { ...place, input })
}

interface Move {
  ref: string
  from: string
  to: string
}

const forwardCheckout = async (repository: Repository, folder: string, move: Move): Promise<FastForward> => {
  const { ref, from, to } = move
  const place: GitOptions = { ...inRepository(repository), cwd: folder }
  const busy = await operationUnderWay(place)
  if (busy !== undefined) return refuse('busy', `${folder} is in the middle of another git operation (${busy})`)
  const written = await pathsOf(place, from, to)
  const open = await stagedAgainst(place, to)
  const changed = affected(await uncommitted(place), written).filter(({ path, unstaged }) => unstaged || open.has(path))
  if (changed.length > 0) {
    const paths = changed.map(({ path }) => path)
    return refuse('dirty', `${folder} has uncommitted changes`, paths)
  }
  const { inTheWay, same } = await untrackedAt(place, {
    ...written,
    added: written.added.filter(({ path }) => open.has(path)),
  })
  if (inTheWay.length > 0)
    return refuse('untracked-in-the-way', `Untracked files in ${folder} would be overwritten`, inTheWay)
  await gitInCheckout(['update-index', '-q', '--refresh'], { ...place, okCodes: [0, 1] })
  await takeSame(place, same)
  const read = await gitInCheckout(['read-tree', '-m', '-u', from, to], { ...place, okCodes: [0, 1, 128] })
  if (read.code !== 0) {
    await giveBackSame(place, same)
    return refuse('dirty', read.stderr.trim().slice(0, 500))
  }
  if (await swapRef(folder, { ref, from, to, why: 'unstuck: fast-forward' })) return { ok: true, from, to }
  await giveBackSame(place, same)
  await gitInCheckout(['read-tree', '-m', '-u', to, from], { ...place, okCodes: [0, 1, 128] })
  return refuse('moved', `${ref} was moved by another process`)
}

export interface ForwardRequest {
  /** Null = HEAD is detached. */
  branch: string | null
  to: string
  /** A commit that the branch must still have: without it, the commits up to it would return to the branch. */
  base?: string | null
}

/** Fast-forwards a branch of the user to `to`, together with its checkout if it has one. */
export const fastForward = async (repository: Repository, request: ForwardRequest): Promise<FastForward> => {
  const to = objectName(request.to)
  if (request.branch === null) return refuse('branch-missing', `${repository.root} is on no branch (HEAD is detached)`)
  const ref = refName(`refs/heads/${request.branch}`)
  const from = await readRef(repository, ref)
  if (from === null) return refuse('branch-missing', `There is no branch ${request.branch} in ${repository.root}`)
  if (await isAncestor(repository, to, from)) return { ok: true, from, to: from }
  if (!(await isAncestor(repository, from, to)))
    return refuse('diverged', `${request.branch} has commits that ${to} does not have`)
  const base = request.base ?? undefined
  if (base !== undefined && !(await isAncestor(repository, objectName(base), from)))
    return refuse('diverged', `${request.branch} does not have ${base}, from which ${to} was made`)
  const folder = await checkoutOf(repository, ref)
  if (folder !== undefined) return forwardCheckout(repository, resolve(folder), { ref, from, to })
  const moved = await swapRef(repository, { ref, from, to, why: 'unstuck: fast-forward' })
  return moved ? { ok: true, from, to } : refuse('moved', `${ref} was moved by another process`)
}
