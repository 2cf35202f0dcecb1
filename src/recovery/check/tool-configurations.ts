/**
 * Which files configure a check, as data: the tool that reads them, and the words that show that a command or script uses this
 * tool. The configuration of a tool that no check uses does not matter.
 */

type Differs = (before: string | undefined, after: string | undefined) => boolean

export interface ToolConfiguration {
  tool: string
  /** Absent = the file matters for every check. */
  used?: RegExp
  file: RegExp
  /** Whether the change of the file matters; absent = every change matters. */
  differs?: Differs
}

const jsonOf = (text: string | undefined): Record<string, unknown> => {
  try {
    return (JSON.parse(text ?? '{}') as Record<string, unknown> | null) ?? {}
  } catch {
    return {} // a broken manifest configures nothing
  }
}

const keys =
  (...names: string[]): Differs =>
  (before, after) =>
    names.some((name) => JSON.stringify(jsonOf(before)[name]) !== JSON.stringify(jsonOf(after)[name]))

/** The sections of an INI or TOML file whose header matches, as one text. */
const sectionsIn = (text: string | undefined, header: RegExp): string => {
  const kept: string[] = []
  let isKept = false
  for (const line of (text ?? '').split(/\r?\n/)) {
    const head = /^\s*\[{1,2}([^\]]+)\]{1,2}/.exec(line)
    if (head !== null) isKept = header.test((head[1] ?? '').trim())
    if (isKept && line.trim() !== '' && !line.trim().startsWith('#')) kept.push(line.trim())
  }
  return kept.join('\n')
}

const sections =
  (header: RegExp): Differs =>
  (before, after) =>
    sectionsIn(before, header) !== sectionsIn(after, header)

/** The top-level keys of a YAML file whose names do not match, with their values, as one text. */
const yamlWithout = (text: string | undefined, name: RegExp): string => {
  const kept: string[] = []
  let isKept = true
  for (const line of (text ?? '').split(/\r?\n/)) {
    const key = /^(['"]?)([\w-]+)\1\s*:/.exec(line)?.[2]
    // Other text at the left margin, except list items, is an unknown key and is kept.
    if (/^[^\s#-]/.test(line)) isKept = key === undefined || !name.test(key)
    if (isKept && line.trim() !== '' && !line.trim().startsWith('#')) kept.push(line.trimEnd())
  }
  return kept.join('\n')
}

const linesOf = (text: string | undefined): string[] =>
  (text ?? '')
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^(?:#|\/\/)/.test(line))

const countOf = (pattern: RegExp, text: string | undefined): number => [...(text ?? '').matchAll(pattern)].length

/** A line was removed, or a match of `added` was added. Other additions weaken nothing. */
export const lineRemovedOrAdded =
  (added: RegExp): Differs =>
  (before, after) => {
    const left = new Map<string, number>()
    for (const line of linesOf(after)) left.set(line, (left.get(line) ?? 0) + 1)
    const gone = linesOf(before).some((line) => {
      const count = left.get(line) ?? 0
      left.set(line, count - 1)
      return count <= 0
    })
    return gone || countOf(added, after) > countOf(added, before)
  }

/** The file existed before. */
const changedOnly: Differs = (before) => before !== undefined

const flagsIn = (text: string | undefined, value: boolean): string[] =>
  [
    ...(text ?? '').matchAll(
      /"(strict\w*|no[A-Z]\w*|exactOptional\w+|alwaysStrict|use\w+|skip\w+|allow\w+|suppress\w+|checkJs)"\s{0,9}:\s{0,9}(true|false)/g,
    ),
  ]
    .filter((match) => match[2] === String(value))
    .map((match) => match[1] ?? '')

/** Flags that make the compiler more lenient when they are on. */
const forgiving = /^(?:skip|allow|suppress)/

const listIn = (text: string | undefined): string =>
  [...(text ?? '').matchAll(/"(?:include|exclude|files|extends)"\s{0,9}:\s{0,9}(?:\[[^\]]{0,2000}\]|"[^"]{0,500}")/g)]
    .map(([all]) => all.replaceAll(/\s/g, ''))
    .join()

const loosened: Differs = (before, after) => {
  if (before === undefined) return false
  const lost = flagsIn(before, true).filter((flag) => !forgiving.test(flag) && !flagsIn(after, true).includes(flag))
  const given = flagsIn(after, true).filter((flag) => forgiving.test(flag) && !flagsIn(before, true).includes(flag))
  const off = flagsIn(after, false).filter((flag) => !forgiving.test(flag) && !flagsIn(before, false).includes(flag))
  return after === undefined || lost.length + given.length + off.length > 0 || listIn(before) !== listIn(after)
}

const manifest = /(?:^|\/)package\.json$/
const pyproject = /(?:^|\/)pyproject\.toml$/
const python = /^(?:pytest|py\.test|coverage|tox|nox|hatch|poetry|uv|pdm|pipenv|unittest)$/
const script = String.raw`\.(?:[cm]?[jt]s|json5?|ya?ml|toml)$`

const named = (name: string): RegExp => new RegExp(String.raw`(?:^|/)(?:${name})${script}`)

const workspaceParts = /^(?:packages|catalogs?)$/

const javascript: readonly ToolConfiguration[] = [
  // Also for commands that only call node, because these files control what an install runs.
  {
    tool: 'npm',
    used: /^(?:npm|npx|pnpm|yarn|bun|bunx|node)$/,
    file: /(?:^|\/)(?:\.npmrc|\.yarnrc(?:\.yml)?|bunfig\.toml|\.pnpmfile\.c?js)$/,
  },
  // Packages of the repository and their versions are ordinary work. The rest are settings, such as the shell of scripts.
  {
    ...{ tool: 'pnpm', used: /^(?:pnpm|pnpx|node)$/, file: /(?:^|\/)pnpm-workspace\.ya?ml$/ },
    differs: (before, after) => yamlWithout(before, workspaceParts) !== yamlWithout(after, workspaceParts),
  },
  { tool: 'jest', used: /^(?:jest|react-scripts|ng)$/, file: named('jest[.-](?:config|setup)[\\w.-]*|setupTests') },
  { tool: 'jest', used: /^(?:jest|react-scripts)$/, file: manifest, differs: keys('jest') },
  { tool: 'vitest', used: /^vitest$/, file: named('vitest[.-](?:config|workspace|setup)[\\w.-]*') },
  {
    ...{ tool: 'vitest', used: /^vitest$/, file: named('vite\\.config[\\w.-]*') },
    differs: (before, after) => before !== after && /\btest\s*:/.test(`${before ?? ''}${after ?? ''}`),
  },
  { tool: 'mocha', used: /^(?:mocha|_mocha)$/, file: /(?:^|\/)(?:\.mocharc(?:\.\w+)?|mocha\.opts)$/ },
  { tool: 'mocha', used: /^mocha$/, file: manifest, differs: keys('mocha') },
  { tool: 'ava', used: /^ava$/, file: named('ava\\.config') },
  { tool: 'ava', used: /^ava$/, file: manifest, differs: keys('ava') },
  { tool: 'karma', used: /^(?:karma|ng)$/, file: named('karma\\.conf[\\w.-]*') },
  { tool: 'cypress', used: /^cypress$/, file: /(?:^|\/)cypress(?:\.config\.[cm]?[jt]s|\.json)$/ },
  { tool: 'playwright', used: /^playwright$/, file: named('playwright[\\w.-]*\\.config') },
  {
    ...{ tool: 'coverage', used: /^(?:nyc|c8)$/ },
    file: /(?:^|\/)(?:\.nycrc|\.c8rc|nyc\.config)(?:\.\w+)?$/,
  },
  { tool: 'coverage', used: /^(?:nyc|c8)$/, file: manifest, differs: keys('nyc', 'c8') },
  { tool: 'tsc', used: /^(?:tsc|vue-tsc|tsgo|ts-jest|ng)$/, file: /(?:^|\/)tsconfig[\w.-]*\.json$/, differs: loosened },
  {
    ...{ tool: 'eslint', used: /^(?:eslint|next|ng|standard|xo)$/ },
    file: /(?:^|\/)(?:\.eslintrc(?:\.\w+)?|\.eslintignore|eslint\.config\.[cm]?[jt]s)$/,
  },
  {
    tool: 'eslint',
    used: /^(?:eslint|xo|standard)$/,
    file: manifest,
    differs: keys('eslintConfig', 'eslintIgnore', 'xo'),
  },
  { tool: 'oxlint', used: /^oxlint$/, file: /(?:^|\/)\.?oxlint(?:rc)?(?:\.config)?\.\w+$/ },
  { tool: 'biome', used: /^(?:biome|@biomejs)$/, file: /(?:^|\/)biome\.jsonc?$/ },
]

const others: readonly ToolConfiguration[] = [
  { tool: 'pytest', used: python, file: /(?:^|\/)(?:pytest\.ini|tox\.ini|\.coveragerc|noxfile\.py)$/ },
  {
    ...{ tool: 'pytest', used: python, file: /(?:^|\/)conftest\.py$/ },
    // New tests add fixtures. Only these hooks choose which tests run and what their result is.
    differs: lineRemovedOrAdded(/\bdef pytest_\w+|\bcollect_ignore|\bskip|\bxfail|autouse/g),
  },
  { tool: 'pytest', used: python, file: pyproject, differs: sections(/^tool\.(?:pytest|coverage|tox)/) },
  { tool: 'pytest', used: python, file: /(?:^|\/)setup\.cfg$/, differs: sections(/pytest|coverage/) },
  { tool: 'ruff', used: /^ruff$/, file: /(?:^|\/)\.?ruff\.toml$/ },
  { tool: 'ruff', used: /^ruff$/, file: pyproject, differs: sections(/^tool\.ruff/) },
  { tool: 'mypy', used: /^mypy$/, file: /(?:^|\/)\.?mypy\.ini$/ },
  { tool: 'mypy', used: /^mypy$/, file: pyproject, differs: sections(/^tool\.mypy/) },
  { tool: 'flake8', used: /^flake8$/, file: /(?:^|\/)\.flake8$/ },
  { tool: 'lint', used: /^(?:flake8|mypy)$/, file: /(?:^|\/)setup\.cfg$/, differs: sections(/flake8|mypy/) },
  { tool: 'phpunit', used: /^(?:phpunit|pest|composer|artisan)$/, file: /(?:^|\/)phpunit\.(?:dist\.)?xml(?:\.dist)?$/ },
  { tool: 'rspec', used: /^(?:rspec|rake|rails)$/, file: /(?:^|\/)\.rspec$/ },
  {
    tool: 'cargo',
    used: /^cargo$/,
    file: /(?:^|\/)Cargo\.toml$/,
    differs: sections(/^(?:profile\.test|test|lib|workspace\.lints|lints)\b/),
  },
  { tool: 'cargo', used: /^cargo$/, file: /(?:^|\/)\.(?:cargo|config)\/(?:config(?:\.toml)?|nextest\.toml)$/ },
]

const always: readonly ToolConfiguration[] = [
  {
    tool: 'CI',
    file: /^(?:\.github\/workflows\/.+|\.gitlab-ci\.yml|\.circleci\/.+|azure-pipelines\.ya?ml|Jenkinsfile)$/,
    // An additional workflow weakens no existing one.
    differs: changedOnly,
  },
  { tool: 'the verify contract', file: /^\.unstuck\/verify\.contract\.json$/ },
]

export const toolConfigurations: readonly ToolConfiguration[] = [...javascript, ...others, ...always]
