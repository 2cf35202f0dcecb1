/**
 * Compares a project's virtual environment (`.venv`) with its lockfile or requirements. A module may have another name than its
 * package, so it counts as undeclared only if all declared packages are installed and none of them provides the module.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { InstalledTree } from '../../recovery/probes/measurement.ts'
import { isInRange } from '../../recovery/version-range.ts'
import {
  distributionIn,
  isUndeclarable,
  isVersion,
  lockedIn,
  normalName,
  requirementsIn,
  type PackageRequirement,
  type PackageRequirements,
} from './python-files.ts'
import { ownersPackages } from '../virtual-environment.ts'
import { folderBelow, entryNames, treeStateOf, boundedText, type TreeComparison } from './bounded-read.ts'

interface Environment {
  /** Names of site-packages. */
  entries: string[]
  /** Versions by normalised name; undefined = unknown. */
  versions: Map<string, (string | undefined)[]>
  /** There may be more packages: those of the system are visible as well, or a name is unclear. */
  open: boolean
}

const environmentIn = async (folder: string): Promise<Environment | undefined> => {
  const venv = await folderBelow(folder, '.venv')
  const settings = venv === undefined ? undefined : await boundedText(join(venv, 'pyvenv.cfg'))
  if (venv === undefined || settings === undefined) return undefined
  const lib = await folderBelow(venv, 'lib')
  const pythons = lib === undefined ? [] : (await entryNames(lib)).filter((name) => /^python\d[\d.]*t?$/.test(name))
  const [python] = pythons
  const packages = pythons.length === 1 ? await folderBelow(venv, `lib/${python}/site-packages`) : undefined
  if (packages === undefined) return undefined
  const owners = (await boundedText(join(packages, ownersPackages)))?.trim()
  const entries = [...(await entryNames(packages)), ...(owners === undefined ? [] : await entryNames(owners))]
  const versions = new Map<string, (string | undefined)[]>()
  let open = /^include-system-site-packages\s*=\s*true/im.test(settings)
  for (const entry of entries) {
    const found = distributionIn(entry)
    if (found === null) open = true
    else if (found !== undefined)
      versions.set(found.name, [found.version, ...(versions.get(found.name) ?? []).slice(0, 2)])
  }
  return { entries, versions, open }
}

const unclear: TreeComparison = { differences: [], unclear: true }

const holdOne = ({ versions, open }: Environment, requirement: PackageRequirement): TreeComparison => {
  const { name, versions: wanted, range, always } = requirement
  const there = versions.get(name)
  if (there === undefined) return always && !open ? { differences: [`${name} is not installed`] } : unclear
  if (range !== undefined)
    return there.some((found) => found !== undefined && isInRange(found, range) === true)
      ? { differences: [] }
      : unclear
  if (wanted.length === 0) return { differences: [] }
  const held = there.flatMap((found) => wanted.map((one) => (found === undefined ? undefined : isVersion(found, one))))
  if (held.includes(true)) return { differences: [] }
  // An environment marker may select another version.
  if (held.includes(undefined) || open) return unclear
  return { differences: [`${name} is ${there.join(', ')} instead of ${[...new Set(wanted)].join(' or ')}`] }
}

/** More than any project has. */
const maxRequirements = 20_000
const maxSourceBytes = 16 * 1024 * 1024

const hold = (environment: Environment, { found, whole }: PackageRequirements): TreeComparison => {
  if (found.length > maxRequirements) return unclear
  const held = found.map((requirement) => holdOne(environment, requirement))
  return {
    differences: held.flatMap(({ differences }) => differences),
    unclear: !whole || held.includes(unclear),
  }
}

const sources: readonly [file: string, read: (text: string) => PackageRequirements][] = [
  ['uv.lock', lockedIn],
  ['poetry.lock', lockedIn],
  ['requirements.txt', requirementsIn],
]

interface Source {
  file: string
  requirements: PackageRequirements
}

const sourcesIn = async (folder: string): Promise<Source[]> => {
  const texts = await Promise.all(
    sources.map(async ([file, read]) => ({ file, read, text: await boundedText(join(folder, file), maxSourceBytes) })),
  )
  return texts.flatMap(({ file, read, text }) => (text === undefined ? [] : [{ file, requirements: read(text) }]))
}

/** Undefined = the folder has no virtual environment, or no file lists its packages. */
export const pythonTree = async (root: string, place: string): Promise<InstalledTree | undefined> => {
  const folder = join(root, place)
  const environment = await environmentIn(folder)
  const found = environment === undefined ? [] : await sourcesIn(folder)
  if (environment === undefined || found.length === 0) return undefined
  const trees = found.map(({ file, requirements }) => {
    const held = hold(environment, requirements)
    return { lockfile: file, state: treeStateOf(held), differences: held.differences }
  })
  // No record says which of several files was installed, so the tree is stale only if it matches none of them.
  const tree = trees.find(({ state }) => state === 'same') ?? trees.find(({ state }) => state === 'unknown') ?? trees[0]
  return tree === undefined ? undefined : { ecosystem: 'python', folder: place, ...tree, damage: [] }
}

/** Other files that may declare packages. */
const otherManifests =
  /^(?:setup\.(?:py|cfg)|Pipfile(?:\.lock)?|(?:pdm|uv|poetry)\.lock|pixi\.(?:toml|lock)|pylock.*\.toml|hatch\.toml|conda.*\.ya?ml|environment.*\.ya?ml|tox\.(?:ini|toml)|noxfile\.py|constraints.*|(?:dev-|test-)?requirements.*|.*\.in)$/i
const ownPaths = /\.pth$|\.egg-link$|^__editable__/
const standardPaths = new RegExp(`^(?:distutils-precedence|_virtualenv|${ownersPackages.slice(0, -4)})\\.pth$`)

/** The most folders to search. A larger project gives no result. */
const maxFolders = 2_000

/** Whether the project itself contains a module or package of that name; undefined = the project is too large to search. */
const isOwn = async (root: string, module: string): Promise<boolean | undefined> => {
  const open = [root]
  let seen = 0
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    seen += 1
    if (seen > maxFolders) return undefined
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
    if (entries.some(({ name }) => name === module || name.startsWith(`${module}.`))) return true
    for (const entry of entries)
      if (entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules')
        open.push(join(folder, entry.name))
  }
  return false
}

/** Whether another file of the project may declare the package that provides the module. */
const mayDeclare = async (root: string, files: readonly string[], name: string): Promise<boolean> => {
  const read = new Set(files)
  if ((await entryNames(root)).some((file) => !read.has(file) && otherManifests.test(file))) return true
  const manifest = (await boundedText(join(root, 'pyproject.toml'))) ?? ''
  // A lockfile contains all requirements of pyproject.toml, except those added since.
  return files.some((file) => file.endsWith('.lock'))
    ? normalName(manifest).includes(name)
    : /dep(?:endenc|s\b)/i.test(manifest)
}

/** Whether the environment certainly lacks the module, although all packages of these sources are installed. */
const lacks = (environment: Environment, found: readonly Source[], module: string): boolean =>
  !environment.open &&
  // All files must match, because any missing package might provide the module.
  found.every(({ requirements }) => treeStateOf(hold(environment, requirements)) === 'same') &&
  !environment.entries.some((entry) => entry === module || entry.startsWith(`${module}.`)) &&
  !environment.entries.some((entry) => ownPaths.test(entry) && !standardPaths.test(entry))

/** Whether the project declares the package that provides this module; undefined = unknown. */
export const declaresModule = async (root: string, module: string): Promise<boolean | undefined> => {
  const found = await sourcesIn(root)
  const name = normalName(module)
  if (found.some(({ requirements }) => requirements.found.some((one) => one.name === name))) return true
  const environment = await environmentIn(root)
  if (environment === undefined || found.length === 0 || isUndeclarable(module)) return undefined
  const files = found.map(({ file }) => file)
  if (!lacks(environment, found, module) || (await mayDeclare(root, files, name))) return undefined
  return (await isOwn(root, module)) === false ? false : undefined
}
