/**
 * What a repository asks of commit messages, as far as its files say it as data: the configuration of commitlint, sign-offs of the Developer
 * Certificate of Origin, and what CONTRIBUTING says. Pure. A configuration in JavaScript is not run: only the set of rules that it names is seen.
 */
import { parse } from 'yaml'

export interface MessageRules {
  /** The message is `type: subject`. */
  isConventional: boolean
  /** Types that may be used; empty = any of the usual ones. */
  types: readonly string[]
  scopes: readonly string[]
  needsScope: boolean
  /** In characters. */
  longestHeader: number | undefined
  longestLine: number | undefined
  /** How a subject has to be written, or must not be. */
  subjectCase: { isWanted: boolean; cases: readonly string[] } | undefined
}

const commitlintFiles: readonly string[] = [
  ...['.commitlintrc', '.commitlintrc.json', '.commitlintrc.yaml', '.commitlintrc.yml', '.commitlintrc.js'],
  ...['.commitlintrc.cjs', '.commitlintrc.mjs', '.commitlintrc.ts', 'commitlint.config.js', 'commitlint.config.cjs'],
  ...['commitlint.config.mjs', 'commitlint.config.ts'],
]
const signOffFiles = ['DCO', 'DCO.txt', 'DCO.md', '.github/dco.yml', '.github/dco.yaml']
const guides = [
  'CONTRIBUTING.md',
  'CONTRIBUTING.rst',
  'CONTRIBUTING',
  '.github/CONTRIBUTING.md',
  'docs/CONTRIBUTING.md',
]

/** Files that say something about messages. */
export const messageFiles: readonly string[] = [...commitlintFiles, 'package.json', ...signOffFiles, ...guides]

/** Path -> text, of those that the repository has. */
export type MessageTexts = ReadonlyMap<string, string>

type Fields = Record<string, unknown>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** JSON is YAML. */
const read = (text: string): unknown => {
  try {
    return parse(text, { logLevel: 'silent' })
  } catch {
    return undefined // a broken configuration says nothing
  }
}

const texts = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((each): each is string => typeof each === 'string')

const conventional = '@commitlint/config-conventional'

/** Of that set of rules, the ones that a message can break. */
const conventionalRules: Fields = {
  'type-enum': [
    2,
    'always',
    ['build', 'chore', 'ci', 'docs', 'feat', 'fix', 'perf', 'refactor', 'revert', 'style', 'test'],
  ],
  'header-max-length': [2, 'always', 100],
  'body-max-line-length': [2, 'always', 100],
  'subject-case': [2, 'never', ['sentence-case', 'start-case', 'pascal-case', 'upper-case']],
}

/** A rule that is switched on; undefined = it says nothing. */
const ruleIn = (rules: Fields, name: string): { isWanted: boolean; value: unknown } | undefined => {
  const found = rules[name]
  if (!Array.isArray(found) || !(Number(found[0]) > 0)) return undefined
  return { isWanted: found[1] !== 'never', value: found[2] }
}

const wanted = (rules: Fields, name: string): unknown => {
  const rule = ruleIn(rules, name)
  return rule?.isWanted === true ? rule.value : undefined
}

const length = (value: unknown): number | undefined => (typeof value === 'number' && value > 0 ? value : undefined)

const rulesOf = (rules: Fields, isExtended: boolean): MessageRules => {
  const types = texts(wanted(rules, 'type-enum'))
  const subject = ruleIn(rules, 'subject-case')
  const needsType = ruleIn(rules, 'type-empty')?.isWanted === false
  return {
    isConventional: isExtended || types.length > 0 || needsType,
    types,
    scopes: texts(wanted(rules, 'scope-enum')),
    needsScope: ruleIn(rules, 'scope-empty')?.isWanted === false,
    longestHeader: length(wanted(rules, 'header-max-length')),
    longestLine: length(wanted(rules, 'body-max-line-length')),
    subjectCase: subject === undefined ? undefined : { isWanted: subject.isWanted, cases: texts(subject.value) },
  }
}

const configurationOf = (files: MessageTexts, name: string): unknown => {
  const text = files.get(name)
  if (text === undefined) return undefined
  if (name === 'package.json') {
    const manifest = read(text)
    return isFields(manifest) ? manifest['commitlint'] : undefined
  }
  // A program: the only fact is the name of the set that it extends.
  if (/\.[cm]?[jt]s$/.test(name)) return text.includes(conventional) ? { extends: [conventional] } : undefined
  return read(text)
}

/** The rules of commitlint; undefined = it has none that can be read. The first file counts, as for commitlint. */
export const messageRulesIn = (files: MessageTexts): MessageRules | undefined => {
  const found = ['package.json', ...commitlintFiles].map((name) => configurationOf(files, name)).find(isFields)
  if (found === undefined) return undefined
  const isExtended = texts(found['extends']).includes(conventional)
  const own = isFields(found['rules']) ? found['rules'] : {}
  return rulesOf({ ...(isExtended ? conventionalRules : {}), ...own }, isExtended)
}

const saidIn = (files: MessageTexts, pattern: RegExp): boolean =>
  guides.some((name) => pattern.test(files.get(name) ?? ''))

/** Whether a file speaks of Conventional Commits, also one that cannot be read as data. */
export const mentionsConvention = (files: MessageTexts): boolean =>
  commitlintFiles.some((name) => files.has(name)) || saidIn(files, /conventional[ -]?commits/i)

export const asksForSignOff = (files: MessageTexts): boolean =>
  signOffFiles.some((name) => files.has(name)) || saidIn(files, /signed-off-by/i)
