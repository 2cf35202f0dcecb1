/** Which installed packages a workspace needs, and the key that identifies a tree of packages. */
import { createHash } from 'node:crypto'
import { lstat, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { readRegular } from '../platform/regular-file.ts'
import { isDeepStrictEqual } from 'node:util'
import { isFolder } from './installed/bounded-read.ts'
import { holdsWanted, linkedFolders, wantedPackages, type WantedPackages } from './installed/unlocked.ts'

export const lockfiles = [
  'package-lock.json',
  'npm-shrinkwrap.json',
  'pnpm-lock.yaml',
  'yarn.lock',
  'bun.lock',
  'bun.lockb',
]
/** Written by the package managers at the end of an install. A changed marker means another installed tree. */
const installMarkers = ['.package-lock.json', '.modules.yaml', '.yarn-integrity', '.yarn-state.yml']
/** How deep folders are searched. */
const deepest = 4

const read = async (path: string): Promise<Buffer | undefined> => readRegular(path).catch(() => undefined)

/** Roots of the user's checkout, and of a workspace at one of its commits. */
export interface CheckoutAndWorkspace {
  root: string
  workspace: string
}

/** Folders of the workspace (relative, '' = top) for which the user has installed packages. */
export const installedFolders = async (
  places: CheckoutAndWorkspace,
  folder = '',
  depth = deepest,
): Promise<string[]> => {
  const here = (await isFolder(join(places.root, folder, 'node_modules'))) ? [folder] : []
  if (depth === 0) return here
  const entries = await readdir(join(places.workspace, folder), { withFileTypes: true })
  const below = entries
    .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules' && entry.name !== '.git')
    .map((entry) => installedFolders(places, join(folder, entry.name), depth - 1))
  return [...here, ...(await Promise.all(below)).flat()]
}

interface Lock {
  /** Null = the lockfiles of workspace and checkout differ, or one is missing. */
  hash: string | null
  name: string
}

/** The lockfile that governs a folder: its own, or the one of the nearest folder above. One that git does not track governs nothing. */
const committedLock = async (places: CheckoutAndWorkspace, folder: string): Promise<Lock | undefined> => {
  for (const name of lockfiles) {
    const own = await read(join(places.workspace, folder, name))
    if (own === undefined) continue
    const same = (await read(join(places.root, folder, name)))?.equals(own) === true
    return { name: join(folder, name), hash: same ? createHash('sha256').update(own).digest('hex') : null }
  }
  return folder === '' ? undefined : committedLock(places, dirname(folder) === '.' ? '' : dirname(folder))
}

/** What the manifest of a folder asks for, if it is the same in checkout and workspace; undefined = one of them has none. */
const sameWanted = async (
  { root, workspace }: CheckoutAndWorkspace,
  folder: string,
): Promise<WantedPackages | 'differs' | undefined> => {
  const [own, users] = await Promise.all([workspace, root].map((place) => read(join(place, folder, 'package.json'))))
  if (own === undefined || users === undefined) return undefined
  const wanted = wantedPackages(own.toString())
  return isDeepStrictEqual(wanted, wantedPackages(users.toString())) ? wanted : 'differs'
}

/**
 * What decides which packages a workspace needs: its lockfile, or, as in most libraries, its manifest alone. Then the packages of
 * the checkout serve if the manifest asks for the same there, and the package manager's own record has everything that it asks for.
 */
export const lockOf = async (places: CheckoutAndWorkspace, folder: string): Promise<Lock | undefined> => {
  const committed = await committedLock(places, folder)
  if (committed !== undefined) return committed
  const wanted = await sameWanted(places, folder)
  const name = join(folder, 'package.json')
  if (wanted === undefined) return undefined
  if (wanted === 'differs') return { name, hash: null }
  if (!(await holdsWanted(join(places.root, folder), wanted))) return undefined
  const all = [wanted]
  for (const member of await linkedFolders(join(places.root, folder))) {
    const place = join(folder, member)
    const asked = await sameWanted(places, place)
    if (asked === 'differs') return { name: join(place, 'package.json'), hash: null }
    // A package from outside has no manifest here.
    if (asked !== undefined) all.push(asked)
  }
  return { name, hash: createHash('sha256').update(JSON.stringify(all)).digest('hex') }
}

/** Key of the packages that are installed in a folder of the checkout now: from lockfile, runtime, platform and install. */
export const packageKeyOf = async (root: string, folder: string, lockHash: string): Promise<string> => {
  const system = `${process.version}\0${process.platform}\0${process.arch}`
  const hash = createHash('sha256').update(`${root}\0${folder}\0${lockHash}\0${system}`)
  const modules = join(root, folder, 'node_modules')
  hash.update(String((await lstat(modules)).mtimeMs))
  for (const marker of installMarkers) hash.update((await read(join(modules, marker))) ?? '\0')
  return hash.digest('hex').slice(0, 32)
}
