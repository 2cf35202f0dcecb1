/** Probes of what the project asks for and what is there: installed packages against lockfile, versions of language runtimes. */
import { readCommand } from '../diagnosis/argv.ts'
import { ecosystemsOf, ecosystemsSaid, type Ecosystem } from '../install.ts'
import type { Failure, InstalledTree, Probe, Requirement, TreeEcosystem } from './reading.ts'
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

const pythonFrame = /^\s*(?:E\s+)?File "([^"]+)", line \d|^(?:E\s+)?(\S+\.py):\d+: /
const installedPlace = /(?:site|dist)-packages\/|\/lib\/python\d/
const farBack = 20

/** The file that the error came out of, as a traceback shows it right before. */
const raisedIn = (lines: readonly string[], at: number): string | undefined => {
  for (const line of lines.slice(Math.max(0, at - farBack), at).toReversed()) {
    const [, quoted, plain] = pythonFrame.exec(line) ?? []
    const path = quoted ?? plain
    if (path !== undefined && !path.startsWith('<')) return path
  }
  return undefined
}

/**
 * The module that a Python file of the project imports. None for a tool that the command line itself names, a part of a package
 * (another may bring it), or what an installed package imports: nobody's work decides about those.
 */
const missingPython = ({ evidence, command, lines }: Failure): string | undefined => {
  const [, name] = /(?:ModuleNotFoundError|ImportError): No module named '?(\w{1,100})'?$/.exec(evidence.trim()) ?? []
  if (name === undefined || command.split(/[^\w]+/).includes(name)) return undefined
  const raised = raisedIn(
    lines,
    lines.findIndex((line) => line.includes(evidence.trim())),
  )
  return raised === undefined || installedPlace.test(raised) ? undefined : name
}

const trees = ['node', 'python', 'go'] satisfies TreeEcosystem[]

/** These bring an environment of their own, and `.venv` has no part in what runs there. */
const elsewhere = new Set(['tox', 'nox', 'hatch', 'pipenv', 'conda', 'mamba', 'pixi', 'docker'])

/** Whose packages the failure is about: whoever speaks of them, or whose program was started; undefined where that may be several. */
const ecosystemOf = ({ evidence, command }: Failure): Ecosystem | undefined => {
  const said = ecosystemsSaid(evidence)
  if (said.length === 1) return said[0]
  const spoken = ecosystemsOf(readCommand(command).programs)
  return spoken.length === 1 ? spoken[0] : undefined
}

const shown = 5

const list = (names: readonly string[]): string =>
  names.length > shown ? `${names.slice(0, shown).join(', ')} and ${names.length - shown} more` : names.join(', ')

const places = { node: 'node_modules', python: '.venv', go: 'vendor' } satisfies Record<TreeEcosystem, string>

const placeOf = ({ folder, ecosystem }: InstalledTree): string =>
  folder === '' ? places[ecosystem] : `${folder}/${places[ecosystem]}`

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
    "the packages that are installed in the project beside manifest and lockfile, and whether any of them names the missing one: npm, pnpm, yarn (not Plug'n'Play, which has no tree), bun (the text form of its lockfile), `.venv` beside requirements.txt, poetry.lock or uv.lock, and `vendor` of Go. Cargo, and Go without `vendor`, keep packages outside the project; they and the vendored crates of Cargo are not looked at",
  concludes:
    'environment, where the installed tree is absent, damaged or not what the lockfile says; the work, where all is as the lockfile says and nothing of the project declares the missing package; nobody, where `vendor` is not what go.mod says, because it may be part of the work',
  asksFor: ['dependency_missing', 'dependency_version_conflict', 'corrupted_install', 'command_not_found'],
  ask: (failure) => {
    const ecosystem = ecosystemOf(failure)
    if (ecosystem === undefined) return { probe: 'packages' }
    const of = trees.find((one) => one === ecosystem)
    if (of === undefined) return undefined
    if (of === 'python' && readCommand(failure.command).programs.some((program) => elsewhere.has(program)))
      return undefined
    const name = { node: missingPackage, python: missingPython, go: () => undefined }[of](failure)
    return name === undefined ? { probe: 'packages', of } : { probe: 'packages', of, name }
  },
  conclude: ({ trees: found, asked }, label) => {
    // Whose packages the failure is about could not be told, and there are several kinds.
    if (new Set(found.map(({ ecosystem }) => ecosystem)).size > 1) return undefined
    for (const tree of found) {
      const text = troubleOf(tree)
      if (text !== undefined) return { points: tree.ecosystem === 'go' ? 'neither' : 'environment', text }
    }
    if (found.length === 0 || found.some(({ state }) => state !== 'same')) return undefined
    const same = `what is installed is what ${list(found.map(({ lockfile }) => lockfile ?? 'the lockfile'))} says`
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
