/**
 * Looks at installed packages: whether the tree is what the lockfile says, and whether it is whole. Reads names and sizes, and
 * the files that the package managers keep about themselves; no package is opened. What it looks at may be an agent's: nothing
 * is read through a link or beyond a bound.
 */
import { lstat, readFile, readdir, readlink } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import type { InstalledTree } from '../recovery/probe.ts'

const maxBytes = 64 * 1024 * 1024
const maxNamed = 20
/** Folders that are looked into for manifests; a larger project is looked at in part. */
const maxFolders = 400
const maxDepth = 3
/** How many files are asked for at once. */
const atOnce = 64

const textOf = async (path: string): Promise<string | undefined> => {
  const found = await lstat(path).catch(() => undefined)
  return found?.isFile() === true && found.size <= maxBytes ? readFile(path, 'utf8').catch(() => undefined) : undefined
}

const isFolder = async (path: string): Promise<boolean> =>
  (await lstat(path).catch(() => undefined))?.isDirectory() === true

const hasBytes = async (path: string): Promise<boolean> => {
  const found = await lstat(path).catch(() => undefined)
  return found !== undefined && (found.isSymbolicLink() || found.size > 0)
}

const parsed = (text: string | undefined): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(text ?? '')
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {} // a manifest or marker cut in half says nothing
  }
}

const recordAt = (value: Record<string, unknown>, key: string): Record<string, Record<string, unknown>> => {
  const { [key]: found } = value
  return typeof found === 'object' && found !== null ? (found as Record<string, Record<string, unknown>>) : {}
}

const filterAsync = async <T>(items: readonly T[], holds: (item: T) => Promise<boolean>): Promise<T[]> => {
  const found: T[] = []
  for (let at = 0; at < items.length; at += atOnce) {
    const part = items.slice(at, at + atOnce)
    const kept = await Promise.all(part.map(holds))
    found.push(...part.filter((_, index) => kept[index] === true))
  }
  return found
}

const npmMarker = join('node_modules', '.package-lock.json')

const nameIn = (key: string): string => key.slice(key.lastIndexOf('node_modules/') + 'node_modules/'.length)

/** Packages of npm's lockfile that its own list of the installed tree lacks or has in another version. */
const npmDifferences = (lockfile: string, marker: string): string[] => {
  const wanted = recordAt(parsed(lockfile), 'packages')
  const there = recordAt(parsed(marker), 'packages')
  return Object.entries(wanted).flatMap(([key, { version, link, optional, devOptional }]) => {
    if (!key.includes('node_modules/') || link === true) return []
    const { [key]: found } = there
    // Which optional ones are there depends on the machine.
    if (found === undefined) return optional === true || devOptional === true ? [] : [`${nameIn(key)} is missing`]
    return found.version === version ? [] : [`${nameIn(key)} is ${String(found.version)} instead of ${String(version)}`]
  })
}

/** Yarn 1 keeps the headers of its lockfile; one that it does not know was added since. */
const yarnDifferences = (lockfile: string, marker: string): string[] => {
  const known = recordAt(parsed(marker), 'lockfileEntries')
  const wanted = lockfile.match(/^"?[^\s#"][^\n]*@[^\n]*:$/gm) ?? []
  return wanted
    .flatMap((header) => header.slice(0, -1).split(', '))
    .map((entry) => entry.replaceAll('"', ''))
    .filter((entry) => !Object.hasOwn(known, entry))
    .map((entry) => `${entry} is not installed`)
}

interface Manager {
  lockfiles: readonly string[]
  marker: string
  differences(lockfile: string, marker: string): string[]
}

const managers: readonly Manager[] = [
  { lockfiles: ['npm-shrinkwrap.json', 'package-lock.json'], marker: npmMarker, differences: npmDifferences },
  {
    lockfiles: ['pnpm-lock.yaml'],
    marker: join('node_modules', '.pnpm', 'lock.yaml'),
    // pnpm keeps a copy of the lockfile that it installed from.
    differences: (lockfile, marker) => (lockfile === marker ? [] : ['the lockfile changed since the install']),
  },
  { lockfiles: ['yarn.lock'], marker: join('node_modules', '.yarn-integrity'), differences: yarnDifferences },
]

/** Managers without a readable list of what they installed. */
const otherLockfiles = ['bun.lock', 'bun.lockb']

interface Compared {
  lockfile: string | null
  state: InstalledTree['state']
  differences: string[]
}

const compare = async (folder: string): Promise<Compared> => {
  const installed = await isFolder(join(folder, 'node_modules'))
  for (const { lockfiles, marker, differences } of managers) {
    for (const name of lockfiles) {
      const lockfile = await textOf(join(folder, name))
      if (lockfile === undefined) continue
      if (!installed) return { lockfile: name, state: 'absent', differences: [] }
      const list = await textOf(join(folder, marker))
      if (list === undefined) return { lockfile: name, state: 'unknown', differences: [] }
      const found = differences(lockfile, list)
      return { lockfile: name, state: found.length === 0 ? 'same' : 'differs', differences: found.slice(0, maxNamed) }
    }
  }
  const other = await filterAsync(otherLockfiles, async (name) => hasBytes(join(folder, name)))
  return { lockfile: other[0] ?? null, state: installed ? 'unknown' : 'absent', differences: [] }
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

/** What npm's own list has and the disk has not; of other managers' trees what is empty or cut to nothing. */
const damagedPackages = async (folder: string): Promise<string[]> => {
  const modules = join(folder, 'node_modules')
  const listed = recordAt(parsed(await textOf(join(folder, npmMarker))), 'packages')
  const keys = Object.keys(listed).filter((key) => key.startsWith('node_modules/') && listed[key]?.link !== true)
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
  const names = await readdir(join(beside, bin)).catch(() => [])
  const broken = await filterAsync(names, async (name) => {
    if ((await dangles(join(beside, bin, name))) || !(await dangles(join(folder, bin, name)))) return false
    return true
  })
  return broken.map((name) => `.bin/${name} leads nowhere`)
}

const inspectFolder = async (root: string, place: string, beside: string | undefined): Promise<InstalledTree> => {
  const folder = join(root, place)
  // A link instead of a folder leads to a tree that is somebody else's.
  const installed = await isFolder(join(folder, 'node_modules'))
  const damage = installed ? await damagedPackages(folder) : []
  if (installed && beside !== undefined) damage.push(...(await damagedPrograms(folder, join(beside, place))))
  return { folder: place, ...(await compare(folder)), damage: damage.slice(0, maxNamed) }
}

const dependencyKinds = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'] as const

interface Manifest {
  folder: string
  name: unknown
  declares: Set<string>
}

const manifestIn = async (root: string, folder: string): Promise<Manifest | undefined> => {
  const text = await textOf(join(root, folder, 'package.json'))
  if (text === undefined) return undefined
  const manifest = parsed(text)
  const declares = new Set(dependencyKinds.flatMap((kind) => Object.keys(recordAt(manifest, kind))))
  return { folder, name: manifest.name, declares }
}

/** Manifests of the project, the top one first. */
const manifestsBelow = async (root: string): Promise<Manifest[]> => {
  const found: Manifest[] = []
  let layer = ['']
  let seen = 0
  for (let depth = 0; depth <= maxDepth && layer.length > 0; depth += 1) {
    const next: string[] = []
    for (const folder of layer) {
      seen += 1
      if (seen > maxFolders) return found
      const manifest = await manifestIn(root, folder)
      if (manifest !== undefined) found.push(manifest)
      const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => [])
      const inside = entries.filter(
        (entry) => entry.isDirectory() && entry.name !== 'node_modules' && !entry.name.startsWith('.'),
      )
      next.push(...inside.map((entry) => join(folder, entry.name)))
    }
    layer = next
  }
  return found
}

const lockNames = [...managers.flatMap(({ lockfiles }) => lockfiles), ...otherLockfiles]

const inLockfile = async (folder: string, name: string): Promise<boolean> => {
  const texts = await Promise.all(lockNames.map((lockfile) => textOf(join(folder, lockfile))))
  const written = [`node_modules/${name}"`, `${name}@`, `'${name}':`]
  return texts.some((text) => text !== undefined && written.some((form) => text.includes(form)))
}

export interface InstalledReport {
  trees: InstalledTree[]
  asked: { name: string; declared: boolean } | undefined
}

/**
 * The installed packages below `root`: each folder that has some, or a lockfile for some. `name`: a package that somebody
 * misses. `beside`: the checkout that the packages were copied from.
 */
export const inspectInstalled = async (
  root: string,
  options: { name?: string; beside?: string } = {},
): Promise<InstalledReport> => {
  const { name, beside } = options
  const manifests = await manifestsBelow(root)
  const trees: InstalledTree[] = []
  for (const { folder, declares } of manifests) {
    const tree = await inspectFolder(root, folder, beside)
    // A package of a larger project has its packages at the top.
    const counts = tree.state === 'absent' ? tree.lockfile !== null && declares.size > 0 : true
    if (counts) trees.push({ ...tree, folder: relative('', folder) })
  }
  if (name === undefined) return { trees, asked: undefined }
  const inManifest = manifests.some((manifest) => manifest.name === name || manifest.declares.has(name))
  const inLock = await filterAsync(manifests, async ({ folder }) => inLockfile(join(root, folder), name))
  return { trees, asked: { name, declared: inManifest || inLock.length > 0 } }
}
