/** Probes of what the project asks for and what is there: installed packages against lockfile, versions of language runtimes. */
import type { Failure, InstalledTree, Probe, Requirement } from '../probe.ts'
import { meets } from '../version-range.ts'

const missingModule: readonly RegExp[] = [
  /Cannot find (?:module|package) ['"]([^'"\s]{1,200})['"]/,
  /(?:Failed to resolve import|Could not resolve|Can't resolve) ['"]([^'"\s]{1,200})['"]/,
]

/** The package that a JavaScript import names: none for a path, an alias or a module of Node. */
const packageOf = (specifier: string): string | undefined => {
  if (/^(?:[./#~]|[a-z]+:|@\/)/.test(specifier)) return undefined
  const [first = '', second] = specifier.split('/')
  if (!first.startsWith('@')) return first
  return second === undefined ? undefined : `${first}/${second}`
}

const missingPackage = ({ evidence }: Failure): string | undefined => {
  const specifier = missingModule.map((pattern) => pattern.exec(evidence)?.[1]).find((found) => found !== undefined)
  return specifier === undefined ? undefined : packageOf(specifier)
}

const shown = 5

const list = (names: readonly string[]): string =>
  names.length > shown ? `${names.slice(0, shown).join(', ')} and ${names.length - shown} more` : names.join(', ')

const placeOf = ({ folder }: InstalledTree): string => (folder === '' ? 'node_modules' : `${folder}/node_modules`)

const troubleOf = (tree: InstalledTree): string | undefined => {
  const { lockfile, state, differences, damage } = tree
  if (state === 'absent') return `${placeOf(tree)} is not there, nothing is installed`
  if (damage.length > 0) return `${placeOf(tree)} is damaged: ${list(damage)}`
  if (state === 'differs')
    return `${placeOf(tree)} is not what ${lockfile ?? 'the lockfile'} says: ${list(differences)}`
  return undefined
}

export const packages: Probe<'packages'> = {
  id: 'packages',
  looksAt:
    'the installed packages beside manifest and lockfile (npm, pnpm, yarn), and whether any of them names the missing one',
  concludes:
    'environment, where the installed tree is absent, damaged or not what the lockfile says; the work, where all is as the lockfile says and nothing of the project declares the missing package',
  asksFor: ['dependency_missing', 'dependency_version_conflict', 'corrupted_install', 'command_not_found'],
  ask: (failure) => {
    const name = missingPackage(failure)
    return name === undefined ? { probe: 'packages' } : { probe: 'packages', name }
  },
  conclude: ({ trees, asked }, label) => {
    const trouble = trees.map(troubleOf).find((text) => text !== undefined)
    if (trouble !== undefined) return { points: 'environment', text: trouble }
    if (trees.length === 0 || trees.some(({ state }) => state !== 'same')) return undefined
    const same = `what is installed is what ${list(trees.map(({ lockfile }) => lockfile ?? 'the lockfile'))} says`
    if (label === 'dependency_missing' && asked?.declared === false)
      return { points: 'work', text: `no manifest and no lockfile of the project names ${asked.name}, and ${same}` }
    return { points: 'neither', text: same }
  },
}

const isMet = ({ found, wanted }: Requirement): boolean | undefined => (found === null ? false : meets(found, wanted))

const versionText = ({ tool, wanted, file, found }: Requirement): string =>
  `${file} asks for ${tool} ${wanted}, ${found === null ? 'and there is none' : `and ${found} is there`}`

export const runtime: Probe<'runtime'> = {
  id: 'runtime',
  looksAt:
    'versions that package.json (engines), .nvmrc, .node-version, .tool-versions, .python-version, pyproject.toml, rust-toolchain and go.mod ask for, beside those on the PATH of the checks',
  concludes: 'environment, where one is another or missing',
  asksFor: ['runtime_version', 'corrupted_install', 'runtime_error', 'unknown'],
  ask: () => ({ probe: 'runtime' }),
  conclude: ({ requirements }, label) => {
    const unmet = requirements.filter((requirement) => isMet(requirement) === false)
    if (unmet.length > 0) return { points: 'environment', text: unmet.map(versionText).join('; ') }
    const met = requirements.filter((requirement) => isMet(requirement) === true)
    return label !== 'runtime_version' || met.length === 0
      ? undefined
      : { points: 'neither', text: met.map(versionText).join('; ') }
  },
}
