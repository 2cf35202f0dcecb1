/**
 * Work trees that are used again. Writing a tree of 100,000 files takes many seconds, and removing it nearly as many, so the tree of a
 * workspace that is no longer needed is moved into a pool at once. There, while runs work, it is brought back to exactly the files of its
 * commit: what the commit does not have goes, and the content of every file is compared with its object, because a program can
 * reset the times of what it changed. A later workspace starts from such a tree, and git writes only the difference.
 */
import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { messageOf } from '../errors.ts'
import { refuseMounts } from '../platform/mounts.ts'
import { readRegularText } from '../platform/regular-file.ts'
import { askTreeProcess } from './ask-tree-process.ts'
import { lenientFilters } from './filters.ts'
import { fieldsOf, git, objectName, type GitOptions } from './git.ts'
import { oneJob } from './one-job.ts'
import { removeFolder } from './remove-folder.ts'
import { inShadow, overFiles, overRawFiles, type Shadow } from './shadow.ts'

/** A smaller tree is written faster than one is proved to be unchanged. */
const fewestFiles = 1000

/** One for the next agent and one for the next checks. */
const mostTrees = 2

/** The most trees that wait for their inspection; each takes the disk space of a checkout. */
const mostReturned = 2

const treeShape = z.object({
  commit: z.string(),
  /** What decides how git writes files: attributes in the commit, and the filters that ran. */
  writing: z.string().optional(),
})

const placesIn = (pool: string) => ({ ready: join(pool, 'ready'), returned: join(pool, 'returned') })

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []) // not made yet

/** Undefined = missing or damaged. */
const recordIn = async (folder: string): Promise<z.infer<typeof treeShape> | undefined> => {
  try {
    return treeShape.parse(JSON.parse(await readRegularText(join(folder, 'tree.json'))))
  } catch {
    return undefined
  }
}

const record = async (folder: string, kept: z.infer<typeof treeShape>): Promise<void> => {
  await writeFile(join(folder, 'tree.json.new'), JSON.stringify(kept), { mode: 0o600 })
  await rename(join(folder, 'tree.json.new'), join(folder, 'tree.json'))
}

const isAttributes = (path: string): boolean => path === '.gitattributes' || path.endsWith('/.gitattributes')

interface Entry {
  mode: string
  object: string
  path: string
}

const entriesOf = async (place: GitOptions, commit: string): Promise<Entry[]> => {
  const { stdout } = await git(['ls-tree', '-r', '-z', '--full-tree', objectName(commit)], place)
  return fieldsOf(stdout).map((line) => {
    const tab = line.indexOf('\t')
    const [mode = '', , object = ''] = line.slice(0, tab).split(' ')
    return { mode, object, path: line.slice(tab + 1) }
  })
}

export type FilterSettings = readonly (readonly [key: string, value: string])[]

/** A file that both commits have is written alike under the same key. */
const writingOf = (entries: readonly Entry[], filters: FilterSettings): string => {
  const attributes = entries.filter(({ path }) => isAttributes(path)).map(({ object, path }) => [object, path])
  return createHash('sha256')
    .update(JSON.stringify([attributes, filters, process.umask()]))
    .digest('hex')
}

/** Number of entries of an index file: its third 32-bit word. */
const entriesIn = async (indexFile: string): Promise<number> => {
  const file = await open(indexFile)
  try {
    const { buffer } = await file.read(Buffer.alloc(12), 0, 12, 0)
    return buffer.readUInt32BE(8)
  } finally {
    await file.close()
  }
}

/** Whether the tree of this index is worth keeping. */
export const isLargeTree = async (indexFile: string): Promise<boolean> => (await entriesIn(indexFile)) >= fewestFiles

export interface TreeWish {
  pool: string
  /** Where the objects of the commit are. */
  place: GitOptions
  commit: string
  filters: FilterSettings
}

/** Where the rest of a taken tree is. */
const takenOf = (to: string): string => `${to}.taken`

/** What an earlier, interrupted call of `takeTree` left. */
export const removeTaken = (to: string): Promise<void> => removeFolder(takenOf(to))

/**
 * Moves a tree of the pool to `to`, which must not exist, and returns the path of its index; undefined = none is ready. Its files are those
 * of another commit: `git reset --hard` with this index writes the difference. Call `removeTaken` afterwards.
 */
export const takeTree = async ({ pool, place, commit, filters }: TreeWish, to: string): Promise<string | undefined> => {
  const { ready } = placesIn(pool)
  const names = await namesIn(ready)
  if (names.length === 0) return undefined
  const wanted = writingOf(await entriesOf(place, commit), filters)
  const taken = takenOf(to)
  for (const name of names) {
    if ((await recordIn(join(ready, name)))?.writing !== wanted) continue
    try {
      await rename(join(ready, name), taken)
    } catch (error) {
      // Another workspace took this tree first.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue
      throw error
    }
    await rename(join(taken, 'tree'), to)
    return join(taken, 'index')
  }
  return undefined
}

/** Moves the tree of a workspace out of it at once. `tendTrees` decides later whether it can be used again. */
export const returnTreeOf = async (dir: string, { pool, commit }: { pool: string; commit: string }): Promise<void> => {
  refuseMounts(dir)
  const { returned } = placesIn(pool)
  if ((await namesIn(returned)).length >= mostReturned) return removeFolder(dir)
  const folder = join(returned, randomUUID())
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await record(folder, { commit })
  await rename(dir, join(folder, 'tree'))
}

/** What git converts when it writes a file. Line ends of `text` alone are those of the object here. */
const conversions = ['eol', 'crlf', 'ident', 'filter', 'working-tree-encoding']

/** Files whose bytes are not those of their objects. Without the word in an attributes file, no file has the attribute. */
const convertedPaths = async (at: GitOptions, entries: readonly Entry[]): Promise<string[]> => {
  const attributes = entries.filter(({ path }) => isAttributes(path)).map(({ object }) => object)
  if (attributes.length === 0) return []
  const { stdout } = await git(['cat-file', '--batch'], { ...at, input: `${attributes.join('\n')}\n` })
  if (!conversions.some((name) => stdout.includes(name))) return []
  const input = entries.map(({ path }) => `${path}\0`).join('')
  const args = ['check-attr', '--cached', '-z', '--stdin', ...conversions]
  const fields = fieldsOf((await git(args, { ...at, input })).stdout)
  const paths = new Set<string>()
  for (let index = 0; index + 2 < fields.length; index += 3) {
    const value = fields[index + 2] ?? ''
    if (value !== 'unspecified' && value !== 'unset') paths.add(fields[index] ?? '')
  }
  return [...paths]
}

/** Files that are missing, or whose content differs from their objects byte by byte. */
const differing = async (raw: GitOptions): Promise<string[]> => {
  // The index is new, so git knows no times and reads every file.
  await git(['update-index', '-q', '--refresh'], { ...raw, okCodes: [0, 1] })
  const args = ['diff-files', '--name-only', '-z', '--no-renames', '--no-ext-diff', '--ignore-submodules=all']
  return fieldsOf((await git(args, raw)).stdout)
}

/** Brings a returned tree back to its commit. */
const inspect = async (shadow: Shadow, folder: string, signal: AbortSignal): Promise<void> => {
  const kept = await recordIn(folder)
  if (kept === undefined) throw new Error(`${folder} has no record of its commit`)
  const tree = join(folder, 'tree')
  const indexFile = join(folder, 'index')
  const filters = shadow.filters
  const entries = await entriesOf(inShadow(shadow), kept.commit)
  const modes = new Map(entries.map(({ path, mode }) => [path, mode]))
  await askTreeProcess({ work: 'strip', root: tree, behind: false, modes, umask: process.umask() }, signal)
  const raw = { ...overRawFiles(shadow, tree, indexFile), signal }
  await rm(indexFile, { force: true })
  await git(['read-tree', objectName(kept.commit)], raw)
  const at = { ...overFiles(shadow, tree, indexFile), config: lenientFilters([...filters]), signal }
  const rewritten = new Set([...(await differing(raw)), ...(await convertedPaths(at, entries))])
  // Git would keep a file that equals its object, though it is not what a checkout writes.
  for (const path of rewritten) await rm(join(tree, path), { force: true })
  const input = [...rewritten].map((path) => `${path}\0`).join('')
  if (input !== '') await git(['checkout-index', '--force', '-u', '-q', '-z', '--stdin'], { ...at, input })
  await record(folder, { commit: kept.commit, writing: writingOf(entries, filters) })
}

const conclude = async (shadow: Shadow, pool: string, name: string, signal: AbortSignal): Promise<void> => {
  const { ready, returned } = placesIn(pool)
  const folder = join(returned, name)
  if ((await namesIn(ready)).length >= mostTrees) return removeFolder(folder)
  try {
    await inspect(shadow, folder, signal)
    await mkdir(ready, { recursive: true, mode: 0o700 })
    await rename(folder, join(ready, name))
  } catch (error) {
    // It holds what cannot be removed by this way, or its objects are gone: the next workspace is written anew.
    if (!signal.aborted) await removeFolder(folder)
    throw error
  }
}

export interface TreePoolRequest {
  shadow: Shadow
  pool: string
  signal: AbortSignal
}

const tendAll = async ({ shadow, pool, signal }: TreePoolRequest): Promise<void> => {
  const problems: string[] = []
  for (const name of await namesIn(placesIn(pool).returned)) {
    signal.throwIfAborted()
    await conclude(shadow, pool, name, signal).catch((error: unknown) => problems.push(messageOf(error)))
  }
  if (problems.length > 0) throw new Error(problems.join('; '))
}

/** Inspects the returned trees; those that are too many are removed. Throws why others could not be kept. */
export const tendTrees = (request: TreePoolRequest): Promise<void> => oneJob(request.pool, () => tendAll(request))
