/** Trees of `node_modules`: each manager's lockfile beside what the manager wrote about its install, and whether the tree is whole. */
import { lstat, readdir, readlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { InstalledTree } from '../../recovery/probes/reading.ts'
import { bunDifferences } from './bun.ts'
import { filterAsync, hasBytes, isFolder, namesIn, parsed, recordAt, stateOf, textOf, type Held } from './read.ts'
import { berryDifferences, berryFolders, classicDifferences, isBerry, wantsTree, type DevNames } from './yarn.ts'

const npmMarker = join('node_modules', '.package-lock.json')
const berrySettings = '.yarnrc.yml'
const berryMarker = join('node_modules', '.yarn-state.yml')

const nameIn = (key: string): string => key.slice(key.lastIndexOf('node_modules/') + 'node_modules/'.length)

/** Packages of npm's lockfile that its own list of the installed tree lacks or has in another version. */
const npmDifferences = (lockfile: string, marker: string): Held => {
  const wanted = recordAt(parsed(lockfile), 'packages')
  const there = recordAt(parsed(marker), 'packages')
  const differences = Object.entries(wanted).flatMap(([key, { version, link, optional, devOptional }]) => {
    if (!key.includes('node_modules/') || link === true) return []
    const { [key]: found } = there
    // Which optional ones are there depends on the machine.
    if (found === undefined) return optional === true || devOptional === true ? [] : [`${nameIn(key)} is missing`]
    return found.version === version ? [] : [`${nameIn(key)} is ${String(found.version)} instead of ${String(version)}`]
  })
  return { differences }
}

interface Manager {
  lockfiles: readonly string[]
  marker: string
  /** Where the name of the lockfile does not tell. */
  governs?: (lockfile: string) => boolean
  /** Whether it makes a tree at all; undefined = it always does. */
  settings?: { file: string; makeTree: (text: string | undefined) => boolean }
  hold(lockfile: string, marker: string, devNames: DevNames): Held
}

const managers: readonly Manager[] = [
  { lockfiles: ['npm-shrinkwrap.json', 'package-lock.json'], marker: npmMarker, hold: npmDifferences },
  {
    lockfiles: ['pnpm-lock.yaml'],
    marker: join('node_modules', '.pnpm', 'lock.yaml'),
    // pnpm keeps a copy of the lockfile that it installed from.
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
/** Written in a form of its own, and nothing else is said about what was installed. */
const unreadable = 'bun.lockb'

export const lockNames: readonly string[] = [...managers.flatMap(({ lockfiles }) => lockfiles), bunLock, unreadable]

type Compared = Pick<InstalledTree, 'lockfile' | 'state' | 'differences'>

const told = (lockfile: string, held: Held): Compared => ({
  lockfile,
  state: stateOf(held),
  differences: held.differences,
})

const holdOne = async (
  folder: string,
  { manager, name, lockfile }: { manager: Manager; name: string; lockfile: string },
  { installed, devNames }: { installed: boolean; devNames: DevNames },
): Promise<Compared> => {
  const { settings, marker, hold } = manager
  const makesTree = settings === undefined || settings.makeTree(await textOf(join(folder, settings.file)))
  if (!installed) return { lockfile: name, state: makesTree ? 'absent' : 'unknown', differences: [] }
  const list = await textOf(join(folder, marker))
  return list === undefined || !makesTree
    ? { lockfile: name, state: 'unknown', differences: [] }
    : told(name, hold(lockfile, list, devNames))
}

const compare = async (folder: string, installed: boolean, devNames: DevNames): Promise<Compared> => {
  for (const manager of managers)
    for (const name of manager.lockfiles) {
      const lockfile = await textOf(join(folder, name))
      if (lockfile === undefined || manager.governs?.(lockfile) === false) continue
      return holdOne(folder, { manager, name, lockfile }, { installed, devNames })
    }
  const lockfile = await textOf(join(folder, bunLock))
  if (lockfile !== undefined && installed) return told(bunLock, await bunDifferences(folder, lockfile))
  const [other = null] = await filterAsync([bunLock, unreadable], async (name) => hasBytes(join(folder, name)))
  return { lockfile: other, state: installed ? 'unknown' : 'absent', differences: [] }
}

/** Folders of packages at the top of an installed tree, scopes looked into. */
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

/** A list that Yarn left before the project went over to another linker or manager speaks of nobody's tree. */
const berryList = async (folder: string): Promise<string | undefined> => {
  const lockfile = await textOf(join(folder, 'yarn.lock'))
  if (lockfile === undefined || !isBerry(lockfile) || !wantsTree(await textOf(join(folder, berrySettings))))
    return undefined
  return textOf(join(folder, berryMarker))
}

/** What a manager's own list says that it put below `node_modules`. */
const listedIn = async (folder: string): Promise<string[]> => {
  const npms = recordAt(parsed(await textOf(join(folder, npmMarker))), 'packages')
  const keys = Object.keys(npms).filter((key) => key.startsWith('node_modules/') && npms[key]?.link !== true)
  return keys.length > 0 ? keys : berryFolders(await berryList(folder))
}

/** What the own list of npm or Yarn has and the disk has not; of other managers' trees what is empty or cut to nothing. */
const damagedPackages = async (folder: string): Promise<string[]> => {
  const modules = join(folder, 'node_modules')
  const keys = await listedIn(folder)
  const broken = await filterAsync(keys, async (key) => !(await hasBytes(join(folder, key, 'package.json'))))
  if (keys.length > 0) return broken.map((key) => `${nameIn(key)} has no package.json`)
  const empty = await filterAsync(await topPackages(modules), async (name) => {
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

/** Programs whose file is gone here and there in the tree that this one was copied from; some packages never bring theirs. */
const damagedPrograms = async (folder: string, beside: string): Promise<string[]> => {
  const bin = join('node_modules', '.bin')
  const broken = await filterAsync(await namesIn(join(beside, bin)), async (name) => {
    if ((await dangles(join(beside, bin, name))) || !(await dangles(join(folder, bin, name)))) return false
    return true
  })
  return broken.map((name) => `.bin/${name} leads nowhere`)
}

export const nodeTree = async (
  root: string,
  place: string,
  { beside, devNames }: { beside: string | undefined; devNames: DevNames },
): Promise<InstalledTree> => {
  const folder = join(root, place)
  // A link instead of a folder leads to a tree that is somebody else's.
  const installed = await isFolder(join(folder, 'node_modules'))
  const damage = installed ? await damagedPackages(folder) : []
  if (installed && beside !== undefined) damage.push(...(await damagedPrograms(folder, join(beside, place))))
  return { ecosystem: 'node', folder: place, ...(await compare(folder, installed, devNames)), damage }
}
