/**
 * A pool of installed package trees for workspaces. Each kind of tree (lockfile, runtime, platform) has a folder with the source,
 * which stays in the pool, and ready copies of it. A ready tree is moved into one workspace, and may be reused afterwards only
 * if its content is unchanged. Copies are made in advance, when no run waits for them.
 */
import { randomUUID } from 'node:crypto'
import { lstat, mkdir, mkdtemp, readdir, rename, rm, statfs, utimes, writeFile, copyFile } from 'node:fs/promises'
import { join, dirname } from 'node:path'
import { readRegularText } from '../platform/regular-file.ts'
import { askTreeProcess } from './ask-tree-process.ts'
import { diskUsageOf } from './disk-usage.ts'
import { removeFolder } from './remove-folder.ts'
import { copyInstalled } from './copy-installed.ts'
import { copyTree } from './copy-tree.ts'
import { oneJob } from './one-job.ts'
import { packageKeyOf } from './package-kind.ts'
import { differenceOf, type TreeContent, type TreeDifference } from './tree-content.ts'

// Saves the changed files of a package tree before it is discarded, because an agent may have edited them to find an error.

/** An agent's own edits are small. A larger difference comes from an install, which the lockfile documents. */
const mostFiles = 200
const mostBytes = 4 * 1024 * 1024

const isCache = (path: string): boolean => /(^|\/)\.(?:cache|vite|vite-temp|vitest)(\/|$)/.test(path)

/** Writes the list and as many changed files as fit into the limits; nothing if only caches changed. */
const saveDifference = async (tree: string, difference: TreeDifference, into: string): Promise<void> => {
  const named = (['added', 'changed', 'removed'] as const).flatMap((kind) =>
    difference[kind].filter((path) => !isCache(path)).map((path) => ({ kind, path })),
  )
  if (named.length === 0) return
  await mkdir(into, { recursive: true, mode: 0o700 })
  await writeFile(join(into, 'changes.txt'), named.map(({ kind, path }) => `${kind}: ${path}\n`).join(''))
  let left = mostBytes
  for (const { path } of named.filter(({ kind }) => kind !== 'removed').slice(0, mostFiles)) {
    const found = await lstat(join(tree, path))
    if (!found.isFile() || found.size > left) continue
    left -= found.size
    await mkdir(dirname(join(into, 'files', path)), { recursive: true, mode: 0o700 })
    await copyFile(join(tree, path), join(into, 'files', path))
  }
}

/** The number of ready trees of a kind: one for the next agent and one for the next checks. */
const readyTrees = 2
/** A copy is made in advance only if this much disk space is left after it. */
const roomBytes = 2 * 1024 ** 3

export const makingPrefix = (): string => `making-${process.pid}-`

/** Paths of a kind of tree. */
export const poolKindOf = (cacheDir: string, key: string) => {
  const dir = join(cacheDir, key)
  return {
    dir,
    source: join(dir, 'node_modules'),
    content: join(dir, 'content.json'),
    ready: join(dir, 'ready'),
    returned: join(dir, 'returned'),
  }
}

type Kind = ReturnType<typeof poolKindOf>

const isThere = async (path: string): Promise<boolean> => (await lstat(path).catch(() => undefined)) !== undefined

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []) // not made yet

/** Moves a ready tree to `to`. False = none is ready. */
export const takeReadyTree = async (kind: Kind, to: string): Promise<boolean> => {
  for (const name of await namesIn(kind.ready)) {
    try {
      await rename(join(kind.ready, name), to)
      return true
    } catch (error) {
      // Another workspace took this tree first.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  return false
}

/** Stored with a returned tree until `maintainPool` inspects it. */
interface Returned {
  /** Folder for copies of the changed files; absent = they are not needed. */
  keepIn?: string
}

/** The most returned trees that wait for inspection, because each takes the disk space of a whole install. */
const mostReturned = 4

/** Moves a tree out of its workspace at once. `maintainPool` decides later whether it can be reused. */
export const returnTree = async (kind: Kind, tree: string, returned: Returned): Promise<void> => {
  if (returned.keepIn === undefined && (await namesIn(kind.returned)).length >= mostReturned) return removeFolder(tree)
  const folder = join(kind.returned, randomUUID())
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, 'returned.json'), JSON.stringify(returned))
  await rename(tree, join(folder, 'node_modules')).catch(async (error: unknown) => {
    await removeFolder(folder)
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  })
}

const readContent = async (root: string, behind: boolean, signal: AbortSignal): Promise<TreeContent> => {
  const { content } = await askTreeProcess({ work: 'read', root, behind }, signal)
  if (content === undefined) throw new Error(`${root} could not be read`)
  return content
}

/** Undefined = missing or damaged: the record is made again from the trees, or with the next run. */
const recordIn = async <T extends object>(path: string): Promise<T | undefined> => {
  try {
    return (JSON.parse(await readRegularText(path)) as T | null) ?? undefined
  } catch {
    return undefined
  }
}

const contentOfSource = async (kind: Kind, signal: AbortSignal): Promise<TreeContent> => {
  const kept = await recordIn<TreeContent>(kind.content)
  if (kept !== undefined) return kept
  const content = await readContent(kind.source, false, signal)
  await writeFile(`${kind.content}.new`, JSON.stringify(content), { mode: 0o600 })
  await rename(`${kind.content}.new`, kind.content)
  return content
}

/** Makes a returned tree ready for the next workspace, or removes it. */
const conclude = async (kind: Kind, name: string, signal: AbortSignal): Promise<void> => {
  const folder = join(kind.returned, name)
  const tree = join(folder, 'node_modules')
  const { keepIn } = (await recordIn<Returned>(join(folder, 'returned.json'))) ?? {}
  const ready = (await namesIn(kind.ready)).length
  if (keepIn === undefined && ready >= readyTrees) return removeFolder(folder)
  const behind = ready === 0 || (await namesIn(kind.returned)).length >= mostReturned
  const difference = differenceOf(await contentOfSource(kind, signal), await readContent(tree, behind, signal))
  if (keepIn !== undefined) await saveDifference(tree, difference, keepIn)
  if (difference.changed.length + difference.removed.length === 0 && ready < readyTrees) {
    // Added files are usually caches of tools. They are not part of the install and could contain anything.
    for (const path of difference.added) await removeFolder(join(tree, path))
    await mkdir(kind.ready, { recursive: true, mode: 0o700 })
    await rename(tree, join(kind.ready, name))
  }
  await removeFolder(folder)
}

const mayCopy = async (kind: Kind): Promise<boolean> => {
  const { bavail, bsize } = await statfs(kind.dir)
  return bavail * bsize - (await diskUsageOf(kind.source)) > roomBytes
}

const makeReady = async (cacheDir: string, kind: Kind, signal: AbortSignal): Promise<void> => {
  while ((await namesIn(kind.ready)).length < readyTrees && (await mayCopy(kind))) {
    const making = await mkdtemp(join(cacheDir, makingPrefix()))
    await copyTree(kind.source, join(making, 'node_modules'), signal)
    await mkdir(kind.ready, { recursive: true, mode: 0o700 })
    await rename(join(making, 'node_modules'), join(kind.ready, randomUUID()))
    await rm(making, { recursive: true })
  }
}

/** All kinds, the most recently used first. */
const kindsIn = async (cacheDir: string): Promise<{ key: string; usedAt: number }[]> => {
  const keys = (await namesIn(cacheDir)).filter((name) => /^[0-9a-f]{32}$/.test(name))
  const kinds = await Promise.all(
    keys.map(async (key) => ({ key, usedAt: (await lstat(join(cacheDir, key)).catch(() => undefined))?.mtimeMs ?? 0 })),
  )
  return kinds.sort((one, other) => other.usedAt - one.usedAt)
}

export const markKindUsed = async (kind: Kind): Promise<void> => {
  const now = new Date()
  await utimes(kind.dir, now, now).catch(() => undefined) // removed meanwhile, so it is not in use
}

/** The checkout that the packages of a kind come from. */
interface Origin {
  root: string
  folder: string
  lockHash: string
}

const originFile = (kind: Kind): string => join(kind.dir, 'origin.json')

/** Registers a kind, so that `maintainPool` prepares trees of it. */
export const registerKind = async (kind: Kind, origin: Origin): Promise<void> => {
  await mkdir(kind.dir, { recursive: true, mode: 0o700 })
  await writeFile(originFile(kind), JSON.stringify(origin), { mode: 0o600 })
  await markKindUsed(kind)
}

/** Copies the source from the checkout. False = the checkout's packages have changed since the kind was registered. */
const makeSource = async (cacheDir: string, key: string, kind: Kind, signal: AbortSignal): Promise<boolean> => {
  if (await isThere(kind.source)) return true
  const origin = await recordIn<Origin>(originFile(kind))
  if (origin === undefined) return false
  const { root, folder, lockHash } = origin
  const isSame = async (): Promise<boolean> =>
    (await packageKeyOf(root, folder, lockHash).catch(() => undefined)) === key
  if (!(await isSame())) return false
  const making = await mkdtemp(join(cacheDir, makingPrefix()))
  await copyInstalled({ root, folder }, join(making, 'node_modules'), signal)
  // An install in the checkout during the copy would mix two trees.
  const made = await isSame()
  if (made) await rename(join(making, 'node_modules'), kind.source)
  await removeFolder(making)
  return made
}

const keptMs = 14 * 24 * 3_600_000
const mostKinds = 8

const tendKind = async (cacheDir: string, key: string, signal: AbortSignal): Promise<void> => {
  const kind = poolKindOf(cacheDir, key)
  const hasSource = await makeSource(cacheDir, key, kind, signal)
  for (const name of await namesIn(kind.returned)) {
    if (hasSource) await conclude(kind, name, signal)
    else await removeFolder(join(kind.returned, name))
  }
  if (!hasSource) return
  await contentOfSource(kind, signal)
  await makeReady(cacheDir, kind, signal)
}

/** Removes unfinished copies of a killed engine. Only one process works in the cache, so copies of other processes are stale. */
const removeAbandoned = async (cacheDir: string): Promise<void> => {
  const abandoned = (await namesIn(cacheDir)).filter(
    (name) => name.startsWith('making-') && !name.startsWith(makingPrefix()),
  )
  for (const name of abandoned) await removeFolder(join(cacheDir, name))
}

const tendAll = async ({ cacheDir, signal }: PoolRequest): Promise<void> => {
  await removeAbandoned(cacheDir)
  for (const [place, { key, usedAt }] of (await kindsIn(cacheDir)).entries()) {
    signal.throwIfAborted()
    if (place >= mostKinds || Date.now() - usedAt > keptMs) await removeFolder(join(cacheDir, key))
    else await tendKind(cacheDir, key, signal)
  }
}

export interface PoolRequest {
  cacheDir: string
  signal: AbortSignal
}

/** Inspects returned trees and makes the next copies. */
export const maintainPool = (request: PoolRequest): Promise<void> => oneJob(request.cacheDir, () => tendAll(request))
