/**
 * Gives a fresh workspace its installed packages without an install: a copy, through a private cache, of what the
 * user's checkout has, when the lockfile is the same. It is never a link into the user's tree, because an install in
 * the workspace would write through it.
 */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { cp, lstat, mkdir, mkdtemp, readFile, readdir, readlink, realpath, rename, rm, symlink } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { execa } from 'execa'
import { removeFolder } from './clone.ts'
import type { Repository } from './contract.ts'

export interface Preparation {
  kind: 'none' | 'copied' | 'skipped'
  reason: string
  ms: number
  /** Symlinks that led out of the user's checkout and were left out, and the like. */
  notes: string[]
}

export interface PreparationRequest {
  repository: Repository
  workspace: string
  cacheDir: string
  signal?: AbortSignal
  /** Copies from the checkout again, because what the cache has is damaged. */
  anew?: true
}

const lockfiles = ['package-lock.json', 'npm-shrinkwrap.json', 'pnpm-lock.yaml', 'yarn.lock', 'bun.lock', 'bun.lockb']
/** Written by the package managers at the end of an install: a changed one means another installed tree. */
const installMarkers = ['.package-lock.json', '.modules.yaml', '.yarn-integrity', '.yarn-state.yml']

const read = async (path: string): Promise<Buffer | undefined> => readFile(path).catch(() => undefined)

const isFolder = async (path: string): Promise<boolean> =>
  (await lstat(path).catch(() => undefined))?.isDirectory() === true

/** A link counts: what an agent put there is not replaced. */
const isThere = async (path: string): Promise<boolean> => (await lstat(path).catch(() => undefined)) !== undefined

/** Folders of the workspace (relative, '' = top) for which the user has installed packages. */
const installed = async (request: PreparationRequest, folder: string, depth: number): Promise<string[]> => {
  const here = (await isFolder(join(request.repository.root, folder, 'node_modules'))) ? [folder] : []
  if (depth === 0) return here
  const entries = await readdir(join(request.workspace, folder), { withFileTypes: true })
  const below = entries
    .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules' && entry.name !== '.git')
    .map((entry) => installed(request, join(folder, entry.name), depth - 1))
  return [...here, ...(await Promise.all(below)).flat()]
}

interface Lock {
  /** Changed or missing in the workspace when null. */
  hash: string | null
  name: string
}

const lockOf = async (request: PreparationRequest, folder: string): Promise<Lock | undefined> => {
  for (const name of lockfiles) {
    const own = await read(join(request.workspace, folder, name))
    const users = await read(join(request.repository.root, folder, name))
    if (own === undefined && users === undefined) continue
    const same = own !== undefined && users !== undefined && own.equals(users)
    return { name: join(folder, name), hash: same ? createHash('sha256').update(own).digest('hex') : null }
  }
  return folder === '' ? undefined : lockOf(request, dirname(folder) === '.' ? '' : dirname(folder))
}

const cacheKey = async (request: PreparationRequest, folder: string, lockHash: string): Promise<string> => {
  const hash = createHash('sha256').update(`${request.repository.root}\0${folder}\0${lockHash}\0${process.version}`)
  const modules = join(request.repository.root, folder, 'node_modules')
  hash.update(String((await lstat(modules)).mtimeMs))
  for (const marker of installMarkers) hash.update((await read(join(modules, marker))) ?? '\0')
  return hash.digest('hex').slice(0, 32)
}

/** `cp` shares blocks where the file system can and is many times faster than a walk; other systems get the walk. */
const copyTree = async (from: string, to: string, signal: AbortSignal | undefined): Promise<void> => {
  const args = ['-a', '--reflink=auto', '--no-target-directory', '--', from, to]
  const done = await execa('cp', args, {
    reject: false,
    stdin: 'ignore',
    ...(signal === undefined ? {} : { cancelSignal: signal }),
  })
  signal?.throwIfAborted()
  if (!done.failed) return
  await removeFolder(to)
  await cp(from, to, {
    recursive: true,
    verbatimSymlinks: true,
    preserveTimestamps: true,
    mode: constants.COPYFILE_FICLONE,
  })
}

interface Links {
  /** The user's checkout, by its real path, and where in it the copied folder stands. */
  userRoot: string
  place: string
  notes: string[]
}

/** Makes one symlink independent of where the tree stands, or drops it when it leads out of the checkout. */
const settleLink = async (copy: string, inside: string, links: Links): Promise<void> => {
  const path = join(copy, inside)
  const target = await readlink(path)
  const from = join(links.userRoot, links.place, dirname(inside))
  const absolute = resolve(from, target)
  const real = isAbsolute(target)
    ? await realpath(dirname(absolute)).then(
        (folder) => join(folder, absolute.slice(dirname(absolute).length)),
        () => absolute,
      )
    : absolute
  if (real !== links.userRoot && !real.startsWith(links.userRoot + sep)) {
    await rm(path)
    links.notes.push(`${join(links.place, inside)} leads out of the checkout (${target}) and was left out`)
    return
  }
  if (!isAbsolute(target)) return
  await rm(path)
  await symlink(relative(from, real), path)
}

const settleLinks = async (copy: string, folder: string, links: Links): Promise<void> => {
  for (const entry of await readdir(join(copy, folder), { withFileTypes: true })) {
    const inside = join(folder, entry.name)
    if (entry.isSymbolicLink()) await settleLink(copy, inside, links)
    else if (entry.isDirectory()) await settleLinks(copy, inside, links)
  }
}

const makingPrefix = (): string => `making-${process.pid}-`

/** What a killed engine was copying. One process at a time works in the cache, so another one's is nobody's any more. */
const removeAbandoned = async (cacheDir: string): Promise<void> => {
  const names = await readdir(cacheDir).catch(() => []) // not made yet: nothing is left there
  const abandoned = names.filter((name) => name.startsWith('making-') && !name.startsWith(makingPrefix()))
  await Promise.all(abandoned.map((name) => removeFolder(join(cacheDir, name))))
}

/** The cached tree of one folder; filled from the user's checkout on first use, complete or not there at all. */
const cached = async (
  request: PreparationRequest,
  folder: string,
  lockHash: string,
): Promise<{ tree: string; notes: string[] }> => {
  const entry = join(request.cacheDir, await cacheKey(request, folder, lockHash))
  const tree = join(entry, 'node_modules')
  if (request.anew === true) await removeFolder(entry)
  if (await isFolder(entry)) return { tree, notes: [] }
  // Runs are prepared side by side, so each copies into a folder of its own and the first one to finish puts it in place.
  await removeAbandoned(request.cacheDir)
  await mkdir(request.cacheDir, { recursive: true })
  const making = await mkdtemp(join(request.cacheDir, makingPrefix()))
  await copyTree(join(request.repository.root, folder, 'node_modules'), join(making, 'node_modules'), request.signal)
  const links: Links = { userRoot: request.repository.root, place: join(folder, 'node_modules'), notes: [] }
  await settleLinks(join(making, 'node_modules'), '', links)
  await rename(making, entry).catch(async (error: unknown) => {
    if (!(await isFolder(entry))) throw error
    await removeFolder(making)
  })
  return { tree, notes: links.notes }
}

const give = async (request: PreparationRequest, folder: string, tree: string): Promise<void> => {
  const making = `${request.workspace}.dependencies`
  await removeFolder(making)
  await copyTree(tree, making, request.signal)
  await rename(making, join(request.workspace, folder, 'node_modules'))
}

/** Copies every installed package folder whose governing lockfile is the same in both. Repeating it copies what is missing. */
export const prepareDependencies = async (request: PreparationRequest): Promise<Preparation> => {
  const start = performance.now()
  const notes: string[] = []
  const result = (kind: Preparation['kind'], reason: string): Preparation => ({
    kind,
    reason,
    ms: Math.round(performance.now() - start),
    notes,
  })
  const folders = await installed(request, '', 4)
  if (folders.length === 0) return result('none', 'the checkout has no installed packages')
  let copied = 0
  for (const folder of folders) {
    request.signal?.throwIfAborted()
    const lock = await lockOf(request, folder)
    if (lock === undefined) notes.push(`${join(folder, 'node_modules')} has no lockfile and was left out`)
    else if (lock.hash === null) notes.push(`${lock.name} differs from the checkout's`)
    else if (await isThere(join(request.workspace, folder, 'node_modules'))) copied += 1
    else {
      const source = await cached(request, folder, lock.hash)
      notes.push(...source.notes)
      await give(request, folder, source.tree)
      copied += 1
    }
  }
  if (copied === 0) return result('skipped', notes.join('; '))
  return result('copied', `${copied} of ${folders.length} package folders copied`)
}
