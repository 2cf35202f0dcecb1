/**
 * Installs by the repository's own package manager: which manager governs a folder (its lockfile tells), and the fixed command
 * lines that install what the lockfile names. No part of a command line comes from a check's output or from a model. Pure:
 * the runtime reads the files, and runs the commands only in the run's clone.
 */
import type { Install } from '../domain/install.ts'
import { parentOf } from './check/shell-calls.ts'
import { digestOf } from './signature.ts'
import { programName, readCommand } from './diagnosis/argv.ts'

export type Ecosystem = 'node' | 'python' | 'rust' | 'go' | 'jvm' | 'ruby' | 'php'

interface Manager {
  id: string
  ecosystem: Ecosystem
  /** The manager governs every folder with one of these files. */
  files: readonly string[]
  /** What the file must contain, where its name alone is not enough. */
  holds?: RegExp
  /** Files beside it whose packages are installed too, such as those that only tests need. */
  beside?: readonly string[]
  /** `{file}` is the file above, relative to where the command runs; those beside it follow as further `-r`. */
  commands: readonly (readonly string[])[]
  /** The commands run at the top of the workspace, wherever the file is. */
  atTop?: true
  /** Files and folders that the install creates. They are not an agent's work. */
  makes: readonly string[]
  /** Where the packages are, one of these, also beside the file where the commands run at the top; absent = also in folders of the user's account, so a fresh clone need not lack them. */
  keeps?: readonly string[]
  /** The version with which a test ran these commands and made a failing check pass; null = never run for real. */
  ran: string | null
}

/** In order of choice within an ecosystem. Every command installs from the lockfile and never changes it. */
export const managers: readonly Manager[] = [
  {
    id: 'pnpm',
    ecosystem: 'node',
    files: ['pnpm-lock.yaml'],
    commands: [['pnpm', 'install', '--frozen-lockfile']],
    makes: ['node_modules'],
    keeps: ['node_modules'],
    ran: 'pnpm 10.34',
  },
  {
    id: 'yarn-berry',
    ecosystem: 'node',
    files: ['yarn.lock'],
    holds: /^__metadata:/m,
    commands: [['yarn', 'install', '--immutable']],
    makes: ['node_modules', '.yarn', '.pnp.cjs', '.pnp.loader.mjs'],
    keeps: ['node_modules', '.pnp.cjs'],
    ran: 'yarn 4.18',
  },
  {
    id: 'yarn-1',
    ecosystem: 'node',
    files: ['yarn.lock'],
    commands: [['yarn', 'install', '--frozen-lockfile', '--non-interactive']],
    makes: ['node_modules'],
    keeps: ['node_modules'],
    ran: 'yarn 1.22',
  },
  {
    id: 'bun',
    ecosystem: 'node',
    files: ['bun.lock', 'bun.lockb'],
    commands: [['bun', 'install', '--frozen-lockfile']],
    makes: ['node_modules'],
    keeps: ['node_modules'],
    ran: 'bun 1.4',
  },
  {
    id: 'npm',
    ecosystem: 'node',
    files: ['package-lock.json', 'npm-shrinkwrap.json'],
    commands: [['npm', 'ci', '--no-audit', '--no-fund']],
    makes: ['node_modules'],
    keeps: ['node_modules'],
    ran: 'npm 11.19',
  },
  {
    id: 'npm-unlocked',
    ecosystem: 'node',
    files: ['package.json'],
    holds: /"(?:dependencies|devDependencies)"\s*:\s*\{\s*"/,
    commands: [['npm', 'install', '--no-package-lock', '--no-audit', '--no-fund']],
    makes: ['node_modules'],
    keeps: ['node_modules'],
    ran: 'npm 11.19',
  },
  {
    id: 'uv',
    ecosystem: 'python',
    files: ['uv.lock'],
    commands: [['uv', 'sync', '--frozen']],
    makes: ['.venv'],
    keeps: ['.venv'],
    ran: null,
  },
  {
    id: 'poetry',
    ecosystem: 'python',
    files: ['poetry.lock'],
    commands: [['poetry', 'install', '--no-interaction']],
    makes: [],
    ran: null,
  },
  {
    id: 'pip',
    ecosystem: 'python',
    files: ['requirements.txt'],
    beside: ['requirements-dev.txt', 'requirements-test.txt', 'dev-requirements.txt', 'test-requirements.txt'],
    // Into a virtual environment of the clone, because pip would otherwise write into the user's environment. What no file asks for, such
    // as a test runner of the machine, is found where the interpreter has it; what one asks for is there with its programs.
    commands: [
      ['python3', '-m', 'venv', '--system-site-packages', '.venv'],
      [
        ...['.venv/bin/python', '-m', 'pip', 'install', '--ignore-installed', '--no-input'],
        ...['--disable-pip-version-check', '-r', '{file}'],
      ],
    ],
    atTop: true,
    // A project that is installed from its folder leaves the latter there.
    makes: ['.venv', '**/*.egg-info'],
    keeps: ['.venv', 'venv'],
    ran: 'pip 23.2 (Python 3.11)',
  },
  {
    id: 'cargo',
    ecosystem: 'rust',
    files: ['Cargo.lock'],
    commands: [['cargo', 'fetch', '--locked']],
    makes: [],
    ran: 'cargo 1.95',
  },
  {
    id: 'go',
    ecosystem: 'go',
    files: ['go.sum'],
    commands: [['go', 'mod', 'download']],
    makes: [],
    ran: null,
  },
  {
    id: 'maven',
    ecosystem: 'jvm',
    files: ['pom.xml'],
    commands: [['mvn', '--batch-mode', '--no-transfer-progress', 'dependency:go-offline']],
    makes: [],
    ran: null,
  },
  {
    id: 'gradle',
    ecosystem: 'jvm',
    files: ['build.gradle', 'build.gradle.kts'],
    commands: [['gradle', '--no-daemon', '--console=plain', 'dependencies']],
    makes: ['.gradle'],
    ran: null,
  },
  {
    id: 'bundler',
    ecosystem: 'ruby',
    files: ['Gemfile.lock'],
    commands: [
      ['bundle', 'config', 'set', '--local', 'frozen', 'true'],
      ['bundle', 'config', 'set', '--local', 'path', 'vendor/bundle'],
      ['bundle', 'install'],
    ],
    makes: ['vendor/bundle', '.bundle'],
    ran: null,
  },
  {
    id: 'composer',
    ecosystem: 'php',
    files: ['composer.lock'],
    commands: [['composer', 'install', '--no-interaction', '--no-progress']],
    makes: ['vendor'],
    keeps: ['vendor'],
    ran: null,
  },
]

/** Programs that tell which ecosystem's packages a command line uses. */
const programPatterns: readonly [Ecosystem, RegExp][] = [
  [
    'node',
    /^(?:npm|npx|pnpm|pnpx|yarn|bun|bunx|node|tsc|tsx|ts-node|vitest|jest|mocha|ava|tap|c8|nyc|eslint|prettier|oxlint|biome|playwright|cypress|webpack|rollup|vite|esbuild|next|turbo|nx|lerna|svelte-check|vue-tsc)$/,
  ],
  [
    'python',
    /^(?:python|pip|pytest|py\.test|tox|nox|ruff|mypy|pyright|flake8|black|pylint|uv|poetry|coverage|django-admin)$/,
  ],
  ['rust', /^(?:cargo|rustc)$/],
  ['go', /^(?:go|golangci-lint|gotestsum)$/],
  ['jvm', /^(?:mvn|mvnw|gradle|gradlew|java|javac)$/],
  ['ruby', /^(?:bundle|rake|rspec|ruby|rubocop|rails)$/],
  ['php', /^(?:composer|php|phpunit|pest|phpstan)$/],
]

/** How each runtime reports a missing package, for command lines that start a Makefile or a script. */
const messagePatterns: readonly [Ecosystem, RegExp][] = [
  ['node', /Cannot find (?:module|package)|ERR_MODULE_NOT_FOUND|node_modules|npm (?:error|ERR!)/],
  ['python', /No module named|ModuleNotFoundError|ImportError|DistributionNotFound/],
  ['rust', /\bcrates?\b|\bcargo\b/],
  ['go', /go\.sum|go\.mod|no required module|cannot find module providing/],
  ['jvm', /maven|gradle|\bjar\b/i],
  ['ruby', /\bgems?\b|Bundler|cannot load such file/],
  ['php', /vendor\/autoload|composer|Class ".*" not found/],
]

const declaredManager = (manifest: string | undefined): string | undefined =>
  /"packageManager"\s*:\s*"(npm|pnpm|yarn|bun)@/.exec(manifest ?? '')?.[1]

/** Whether a file of this name makes some manager govern its folder. */
export const isManifest = (name: string): boolean => managers.some(({ files }) => files.includes(name))

/** Manifests beside the file that governs a folder. An install of the same names with other content may end in another way. */
const manifests = ['package.json', 'pyproject.toml', 'go.mod', 'Cargo.toml', 'Gemfile', 'composer.json']

/** Files with requirements of a Python project. */
export const requirementNames: readonly string[] = managers.flatMap(({ id, files, beside = [] }) =>
  id === 'pip' ? [...files, ...beside] : [],
)

/** Files that decide what an install brings. */
export const dependencyFiles: ReadonlySet<string> = new Set([
  ...manifests,
  ...managers.flatMap(({ files, beside = [] }) => [...files, ...beside]),
])

/** The installs for a folder, at most one per ecosystem. `read` returns a file's text; undefined = no such file. */
export const installsIn = (folder: string, read: (name: string) => string | undefined): Install[] => {
  const found = managers.flatMap((manager) => {
    const file = manager.files.find((name) => {
      const text = read(name)
      return text !== undefined && (manager.holds === undefined || manager.holds.test(text))
    })
    return file === undefined ? [] : [{ manager, file }]
  })
  const declared = declaredManager(read('package.json'))
  const own = found.find(({ manager }) => declared !== undefined && manager.id.startsWith(declared))
  const chosen = new Map<Ecosystem, (typeof found)[number]>()
  for (const entry of own === undefined ? found : [own, ...found])
    if (!chosen.has(entry.manager.ecosystem)) chosen.set(entry.manager.ecosystem, entry)
  return [...chosen.values()].map(({ manager, file }) => {
    const top = manager.atTop === true
    const from = (name: string): string => (top && folder !== '' ? `${folder}/${name}` : name)
    const beside = (manager.beside ?? []).filter((name) => read(name) !== undefined)
    const paths = [from(file), ...beside.flatMap((name) => ['-r', from(name)])]
    return {
      manager: manager.id,
      folder: top ? '' : folder,
      commands: manager.commands.map((argv) => argv.flatMap((word) => (word === '{file}' ? paths : [word]))),
      inputs: digestOf([...manager.files, ...beside, ...manifests].map((name) => read(name) ?? '').join('\0')),
    }
  })
}

const ecosystemOf = ({ manager }: Install): Ecosystem | undefined =>
  managers.find(({ id }) => id === manager)?.ecosystem

const startsAlike = (argv: readonly string[], install: Install): boolean =>
  install.commands.some((own) => programName(argv[0] ?? '') === own[0] && argv[1] === own[1])

/** The ecosystems whose packages these programs use. */
export const ecosystemsOf = (programs: readonly string[]): Ecosystem[] =>
  programPatterns.filter(([, pattern]) => programs.some((name) => pattern.test(name))).map(([ecosystem]) => ecosystem)

/** The ecosystems whose runtime reports a missing package in this line. */
export const ecosystemsMentioned = (evidence: string): Ecosystem[] =>
  messagePatterns.filter(([, pattern]) => pattern.test(evidence)).map(([ecosystem]) => ecosystem)

/** The install that may provide what this command lacks; never one that the command runs itself, which would change nothing. */
export const chooseInstall = (installs: readonly Install[], command: string, evidence: string): Install | undefined => {
  const { programs, argvs } = readCommand(command)
  const spoken = ecosystemsOf(programs)
  const said = spoken.length > 0 ? spoken : ecosystemsMentioned(evidence)
  const fits = (install: Install): boolean =>
    said.length === 0 || said.some((ecosystem) => ecosystem === ecosystemOf(install))
  return installs.find((install) => fits(install) && !argvs.some((argv) => startsAlike(argv, install)))
}

/** The files with requirements that an install reads, relative to the workspace; none for managers that take no file. */
export const requirementFilesOf = ({ commands }: Install): string[] =>
  commands.flatMap((argv) => argv.flatMap((word, at) => (argv[at - 1] === '-r' ? [word] : [])))

const keptAt = (install: Install): string[] => {
  const folders = [install.folder, ...requirementFilesOf(install).map(parentOf)]
  const keeps = managers.find(({ id }) => id === install.manager)?.keeps ?? []
  return [...new Set(folders)].flatMap((folder) => keeps.map((name) => (folder === '' ? name : `${folder}/${name}`)))
}

/** An install of a manifest that asks for nothing creates nothing, so its packages would seem to be missing for ever. */
const asksForPackages = /"(?:dependencies|devDependencies|optionalDependencies)"\s*:\s*\{\s*"|"workspaces"\s*:/

/** The installs that these checks need as far as their programs tell, without those that a check runs itself. */
export const installsNeededBy = (installs: readonly Install[], commands: readonly string[]): Install[] =>
  installs.filter((install) => {
    const isRun = commands.some((command) => readCommand(command).argvs.some((argv) => startsAlike(argv, install)))
    return !isRun && commands.some((command) => chooseInstall([install], command, '') !== undefined)
  })

/** The installs without which a clone has no packages. `read` returns the text of a file at its top; `has` knows files and folders. */
export const installsLacking = (
  installs: readonly Install[],
  { read, has }: { read: (path: string) => string | undefined; has: (path: string) => boolean },
): Install[] =>
  installs.filter((install) => {
    const kept = keptAt(install)
    const manifest = install.folder === '' ? 'package.json' : `${install.folder}/package.json`
    const asks = ecosystemOf(install) !== 'node' || asksForPackages.test(read(manifest) ?? '')
    return asks && kept.length > 0 && !kept.some(has)
  })

/** Whether the install only fills `node_modules` of its folder. */
export const fillsNodeModules = (install: Install): boolean => ecosystemOf(install) === 'node'

/** Not a package manager: copies what the owner's checkout has and git ignores. */
export const ownersFiles = (files: string[]): Install => ({ manager: 'checkout', folder: '', commands: [], files })

const literal = (path: string): string => `/${path.replace(/[ !#*?[\\]/g, String.raw`\$&`)}`

/** Patterns for what these installs create, relative to the workspace, in the syntax of .gitignore. */
export const installedPatterns = (installs: readonly Install[]): string[] => [
  ...new Set(
    installs.flatMap(({ manager, folder, files = [] }) => [
      ...files.map(literal),
      ...(managers.find(({ id }) => id === manager)?.makes ?? []).map(
        (name) => `/${folder === '' ? '' : `${folder}/`}${name}`,
      ),
    ]),
  ),
]
