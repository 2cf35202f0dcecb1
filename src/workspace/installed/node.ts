/** Trees of `node_modules`: compares each manager's lockfile with its record of the install, and detects damaged packages. */
import { lstat, readdir, readlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { InstalledTree } from '../../recovery/probes/measurement.ts'
import { bunDifferences } from './bun.ts'
import {
  filterConcurrently,
  hasBytes,
  isFolder,
  entryNames,
  parsedRecord,
  recordAt,
  treeStateOf,
  boundedText,
  type TreeComparison,
} from './bounded-read.ts'
import { berryDifferences, berryFolders, classicDifferences, isBerry, wantsTree, type DevNames } from './yarn.ts'

const npmMarker = join('node_modules', '.package-lock.json')
const berrySettings = '.yarnrc.yml'
const berryMarker = join('node_modules', '.yarn-state.yml')

const nameIn = (key: string): string => key.slice(key.lastIndexOf('node_modules/') + 'node_modules/'.length)

/** Packages of npm's lockfile that npm's list of the installed tree lacks or has in another version. */
const npmDifferences = (lockfile: string, marker: string): TreeComparison => {
  const wanted = recordAt(parsedRecord(lockfile), 'packages')
  const there = recordAt(parsedRecord(marker), 'packages')
  const differences = Object.entries(wanted).flatMap(([key, { version, link, optional, devOptional }]) => {
    if (!key.includes('node_modules/') || link === true) return []
    const { [key]: found } = there
    // Whether an optional package is installed depends on the machine.
    if (found === undefined) return optional === true || devOptional === true ? [] : [`${nameIn(key)} is missing`]
    return found.version === version ? [] : [`${nameIn(key)} is ${String(found.version)} instead of ${String(version)}`]
  })
  return { differences }
}

interface Manager {
  lockfiles: readonly string[]
  marker: string
  /** Identifies the manager, where the name of the lockfile is not enough. */
  governs?: (lockfile: string) => boolean
  /** Whether the manager creates a tree; undefined = always. */
  settings?: { file: string; makeTree: (text: string | undefined) => boolean }
  hold(lockfile: string, marker: string, devNames: DevNames): TreeComparison
}

const managers: readonly Manager[] = [
  { lockfiles: ['npm-shrinkwrap.json', 'package-lock.json'], marker: npmMarker, hold: npmDifferences },
  {
    lockfiles: ['pnpm-lock.yaml'],
    marker: join('node_modules', '.pnpm', 'lock.yaml'),
    // pnpm keeps a copy of the lockfile that it used for the install.
    hold: (lockfile, marker) => ({
      differences: lockfile === marker ? [] : ['the lockfile changed since the install'],
    }),
  },
  {
    lockfiles: ['yarn.lock'],
    marker: berryMarker,
    governs: isBerry,
    settings: { file: berrySettings, makeTree: wantsTree },
    hold: berryDifferences,
  },
  { lockfiles: ['yarn.lock'], marker: join('node_modules', '.yarn-integrity'), hold: classicDifferences },
]

const bunLock = 'bun.lock'
/** A binary lockfile, without any other record of the installed packages. */
const unreadable = 'bun.lockb'

export const lockNames: readonly string[] = [...managers.flatMap(({ lockfiles }) => lockfiles), bunLock, unreadable]

type Compared = Pick<InstalledTree, 'lockfile' | 'state' | 'differences'>

const told = (lockfile: string, held: TreeComparison): Compared => ({
  lockfile,
  state: treeStateOf(held),
  differences: held.differences,
})

const holdOne = async (
  folder: string,
  { manager, name, lockfile }: { manager: Manager; name: string; lockfile: string },
  { installed, devNames }: { installed: boolean; devNames: DevNames },
): Promise<Compared> => {
  const { settings, marker, hold } = manager
  const makesTree = settings === undefined || settings.makeTree(await boundedText(join(folder, settings.file)))
  if (!installed) return { lockfile: name, state: makesTree ? 'absent' : 'unknown', differences: [] }
  const list = await boundedText(join(folder, marker))
  return list === undefined || !makesTree
    ? { lockfile: name, state: 'unknown', differences: [] }
    : told(name, hold(lockfile, list, devNames))
}

const compare = async (folder: string, installed: boolean, devNames: DevNames): Promise<Compared> => {
  for (const manager of managers)
    for (const name of manager.lockfiles) {
      const lockfile = await boundedText(join(folder, name))
      if (lockfile === undefined || manager.governs?.(lockfile) === false) continue
      return holdOne(folder, { manager, name, lockfile }, { installed, devNames })
    }
  const lockfile = await boundedText(join(folder, bunLock))
  if (lockfile !== undefined && installed) return told(bunLock, await bunDifferences(folder, lockfile))
  const [other = null] = await filterConcurrently([bunLock, unreadable], async (name) => hasBytes(join(folder, name)))
  return { lockfile: other, state: installed ? 'unknown' : 'absent', differences: [] }
}

/** Package folders at the top of an installed tree, including those in scopes. */
const topPackages = async (modules: string): Promise<string[]> => {
  const names = async (folder: string): Promise<string[]> =>
    (await readdir(folder, { withFileTypes: true }).catch(() => []))
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map((entry) => entry.name)
  const found: string[] = []
  for (const name of await names(modules)) {
    if (!name.startsWith('@')) found.push(name)
    else found.push(...(await names(join(modules, name))).map((inside) => `${name}/${inside}`))
  }
  return found
}

/** Yarn's list of the installed tree; undefined if the project uses another linker or manager now, so that the list is stale. */
const berryList = async (folder: string): Promise<string | undefined> => {
  const lockfile = await boundedText(join(folder, 'yarn.lock'))
  if (lockfile === undefined || !isBerry(lockfile) || !wantsTree(await boundedText(join(folder, berrySettings))))
    return undefined
  return boundedText(join(folder, berryMarker))
}

/** The packages below `node_modules` according to the manager's own list. */
const listedIn = async (folder: string): Promise<string[]> => {
  const npms = recordAt(parsedRecord(await boundedText(join(folder, npmMarker))), 'packages')
  const keys = Object.keys(npms).filter((key) => key.startsWith('node_modules/') && npms[key]?.link !== true)
  return keys.length > 0 ? keys : berryFolders(await berryList(folder))
}

/** Packages of npm's or Yarn's own list that are missing on disk; for other managers, empty packages. */
const damagedPackages = async (folder: string): Promise<string[]> => {
  const modules = join(folder, 'node_modules')
  const keys = await listedIn(folder)
  const broken = await filterConcurrently(keys, async (key) => !(await hasBytes(join(folder, key, 'package.json'))))
  if (keys.length > 0) return broken.map((key) => `${nameIn(key)} has no package.json`)
  const empty = await filterConcurrently(await topPackages(modules), async (name) => {
    const manifest = await lstat(join(modules, name, 'package.json')).catch(() => undefined)
    if (manifest !== undefined) return manifest.isFile() && manifest.size === 0
    return (await readdir(join(modules, name)).catch(() => ['unreadable'])).length === 0
  })
  return empty.map((name) => `${name} is empty`)
}

const dangles = async (link: string): Promise<boolean> => {
  const target = await readlink(link).catch(() => undefined)
  if (target === undefined) return false
  return (await lstat(join(dirname(link), target)).catch(() => undefined)) === undefined
}

/** Programs whose file is missing, but exists in the tree `beside`. Some packages never contain their program. */
const damagedPrograms = async (folder: string, beside: string): Promise<string[]> => {
  const bin = join('node_modules', '.bin')
  const broken = await filterConcurrently(await entryNames(join(beside, bin)), async (name) => {
    if ((await dangles(join(beside, bin, name))) || !(await dangles(join(folder, bin, name)))) return false
    return true
  })
  return broken.map((name) => `.bin/${name} is a broken link`)
}

export const nodeTree = async (
  root: string,
  place: string,
  { beside, devNames }: { beside: string | undefined; devNames: DevNames },
): Promise<InstalledTree> => {
  const folder = join(root, place)
  // A symlink instead of a folder leads to a tree outside of the project.
  const installed = await isFolder(join(folder, 'node_modules'))
  const damage = installed ? await damagedPackages(folder) : []
  if (installed && beside !== undefined) damage.push(...(await damagedPrograms(folder, join(beside, place))))
  return { ecosystem: 'node', folder: place, ...(await compare(folder, installed, devNames)), damage }
}
