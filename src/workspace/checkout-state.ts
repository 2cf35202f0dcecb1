/**
 * What an agent could change in the owner's checkout besides refs: staged and edited files, `.git/config` and hooks. Values are kept as
 * digests, because a configuration may hold logins. Nothing here takes a lock of the checkout, starts one of its programs, or fails a run:
 * what could not be read is a note.
 */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../errors.ts'
import { fieldsOf, git, gitInCheckout } from './git.ts'
import { inRepository } from './refs.ts'
import type { Repository } from './repository-types.ts'
import { defined } from '../domain/defined.ts'

/** One name and the digest of its content per part. Untracked files are not part of it: an owner's tools write many. */
export interface CheckoutState {
  index: Record<string, string>
  file: Record<string, string>
  config: Record<string, string>
  hook: Record<string, string>
  /** Which part was not read, and why. */
  notes: Partial<Record<CheckoutPart, string>>
}

export type CheckoutPart = 'index' | 'file' | 'config' | 'hook'

export const contentDigest = (content: string | Uint8Array): string =>
  createHash('sha256').update(content).digest('hex').slice(0, 16)

/** Larger files are compared by size and time of change. */
const readBytes = 1024 * 1024
/** Of a checkout with more changed files only the first ones are read. */
const readFiles = 200
/** A larger repository is not compared, because each launch would wait for it. */
const statusMs = 10_000

/** `bytes`: null for what is compared by size and time only, or is no file. */
export const readContent = async (path: string): Promise<{ digest: string; bytes: Uint8Array | null }> => {
  const found = await lstat(path).catch(() => undefined)
  if (found === undefined) return { digest: 'none', bytes: null }
  const mode = (found.mode & 0o777).toString(8)
  if (!found.isFile() || found.size > readBytes)
    return { digest: `${mode} ${found.size} ${found.mtimeMs}`, bytes: null }
  // Without blocking and without following a link, which another program may have put there in between.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  try {
    const bytes = await file.readFile()
    return { digest: `${mode} ${contentDigest(bytes)}`, bytes }
  } finally {
    await file.close()
  }
}

const contentOf = async (path: string): Promise<string> => (await readContent(path)).digest

const readFilesOf = async (folder: string, names: readonly string[]): Promise<Record<string, string>> =>
  Object.fromEntries(await Promise.all(names.map(async (name) => [name, await contentOf(join(folder, name))] as const)))

const readStatus = async (repository: Repository): Promise<Pick<CheckoutState, 'index' | 'file' | 'notes'>> => {
  const args = ['status', '--porcelain=v2', '-z', '--untracked-files=no', '--no-renames', '--ignore-submodules=all']
  const { stdout } = await gitInCheckout(args, { ...inRepository(repository), timeoutMs: statusMs })
  const index: Record<string, string> = {}
  const edited: string[] = []
  for (const entry of fieldsOf(stdout)) {
    // `1 XY sub mH mI mW hH hI path`, or for a conflict `u XY sub m1 m2 m3 mW h1 h2 h3 path`.
    const fields = entry.split(' ')
    const path = fields.slice(fields[0] === 'u' ? 10 : 8).join(' ')
    const states = fields[1] ?? '..'
    if (states[0] !== '.') index[path] = fields.slice(4, fields[0] === 'u' ? 10 : 5).join(' ') + (fields[7] ?? '')
    if (states[1] !== '.') edited.push(path)
  }
  const beyond = edited.length - readFiles
  const notes = beyond > 0 ? { file: `${beyond} more changed files were not read` } : {}
  return { index, file: await readFilesOf(repository.root, edited.slice(0, readFiles)), notes }
}

/** Untracked paths of the owner's checkout, folders with a final slash, that were written after `since` (ms); none where it cannot be read. */
export const untrackedSince = async (repository: Repository, since: number): Promise<string[]> => {
  if (repository.commonDir === null || repository.url !== undefined) return []
  const args = ['ls-files', '--others', '--exclude-standard', '--directory', '-z']
  const place = { ...inRepository(repository), timeoutMs: statusMs }
  const paths = await gitInCheckout(args, place).then(
    ({ stdout }) => fieldsOf(stdout),
    () => [],
  )
  const times = await Promise.all(paths.map((path) => lstat(join(repository.root, path)).catch(() => undefined)))
  return paths.filter((_path, at) => (times[at]?.mtimeMs ?? 0) >= since)
}

/** Digests by key of `.git/config`, or of a copy of it. */
export const readConfig = async (repository: Repository, path: string): Promise<Record<string, string>> => {
  const args = ['config', '--file', path, '--no-includes', '--list', '-z']
  const values = new Map<string, string[]>()
  for (const line of fieldsOf((await git(args, inRepository(repository))).stdout)) {
    const [key = '', ...value] = line.split('\n')
    values.set(key, [...(values.get(key) ?? []), value.join('\n')])
  }
  return Object.fromEntries([...values].map(([key, all]) => [key, contentDigest(all.join('\0'))]))
}

const readHooks = async (commonDir: string): Promise<Record<string, string>> => {
  const folder = join(commonDir, 'hooks')
  const names = await readdir(folder).catch(() => [])
  return readFilesOf(
    folder,
    names.filter((name) => !name.endsWith('.sample')),
  )
}

/** A part that cannot be read is empty on this side; `notes` tells the comparison to leave it out. */
const orNote = async <T>(read: Promise<T>, none: T): Promise<{ value: T; note?: string }> => {
  try {
    return { value: await read }
  } catch (error) {
    return { value: none, note: messageOf(error) }
  }
}

const nothing = (): CheckoutState => ({ index: {}, file: {}, config: {}, hook: {}, notes: {} })

export const readCheckout = async (repository: Repository): Promise<CheckoutState> => {
  const { commonDir } = repository
  if (commonDir === null || repository.url !== undefined) return nothing()
  const { index, file, notes } = nothing()
  const [status, config, hook] = await Promise.all([
    orNote(readStatus(repository), { index, file, notes }),
    orNote(readConfig(repository, join(commonDir, 'config')), {}),
    orNote(readHooks(commonDir), {}),
  ])
  return {
    ...status.value,
    config: config.value,
    hook: hook.value,
    notes: {
      ...status.value.notes,
      ...(status.note === undefined ? {} : { index: status.note, file: status.note }),
      ...defined({ config: config.note, hook: hook.note }),
    },
  }
}

/**
 * After a commit of an agent in the checkout was taken off its branch: what it staged goes back as well. Files of the working tree only
 * where git can prove that nothing of the owner is lost; otherwise they stay as they are.
 */
export const restoreIndex = async (
  repository: Repository,
  request: { ref: string; from: string; to: string; ownersPaths: readonly string[] },
): Promise<'done' | 'files-left' | 'left'> => {
  const place = { ...inRepository(repository), okCodes: [0, 1, 128] }
  const head = await git(['symbolic-ref', '--quiet', 'HEAD'], { ...inRepository(repository), okCodes: [0, 1, 128] })
  if (head.stdout.trim() !== request.ref) return 'done'
  const args = ['diff-tree', '-r', '-z', '--no-renames', '--name-status', request.to, request.from]
  const fields = fieldsOf((await git(args, inRepository(repository))).stdout)
  const paths = new Set(fields.filter((_path, at) => at % 2 === 1))
  const staged = await git(['diff-index', '--cached', '-z', '--name-only', request.to], inRepository(repository))
  // A bare move of the branch leaves the index as it was.
  if (!fieldsOf(staged.stdout).some((path) => paths.has(path))) return 'done'
  if (request.ownersPaths.some((path) => paths.has(path))) return 'left'
  // A file that the commit added may have been an untracked file of the owner: it stays, untracked again.
  const added = fields.some((status, at) => at % 2 === 0 && status === 'A')
  if (!added) {
    const both = await gitInCheckout(['read-tree', '-m', '-u', request.from, request.to], place)
    if (both.code === 0) return 'done'
  }
  const { code } = await gitInCheckout(['read-tree', '-m', request.from, request.to], place)
  return code === 0 ? 'files-left' : 'left'
}
