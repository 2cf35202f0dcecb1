/** Which installed packages a workspace needs, and the key that identifies a tree of packages. */
import { createHash } from 'node:crypto'
import { lstat, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { readRegular } from '../platform/regular-file.ts'
import { isFolder } from './installed/bounded-read.ts'

const lockfiles = ['package-lock.json', 'npm-shrinkwrap.json', 'pnpm-lock.yaml', 'yarn.lock', 'bun.lock', 'bun.lockb']
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

/** The lockfile that governs a folder: its own, or the one of the nearest folder above. */
export const lockfileOf = async (places: CheckoutAndWorkspace, folder: string): Promise<Lock | undefined> => {
  for (const name of lockfiles) {
    const own = await read(join(places.workspace, folder, name))
    const users = await read(join(places.root, folder, name))
    if (own === undefined && users === undefined) continue
    const same = own !== undefined && users !== undefined && own.equals(users)
    return { name: join(folder, name), hash: same ? createHash('sha256').update(own).digest('hex') : null }
  }
  return folder === '' ? undefined : lockfileOf(places, dirname(folder) === '.' ? '' : dirname(folder))
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
