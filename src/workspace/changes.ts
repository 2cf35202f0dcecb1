/**
 * Captures the differences between a base and a folder of files, as a tree in the shadow and as a list. Only files count:
 * whatever an agent did to `.git` (commits, index flags, configuration, deletion) makes no difference. Symlinks are entries
 * and never followed, nested repositories are reported and never entered, and a rename is a deletion and an addition.
 */
import { constants } from 'node:fs'
import { access, lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError, messageOf } from '../errors.ts'
import type { FileChange, ChangeKind, ChangeList, LeftOut } from './repository-types.ts'
import { lenientFilters } from './filters.ts'
import { lstatInside } from './lstat-inside.ts'
import { filesWithEncodingFault } from './encoding.ts'
import { fieldsOf, git, gitLine, objectName, refName } from './git.ts'
import type { GitOptions } from './git.ts'
import { gitOnObjects } from './object-cache.ts'
import { alternatePath, inShadow, overFiles } from './shadow.ts'
import type { Shadow } from './shadow.ts'
import { readSubmodules, type SubmoduleRecord } from './submodule-record.ts'
import { defined } from '../domain/defined.ts'

export interface CaptureRequest {
  /** Commit or tree. */
  base: string
  workTree: string
  /** Private to one run. Reusing it makes later captures faster. */
  indexFile: string
  /** More ignore patterns, in the syntax of .gitignore. */
  exclude?: string[]
  timeoutMs?: number
}

/** How the files differ from the index. `store` and `remove` are disjoint. */
export interface FileFindings {
  store: string[]
  remove: string[]
  nested: string[]
  leftOut: LeftOut[]
}

const gitlink = '160000'

/** Names that git refuses in any tree, because some file systems read them as `.git`. */
const forbiddenName = /(?:^|\/)(?:\.git|git~1)[ .]*(?::[^/]*)?(?:\/|$)/i

/** Resets the index to the base, but keeps the cached stat data of unchanged files. */
export const resetIndex = async (at: GitOptions, base: string): Promise<void> => {
  const indexFile = at.indexFile ?? ''
  // A run has only one owner, so an existing lock was left by a killed process.
  await rm(`${indexFile}.lock`, { force: true })
  const read = ['read-tree', '--reset', objectName(base)]
  const first = await git(read, { ...at, okCodes: [0, 128] })
  if (first.code !== 0) {
    await rm(indexFile, { force: true })
    await git(read, at)
  }
  // A filter that fails makes the file a changed one here; what is stored is decided later.
  await git(['update-index', '-q', '--refresh'], { ...at, config: lenientFilters(at.config ?? []), okCodes: [0, 1] })
}

interface Candidate {
  path: string
  tracked: boolean
  /** git found a repository where the base has a file. */
  becameRepository: boolean
}

const trackedCandidates = async (at: GitOptions): Promise<Candidate[]> => {
  const args = ['diff-files', '--raw', '-z', '--no-renames', '--no-ext-diff', '--ignore-submodules=all']
  const fields = fieldsOf((await git(args, at)).stdout)
  const found: Candidate[] = []
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const newMode = (fields[index] ?? '').split(' ')[1]
    found.push({ path: fields[index + 1] ?? '', tracked: true, becameRepository: newMode === gitlink })
  }
  return found
}

const submodulesOf = async (at: GitOptions): Promise<string[]> => {
  const entries = fieldsOf((await git(['ls-files', '-z', '--stage'], at)).stdout)
  return entries.filter((entry) => entry.startsWith(gitlink)).map((entry) => entry.slice(entry.indexOf('\t') + 1))
}

const untracked = async (at: GitOptions, exclude: string[] | 'nothing'): Promise<string[]> => {
  const patterns =
    exclude === 'nothing' ? [] : ['--exclude-standard', ...exclude.map((pattern) => `--exclude=${pattern}`)]
  return fieldsOf((await git(['ls-files', '-z', '--others', ...patterns], at)).stdout)
}

const refusal = async (root: string, path: string): Promise<string | undefined> => {
  if (path.includes('\uFFFD')) return 'its name is not UTF-8'
  if (forbiddenName.test(path)) return 'git does not store this name'
  const found = await lstatInside(root, path)
  if (found?.isFile() !== true) return undefined
  const readable = await access(join(root, path), constants.R_OK).then(
    () => true,
    () => false,
  )
  return readable ? undefined : 'it cannot be read'
}

const sort = async (root: string, candidate: Candidate, into: FileFindings): Promise<void> => {
  const { path } = candidate
  const reason = await refusal(root, path)
  if (reason !== undefined) {
    into.leftOut.push({ path, reason })
    return
  }
  const found = await lstatInside(root, path)
  const storable = found !== undefined && (found.isFile() || found.isSymbolicLink())
  if (storable) into.store.push(path)
  else if (candidate.tracked) into.remove.push(path)
  if (candidate.becameRepository && found?.isDirectory() === true) into.nested.push(path)
}

const sortSubmodule = async (root: string, path: string, into: FileFindings): Promise<void> => {
  const found = await lstatInside(root, path)
  if (found === undefined) into.remove.push(path)
  else if (!found.isDirectory()) into.store.push(path)
  else if ((await lstatInside(root, `${path}/.git`)) !== undefined) into.nested.push(path)
}

/**
 * Those of the missing files that the index of the work tree calls sparse: its agent narrowed the checkout, and removed nothing. An index
 * that git cannot read names none.
 */
const sparseAmong = async (at: GitOptions, missing: readonly string[]): Promise<Set<string>> => {
  const root = at.workTree ?? at.cwd
  if (missing.length === 0 || (await lstatInside(root, '.git/index'))?.isFile() !== true) return new Set()
  const own = { ...at, indexFile: join(root, '.git', 'index'), okCodes: [0, 128] }
  const entries = fieldsOf((await git(['ls-files', '-z', '-t'], own)).stdout)
  const sparse = new Set(entries.filter((entry) => entry.startsWith('S ')).map((entry) => entry.slice(2)))
  return new Set(missing.filter((path) => sparse.has(path)))
}

/** Compares the files with the index. `exclude: 'nothing'` includes ignored files. */
export const inspectFiles = async (at: GitOptions, exclude: string[] | 'nothing'): Promise<FileFindings> => {
  const root = at.workTree ?? at.cwd
  const found: FileFindings = { store: [], remove: [], nested: [], leftOut: [] }
  // In parallel, because all three only read.
  const [others, tracked, submodules] = await Promise.all([
    untracked(at, exclude),
    trackedCandidates(at),
    submodulesOf(at),
  ])
  for (const path of others) {
    // git lists an untracked folder as such only if it is a repository.
    if (path.endsWith('/')) found.nested.push(path.slice(0, -1))
    else await sort(root, { path, tracked: false, becameRepository: false }, found)
  }
  for (const candidate of tracked) await sort(root, candidate, found)
  for (const path of submodules) await sortSubmodule(root, path, found)
  found.nested.sort()
  const sparse = await sparseAmong(at, found.remove)
  return { ...found, remove: found.remove.filter((path) => !sparse.has(path)) }
}

interface ChangedSubmodule {
  path: string
  /** Its changed and its deleted files, by their paths in the parent. */
  store: string[]
  remove: string[]
  /** Why the submodule could not be compared. */
  trouble?: string
}

const lookBelow = async (at: GitOptions, record: SubmoduleRecord, index: number): Promise<ChangedSubmodule> => {
  const dir = join(at.workTree ?? at.cwd, record.path)
  const inside = (paths: string[]): string[] => paths.map((path) => `${record.path}/${path}`)
  if (record.objects === null) return { path: record.path, store: inside(await readdir(dir)), remove: [] }
  const variables = { ...at.variables, GIT_ALTERNATE_OBJECT_DIRECTORIES: alternatePath(record.objects) }
  const own: GitOptions = { ...at, cwd: dir, workTree: dir, indexFile: `${at.indexFile ?? ''}.${index}`, variables }
  await resetIndex(own, record.commit)
  const { store, remove } = await inspectFiles(own, [])
  return { path: record.path, store: inside(store), remove: inside(remove) }
}

/**
 * Submodules that we checked out and whose files differ from their commit, whatever was committed inside. They are compared
 * through the shadow, which borrows the objects, because the agent controls the repository in the folder.
 */
export const changedSubmodules = async (at: GitOptions): Promise<ChangedSubmodule[]> => {
  const root = at.workTree ?? at.cwd
  const changed: ChangedSubmodule[] = []
  for (const [index, record] of (await readSubmodules(root)).entries()) {
    // A removed or replaced submodule is a change of the parent.
    if ((await lstatInside(root, record.path))?.isDirectory() !== true) continue
    const found = await lookBelow(at, record, index).catch((error: unknown) => ({
      ...{ path: record.path, store: [], remove: [] },
      trouble: messageOf(error),
    }))
    if (found.store.length + found.remove.length > 0 || 'trouble' in found) changed.push(found)
  }
  return changed
}

const namedFiles = 10

const submoduleLeftOut = ({ path, store, remove, trouble }: ChangedSubmodule): LeftOut => {
  if (trouble !== undefined) return { path, reason: `changes of the submodule could not be determined: ${trouble}` }
  const files = [...new Set([...store, ...remove])].sort()
  const more = files.length > namedFiles ? ` and ${files.length - namedFiles} more` : ''
  const named = `${files.slice(0, namedFiles).join(', ')}${more}`
  return {
    path,
    reason: `changes inside a submodule cannot be committed here (${named}); the submodule stays at its old commit`,
  }
}

/** Writes the findings into the index and returns the tree. A file that disappears meanwhile counts as removed. */
export const stageFindings = async (at: GitOptions, found: Pick<FileFindings, 'store' | 'remove'>): Promise<string> => {
  const removals = found.remove.map((path) => `${path}\0`).join('')
  if (removals !== '') await git(['update-index', '-z', '--force-remove', '--stdin'], { ...at, input: removals })
  const additions = found.store.map((path) => `${path}\0`).join('')
  const args = ['update-index', '-z', '--add', '--remove', '--replace', '--stdin']
  if (additions !== '') await git(args, { ...at, input: additions })
  return gitLine(['write-tree', '--missing-ok'], at)
}

const kindOf = (status: string, sameContent: boolean): ChangeKind => {
  if (status === 'A') return 'added'
  if (status === 'D') return 'deleted'
  if (status === 'T') return 'type'
  return sameContent ? 'mode' : 'modified'
}

export interface RawChange extends FileChange {
  oldObject: string
  newObject: string
}

/** Every path that differs between two trees or commits, with its objects in both. */
export const changesBetween = async (shadow: Shadow, from: string, to: string): Promise<RawChange[]> => {
  const args = [
    'diff-tree',
    '-r',
    '-z',
    '--raw',
    '--no-renames',
    '--no-ext-diff',
    '--no-abbrev',
    objectName(from),
    objectName(to),
  ]
  const fields = fieldsOf((await git(args, inShadow(shadow))).stdout)
  const changes: RawChange[] = []
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const [oldMode = '', newMode = '', oldObject = '', newObject = '', status = ''] = (fields[index] ?? '')
      .slice(1)
      .split(' ')
    const kind = kindOf(status, oldObject === newObject)
    changes.push({ path: fields[index + 1] ?? '', kind, oldMode, newMode, oldObject, newObject })
  }
  return changes
}

const asChange = ({ path, kind, oldMode, newMode }: RawChange): FileChange => ({ path, kind, oldMode, newMode })

/** The final state of the files compared with the base, without ignored untracked files and nested repositories. */
export const captureTree = async (shadow: Shadow, request: CaptureRequest): Promise<ChangeList> => {
  const { base, workTree, indexFile, exclude = [], timeoutMs } = request
  const top = await lstat(workTree).catch(() => undefined)
  if (top?.isDirectory() !== true)
    throw new AppError('DIRECTORY_MISSING', `The workspace ${workTree} no longer exists or is not a folder`)
  const at: GitOptions = {
    ...overFiles(shadow, workTree, indexFile),
    ...defined({ timeoutMs }),
  }
  await resetIndex(at, base)
  const found = await inspectFiles(at, exclude)
  const encoded = await filesWithEncodingFault(at, found.store)
  const foreign = new Set(encoded.map(({ path }) => path))
  const tree = await stageFindings(at, { ...found, store: found.store.filter((path) => !foreign.has(path)) })
  const changes = (await changesBetween(shadow, base, tree)).map(asChange)
  const laid = new Set((await readSubmodules(workTree)).map(({ path }) => path))
  const nestedRepositories = found.nested.filter((path) => !laid.has(path))
  const leftOut = [...found.leftOut, ...encoded, ...(await changedSubmodules(at)).map(submoduleLeftOut)]
  return { base, tree, changes, nestedRepositories, leftOut }
}

/** The empty tree, in the repository's hash function. */
export const emptyTree = async (shadow: Shadow): Promise<string> => gitLine(['mktree', '-z'], inShadow(shadow))

/**
 * Records the present state of a folder as a commit `refs/unstuck/base/<name>` of the shadow: the base of work in place. Files
 * that the user's HEAD tracks are included even if an ignore pattern matches them.
 */
export const captureBase = async (
  shadow: Shadow,
  request: { workTree: string; indexFile: string; name: string; at: string; exclude?: string[] },
): Promise<string> => {
  const ref = refName(`refs/unstuck/base/${request.name}`)
  const { workTree, indexFile, exclude = [] } = request
  const start = shadow.repository.head ?? (await emptyTree(shadow))
  const { tree } = await captureTree(shadow, { base: start, workTree, indexFile, exclude })
  const dates = { GIT_AUTHOR_DATE: request.at, GIT_COMMITTER_DATE: request.at }
  const place = { ...inShadow(shadow), input: `base ${request.name}\n`, variables: dates }
  const commit = await gitLine(['commit-tree', tree], place)
  await git(['update-ref', '--end-of-options', ref, commit], inShadow(shadow))
  return commit
}

/** Target text of a symlink in a tree: what the commit will contain, even if the work tree has changed since. */
export const linkTarget = async (shadow: Shadow, tree: string, path: string): Promise<string> =>
  (await gitOnObjects(['cat-file', 'blob', `${objectName(tree)}:${path}`], inShadow(shadow))).stdout
