/** Probes that compare what a project requires with what is there: installed packages and lockfile, versions of runtimes. */
import { readCommand } from '../diagnosis/argv.ts'
import type { AbsentFile } from './absent-files.ts'
import { ecosystemsOf, ecosystemsMentioned, type Ecosystem } from '../install.ts'
import type { ProbedFailure, InstalledTree, Probe, ToolRequirement, TreeEcosystem } from './measurement.ts'
import { isInRange } from '../version-range.ts'

const missingModule: readonly RegExp[] = [
  /Cannot find (?:module|package) ['"]([^'"\s]{1,200})['"]/,
  /(?:Failed to resolve import|Could not resolve|Can't resolve) ['"]([^'"\s]{1,200})['"]/,
]

/** The package that a JavaScript import names; undefined for a path, an alias or a module of Node. */
const packageOf = (specifier: string): string | undefined => {
  if (/^(?:[./#~]|[a-z]+:|@\/)/.test(specifier)) return undefined
  const [first = '', second] = specifier.split('/')
  if (!first.startsWith('@')) return first
  return second === undefined ? undefined : `${first}/${second}`
}

const missingPackage = ({ evidence }: ProbedFailure): string | undefined => {
  const specifier = missingModule.map((pattern) => pattern.exec(evidence)?.[1]).find((found) => found !== undefined)
  return specifier === undefined ? undefined : packageOf(specifier)
}

const pythonFrame = /^\s*(?:E\s+)?File "([^"]+)", line \d|^(?:E\s+)?(\S+\.py):\d+: /
const installedPlace = /(?:site|dist)-packages\/|\/lib\/python\d/
const farBack = 20

/** The file that raised the error: the last one that the traceback names before it. */
const raisedIn = (lines: readonly string[], at: number): string | undefined => {
  for (const line of lines.slice(Math.max(0, at - farBack), at).toReversed()) {
    const [, quoted, plain] = pythonFrame.exec(line) ?? []
    const path = quoted ?? plain
    if (path !== undefined && !path.startsWith('<')) return path
  }
  return undefined
}

/**
 * The missing module that a Python file of the project imports. Undefined for a tool that the command line names, a submodule
 * (another package may provide it), and an import inside an installed package, because the work does not decide about these.
 */
const missingPython = ({ evidence, command, lines }: ProbedFailure): string | undefined => {
  const [, name] = /(?:ModuleNotFoundError|ImportError): No module named '?(\w{1,100})'?$/.exec(evidence.trim()) ?? []
  if (name === undefined || command.split(/[^\w]+/).includes(name)) return undefined
  const raised = raisedIn(
    lines,
    lines.findIndex((line) => line.includes(evidence.trim())),
  )
  return raised === undefined || installedPlace.test(raised) ? undefined : name
}

const trees = ['node', 'python', 'go'] satisfies TreeEcosystem[]

/** These use their own environment instead of `.venv`. */
const ownEnvironments = new Set(['tox', 'nox', 'hatch', 'pipenv', 'conda', 'mamba', 'pixi', 'docker'])

/** The ecosystem that the failure is about, from its message or from the command's programs; undefined = unclear. */
const ecosystemOf = ({ evidence, command }: ProbedFailure): Ecosystem | undefined => {
  const said = ecosystemsMentioned(evidence)
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
  if (state === 'absent') return `${placeOf(tree)} does not exist, so nothing is installed`
  if (damage.length > 0) return `${placeOf(tree)} is damaged: ${list(damage)}`
  if (state === 'differs') return `${placeOf(tree)} does not match ${lockfile ?? 'the lockfile'}: ${list(differences)}`
  return undefined
}

export const packages: Probe<'packages'> = {
  id: 'packages',
  inspects:
    "whether the packages installed in the project match its manifest and lockfile, and whether any of these declares the missing package. Supported: npm, pnpm, yarn (not Plug'n'Play, which has no tree), bun (text lockfile), `.venv` with requirements.txt, poetry.lock or uv.lock, and Go's `vendor`. Not inspected: Cargo, including vendored crates, and Go without `vendor`, which keep packages outside the project",
  concludes:
    'environment, if the installed tree is absent, damaged or does not match the lockfile; the work, if the tree matches the lockfile and no file of the project declares the missing package; undecided, if `vendor` does not match go.mod, because `vendor` may be part of the work',
  labels: ['dependency_missing', 'dependency_version_conflict', 'corrupted_install', 'command_not_found'],
  requestFor: (failure) => {
    const ecosystem = ecosystemOf(failure)
    if (ecosystem === undefined) return { probe: 'packages' }
    const of = trees.find((one) => one === ecosystem)
    if (of === undefined) return undefined
    if (of === 'python' && readCommand(failure.command).programs.some((program) => ownEnvironments.has(program)))
      return undefined
    const name = { node: missingPackage, python: missingPython, go: () => undefined }[of](failure)
    return name === undefined ? { probe: 'packages', of } : { probe: 'packages', of, name }
  },
  conclude: ({ trees: found, asked }, label) => {
    // The ecosystem is unknown, and there are trees of several.
    if (new Set(found.map(({ ecosystem }) => ecosystem)).size > 1) return undefined
    for (const tree of found) {
      const text = troubleOf(tree)
      if (text !== undefined) return { points: tree.ecosystem === 'go' ? 'neither' : 'environment', text }
    }
    if (found.length === 0 || found.some(({ state }) => state !== 'same')) return undefined
    const same = `the installed packages match ${list(found.map(({ lockfile }) => lockfile ?? 'the lockfile'))}`
    if (label === 'dependency_missing' && asked?.declared === false)
      return { points: 'work', text: `no manifest or lockfile of the project declares ${asked.name}, and ${same}` }
    return { points: 'neither', text: same }
  },
}

const isMet = ({ found, wanted }: ToolRequirement): boolean | undefined =>
  found === null ? false : isInRange(found, wanted)

const versionText = ({ tool, wanted, file, found }: ToolRequirement): string =>
  `${file} requires ${tool} ${wanted}, ${found === null ? 'and it is not installed' : `and ${found} is installed`}`

export const runtime: Probe<'runtime'> = {
  id: 'runtime',
  inspects:
    'the versions that package.json (engines), .nvmrc, .node-version, .tool-versions, .python-version, pyproject.toml, rust-toolchain and go.mod require, compared with those on the PATH of the checks',
  concludes: 'environment, if a version does not match or a tool is missing',
  labels: ['runtime_version', 'corrupted_install', 'runtime_error', 'unknown'],
  requestFor: () => ({ probe: 'runtime' }),
  conclude: ({ requirements }, label) => {
    const unmet = requirements.filter((requirement) => isMet(requirement) === false)
    if (unmet.length > 0) return { points: 'environment', text: unmet.map(versionText).join('; ') }
    const met = requirements.filter((requirement) => isMet(requirement) === true)
    return label !== 'runtime_version' || met.length === 0
      ? undefined
      : { points: 'neither', text: met.map(versionText).join('; ') }
  },
}

export const absentText = (absent: readonly AbsentFile[]): string =>
  `the clone lacks ${list(absent.map(({ path }) => path))}, which your checkout has and git ignores`

export const checkout: Probe<'checkout'> = {
  id: 'checkout',
  inspects:
    "whether the output names a file or folder that the owner's checkout has and git ignores, so that a clone lacks it; not the output of a build or installed packages",
  concludes: 'undecided by itself; if the check fails on the base commit as well, the file is what it misses',
  labels: [
    ...(['dependency_missing', 'missing_script', 'build_artifact_missing', 'config_error', 'runtime_error'] as const),
    ...(['test_failure', 'compile_error', 'lint_error', 'missing_env_var', 'command_not_found', 'unknown'] as const),
  ],
  requestFor: ({ lines }) => ({ probe: 'checkout', lines }),
  conclude: ({ absent }) => (absent.length === 0 ? undefined : { points: 'neither', text: absentText(absent) }),
}
