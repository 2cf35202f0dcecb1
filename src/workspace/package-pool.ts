/**
 * Trees of installed packages that wait for a workspace. Each kind of tree (lockfile, runtime, platform) has a folder with one
 * tree that is never given away, the source of the others, and trees that are ready. A ready one belongs to one workspace,
 * by rename, and comes back only if it is as installed, by content. Copies are made ahead, where nobody waits for them.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { randomUUID } from 'node:crypto'
import { lstat, mkdir, mkdtemp, readFile, readdir, rename, rm, statfs, utimes, writeFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bytesOf } from './bytes.ts'
import { removeFolder } from './remove-folder.ts'
import { copyInstalled } from './copy-installed.ts'
import { copyTree } from './copy-tree.ts'
import { keepDifference } from './kept-difference.ts'
import { keyOf } from './package-kind.ts'
import type { ContentReply, ContentRequest } from './tree-content-process.ts'
import { differenceOf, type TreeContent } from './tree-content.ts'

/** How many trees of a kind wait: one for the next agent and one for the next checks. */
const readyTrees = 2
/** A copy is made ahead only if this much room is left beside it. */
const roomBytes = 2 * 1024 ** 3

export const makingPrefix = (): string => `making-${process.pid}-`

/** The place of a kind of tree. */
export const kindOf = (cacheDir: string, key: string) => {
  const dir = join(cacheDir, key)
  return {
    dir,
    source: join(dir, 'node_modules'),
    content: join(dir, 'content.json'),
    ready: join(dir, 'ready'),
    returned: join(dir, 'returned'),
  }
}

type Kind = ReturnType<typeof kindOf>

const isThere = async (path: string): Promise<boolean> => (await lstat(path).catch(() => undefined)) !== undefined

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []) // not made yet

/** Gives a ready tree away. False = there is none. */
export const takeReady = async (kind: Kind, to: string): Promise<boolean> => {
  for (const name of await namesIn(kind.ready)) {
    try {
      await rename(join(kind.ready, name), to)
      return true
    } catch (error) {
      // Another workspace was faster.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  return false
}

/** What its workspace leaves of a tree: for whom it was, until somebody has time to look at it. */
interface Returned {
  /** Folder that takes what was changed in it; absent = nobody will ask. */
  keepIn?: string
}

/** As many may wait to be looked at; each is as large as what is installed. */
const mostReturned = 4

/** Takes a tree out of its workspace at once; whether it may be used again is told by `tend`. */
export const takeBack = async (kind: Kind, tree: string, returned: Returned): Promise<void> => {
  if (returned.keepIn === undefined && (await namesIn(kind.returned)).length >= mostReturned) return removeFolder(tree)
  const folder = join(kind.returned, randomUUID())
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, 'returned.json'), JSON.stringify(returned))
  await rename(tree, join(folder, 'node_modules')).catch(async (error: unknown) => {
    await removeFolder(folder)
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  })
}

const program = fileURLToPath(new URL(`./tree-content-process${extname(import.meta.url)}`, import.meta.url))

/** `behind`: the work itself is held up while trees wait for their reader. */
const readContent = async (root: string, behind: boolean, signal: AbortSignal): Promise<TreeContent> => {
  const child = fork(program, [], { cwd: '/', env: {}, execArgv: [], serialization: 'advanced', signal })
  // What goes wrong while nobody waits for it, as an end of the engine between its answer and its exit, is no error of ours.
  child.on('error', () => undefined)
  try {
    // An end without an answer is an answer as well.
    const answered = Promise.race([once(child, 'message', { signal }), once(child, 'exit', { signal })])
    child.send({ root, behind } satisfies ContentRequest)
    const [reply] = (await answered) as [ContentReply | number | null]
    if (typeof reply !== 'object' || reply?.content === undefined)
      throw new Error(`${root} could not be read: ${(reply as ContentReply | null)?.error ?? 'the reader ended'}`)
    return reply.content
  } finally {
    if (child.connected) child.disconnect()
  }
}

const contentOfSource = async (kind: Kind, signal: AbortSignal): Promise<TreeContent> => {
  const kept = await readFile(kind.content, 'utf8').catch(() => undefined)
  if (kept !== undefined) return JSON.parse(kept) as TreeContent
  const content = await readContent(kind.source, false, signal)
  await writeFile(`${kind.content}.new`, JSON.stringify(content), { mode: 0o600 })
  await rename(`${kind.content}.new`, kind.content)
  return content
}

/** Puts a tree that came back where the next workspace finds it, or removes it. */
const settle = async (kind: Kind, name: string, signal: AbortSignal): Promise<void> => {
  const folder = join(kind.returned, name)
  const tree = join(folder, 'node_modules')
  const text = await readFile(join(folder, 'returned.json'), 'utf8').catch(() => '{}')
  const { keepIn } = JSON.parse(text) as Returned
  const ready = (await namesIn(kind.ready)).length
  if (keepIn === undefined && ready >= readyTrees) return removeFolder(folder)
  const behind = ready === 0 || (await namesIn(kind.returned)).length >= mostReturned
  const difference = differenceOf(await contentOfSource(kind, signal), await readContent(tree, behind, signal))
  if (keepIn !== undefined) await keepDifference(tree, difference, keepIn)
  if (difference.changed.length + difference.removed.length === 0 && ready < readyTrees) {
    // Caches of tools, as a rule; they are no part of what was installed and could hold anything.
    for (const path of difference.added) await removeFolder(join(tree, path))
    await mkdir(kind.ready, { recursive: true, mode: 0o700 })
    await rename(tree, join(kind.ready, name))
  }
  await removeFolder(folder)
}

const mayCopy = async (kind: Kind): Promise<boolean> => {
  const { bavail, bsize } = await statfs(kind.dir)
  return bavail * bsize - (await bytesOf(kind.source)) > roomBytes
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

/** Kinds that were used lately, the latest first. */
const kindsIn = async (cacheDir: string): Promise<{ key: string; usedAt: number }[]> => {
  const keys = (await namesIn(cacheDir)).filter((name) => /^[0-9a-f]{32}$/.test(name))
  const kinds = await Promise.all(
    keys.map(async (key) => ({ key, usedAt: (await lstat(join(cacheDir, key)).catch(() => undefined))?.mtimeMs ?? 0 })),
  )
  return kinds.sort((one, other) => other.usedAt - one.usedAt)
}

export const markUsed = async (kind: Kind): Promise<void> => {
  const now = new Date()
  await utimes(kind.dir, now, now).catch(() => undefined) // it went meanwhile: then it is not used
}

/** Where the packages of a kind come from. */
interface Origin {
  root: string
  folder: string
  lockHash: string
}

const originFile = (kind: Kind): string => join(kind.dir, 'origin.json')

/** From now on `tend` provides for workspaces that need this kind. */
export const want = async (kind: Kind, origin: Origin): Promise<void> => {
  await mkdir(kind.dir, { recursive: true, mode: 0o700 })
  await writeFile(originFile(kind), JSON.stringify(origin), { mode: 0o600 })
  await markUsed(kind)
}

/** From the checkout, if it is there as it was when the kind was named. False = it is another tree by now. */
const makeSource = async (cacheDir: string, key: string, kind: Kind, signal: AbortSignal): Promise<boolean> => {
  if (await isThere(kind.source)) return true
  const text = await readFile(originFile(kind), 'utf8').catch(() => undefined)
  if (text === undefined) return false
  const { root, folder, lockHash } = JSON.parse(text) as Origin
  const isSame = async (): Promise<boolean> => (await keyOf(root, folder, lockHash).catch(() => undefined)) === key
  if (!(await isSame())) return false
  const making = await mkdtemp(join(cacheDir, makingPrefix()))
  await copyInstalled({ root, folder }, join(making, 'node_modules'), signal)
  // An install in the checkout meanwhile makes it half of one tree and half of another.
  const made = await isSame()
  if (made) await rename(join(making, 'node_modules'), kind.source)
  await removeFolder(making)
  return made
}

const keptMs = 14 * 24 * 3_600_000
const mostKinds = 8

const tendKind = async (cacheDir: string, key: string, signal: AbortSignal): Promise<void> => {
  const kind = kindOf(cacheDir, key)
  const hasSource = await makeSource(cacheDir, key, kind, signal)
  for (const name of await namesIn(kind.returned)) {
    if (hasSource) await settle(kind, name, signal)
    else await removeFolder(join(kind.returned, name))
  }
  if (!hasSource) return
  await contentOfSource(kind, signal)
  await makeReady(cacheDir, kind, signal)
}

/** What a killed engine was copying. One process at a time works in the cache, so another one's is nobody's any more. */
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

interface Flight {
  done: Promise<void>
  again: boolean
}

const flights = new Map<string, Flight>()

/**
 * Looks at the trees that came back, and makes the next copies. One at a time for a pool: who asks meanwhile waits for the
 * look that follows.
 */
export const tendPool = (request: PoolRequest): Promise<void> => {
  const running = flights.get(request.cacheDir)
  if (running !== undefined) {
    running.again = true
    return running.done
  }
  const flight: Flight = { done: Promise.resolve(), again: true }
  const fly = async (): Promise<void> => {
    try {
      while (flight.again) {
        flight.again = false
        await tendAll(request)
      }
    } finally {
      flights.delete(request.cacheDir)
    }
  }
  flights.set(request.cacheDir, flight)
  flight.done = fly()
  return flight.done
}
