/**
 * Infers the checks of a repository that configures none from its files: at most four, tests first. Only commands that the repository
 * declares are inferred. A script that writes to the source (`--fix`) is left out because it would change the work; one that only
 * reports that there is no test, because it would fail every task.
 */

import type { HasProgram } from '../core/find-program.ts'
import { scriptOnce } from '../../recovery/command/plan-check.ts'
import { isRealCheck } from '../../recovery/command/replacement.ts'

export interface RepositoryFacts {
  /** Parsed package.json of the top folder. */
  packageJson?: unknown
  /** Text of the Makefile of the top folder. */
  makefile?: string
  /** Text of pyproject.toml of the top folder. */
  pyproject?: string
  /** Texts of its files with requirements. */
  requirements?: string
  /** The package manager of the folders above, for a package that names none. */
  outerManager?: string
  /** Paths of tracked files. */
  files: readonly string[]
  /** Whether the owner's PATH has a program: a check whose program is missing checks nothing. Absent = it has all. */
  hasProgram?: HasProgram
}

const maxCommands = 4

const hasAll: HasProgram = () => true

type Fields = Record<string, unknown>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const locks: readonly [file: string, manager: string][] = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
  ['package-lock.json', 'npm'],
  ['npm-shrinkwrap.json', 'npm'],
]

/** The package manager that these files name; undefined = they name none. */
export const managerOf = ({ packageJson, files }: RepositoryFacts): string | undefined => {
  const declared = isFields(packageJson) ? packageJson.packageManager : undefined
  const named = typeof declared === 'string' ? /^(npm|pnpm|yarn|bun)@/.exec(declared)?.[1] : undefined
  return named ?? locks.find(([file]) => files.includes(file))?.[1]
}

const onceText = (script: unknown): string | undefined => (typeof script === 'string' ? scriptOnce(script) : undefined)

const packageCommands = (facts: RepositoryFacts): string[] => {
  const { packageJson, outerManager, hasProgram = hasAll } = facts
  if (!isFields(packageJson) || !isFields(packageJson.scripts)) return []
  const { scripts } = packageJson
  const declaredManager = managerOf(facts) ?? outerManager ?? 'npm'
  // The scripts are the same for all of them.
  const manager = hasProgram(declaredManager) || !hasProgram('npm') ? declaredManager : 'npm'
  const started = (name: string): string =>
    name === 'test' && manager !== 'bun' ? `${manager} test` : `${manager} run ${name}`
  const first = (names: readonly string[]): string[] => {
    const there = names.filter((name) => Object.hasOwn(scripts, name))
    const real = there.filter((name) => isRealCheck(scripts[name])).map(started)
    // Where each of them waits for changes, what one of them starts runs once.
    const once = there.map((name) => onceText(scripts[name])).filter(isRealCheck)
    return [...real, ...once].slice(0, 1)
  }
  return [
    ...first(['test', 'test:ci', 'test:run']),
    ...first(['typecheck', 'type-check', 'check-types', 'types', 'tsc']),
    ...first(['lint']),
  ]
}

/** How each manager starts pytest. Without its program, the interpreter of the project's environment does. */
const pytests: readonly [lockfile: string, program: string][] = [
  ['uv.lock', 'uv'],
  ['poetry.lock', 'poetry'],
  ['pdm.lock', 'pdm'],
]

const pythonCommands = (
  { pyproject = '', requirements = '', hasProgram = hasAll }: RepositoryFacts,
  files: ReadonlySet<string>,
): string[] => {
  const declares = files.has('pytest.ini') || /^\[tool\.pytest\b/m.test(pyproject) || files.has('conftest.py')
  const isPython =
    declares ||
    /^[ \t]*pytest\b/m.test(requirements) ||
    ['pyproject.toml', 'setup.py', 'setup.cfg', 'tox.ini'].some((name) => files.has(name))
  const hasTests = [...files].some((path) => /(^|\/)(test_[^/]*|[^/]*_test)\.py$/.test(path))
  if (!isPython || !(declares || hasTests)) return []
  const [, manager] = pytests.find(([lockfile, program]) => files.has(lockfile) && hasProgram(program)) ?? []
  return [manager === undefined ? 'python3 -m pytest' : `${manager} run pytest`]
}

/** The rule that runs the tests, as GNU projects call it too; a variable (`test := x`) and a mention in `.PHONY` are none. */
const testTarget = (makefile: string): string | undefined =>
  [
    { name: 'test', rule: /^(?:[^\s:#=]+[ \t]+)*test(?:[ \t]+[^\s:#=]+)*[ \t]*::?(?!=)/m },
    { name: 'check', rule: /^(?:[^\s:#=]+[ \t]+)*check(?:[ \t]+[^\s:#=]+)*[ \t]*::?(?!=)/m },
  ].find(({ rule }) => rule.test(makefile))?.name

/** A file of the top folder that declares the stack, and its test command; `wrapper` is the project's own copy of the tool. */
const declared: readonly { file: RegExp; command: string; wrapper?: [file: string, command: string]; also?: RegExp }[] =
  [
    { file: /^Cargo\.toml$/, command: 'cargo test' },
    { file: /^go\.mod$/, command: 'go test ./...' },
    { file: /^pom\.xml$/, command: 'mvn test', wrapper: ['mvnw', './mvnw test'] },
    { file: /^build\.gradle(\.kts)?$/, command: 'gradle test', wrapper: ['gradlew', './gradlew test'] },
    { file: /^mix\.exs$/, command: 'mix test' },
    { file: /^[^/]+\.(sln|slnx|csproj|fsproj)$/, command: 'dotnet test' },
    { file: /^Gemfile$/, command: 'bundle exec rspec', also: /^(\.rspec|spec)(\/|$)/ },
    { file: /^composer\.json$/, command: 'vendor/bin/phpunit', also: /^phpunit(\.dist)?\.xml(\.dist)?$/ },
    { file: /^deno\.jsonc?$/, command: 'deno test' },
    { file: /^Package\.swift$/, command: 'swift test' },
  ]

const declaredCommands = (files: ReadonlySet<string>): string[] =>
  declared
    .filter(({ file, also }) =>
      [file, ...(also === undefined ? [] : [also])].every((pattern) => [...files].some((name) => pattern.test(name))),
    )
    .map(({ command, wrapper }) => (wrapper !== undefined && files.has(wrapper[0]) ? wrapper[1] : command))

/** Whether the program of an inferred command can be started here. */
export const isStartable = (command: string, hasProgram: HasProgram): boolean => {
  const [program = ''] = command.split(' ')
  return program.includes('/') || hasProgram(program)
}

/** All commands, also those that cannot be started here. */
export const declaredChecks = (facts: RepositoryFacts): string[] => {
  const files = new Set(facts.files)
  const found = [...packageCommands(facts), ...declaredCommands(files), ...pythonCommands(facts, files)]
  // A Makefile next to another stack usually calls the tests of that stack, which would then run twice.
  const target = testTarget(facts.makefile ?? '')
  if (found.length === 0 && target !== undefined) found.push(`make ${target}`)
  return found
}

/** The commands that can be started here; if none can, all of them: the run then asks before it starts an agent. */
export const inferCommands = (facts: RepositoryFacts): string[] => {
  const found = declaredChecks(facts)
  const startable = found.filter((command) => isStartable(command, facts.hasProgram ?? hasAll))
  return (startable.length > 0 ? startable : found).slice(0, maxCommands)
}
