/**
 * The title of a commit in the convention of the repository: where its recent commits, or its rules for messages, are those of Conventional
 * Commits (`fix(parser): keep the zone`), the title of a task gets such a type. Pure.
 */
import type { MessageRules } from './message-rules.ts'

/** Of the configuration that commitlint starts from. */
const types = 'build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test'

const conventional = new RegExp(String.raw`^(?:${types})(?:\([^()]+\))?!?: \S`)

/** Fewer commits are no habit, and only files with rules can show one. */
export const leastCommits = 5
const share = 0.8

export interface TitleFacts {
  /** Titles of the commits that people made before, newest first. */
  recent: readonly string[]
  /** The repository has a file with rules for messages, which ask for this convention unless its commits show another. */
  hasRules: boolean
  /** The rules, where they can be read. They count whatever the commits show. */
  rules?: MessageRules | undefined
  changed: readonly string[]
}

const isConventional = ({ recent, hasRules, rules }: TitleFacts): boolean => {
  if (rules !== undefined) return rules.isConventional
  const count = recent.filter((title) => conventional.test(title)).length
  return recent.length < leastCommits ? hasRules && count === recent.length : count >= share * recent.length
}

/** What all changed files are, where they are of one kind. */
const kinds: readonly [type: string, path: RegExp][] = [
  ['docs', /\.(?:md|mdx|rst|adoc|txt)$|(?:^|\/)docs?\//i],
  ['ci', /^\.github\/workflows\/|^\.gitlab-ci|^\.circleci\//],
  ['test', /(?:^|\/)(?:tests?|__tests__|spec)\/|[._-](?:test|spec)s?\.[a-z]+$|(?:^|\/)test_[^/]*\.py$/i],
]

/** What the first word of the title says. */
const verbs: readonly [type: string, word: RegExp][] = [
  ['fix', /^(?:fix|correct|repair|mend|resolve|prevent|avoid|handle)(?:es|s)?\b/i],
  ['feat', /^(?:add|allow|implement|introduce|support|create|make|show|let)s?\b/i],
  ['refactor', /^(?:refactor|rename|move|extract|simplify|split|inline|clean|remove)s?\b/i],
  ['docs', /^(?:document|describe|explain)s?\b/i],
  ['perf', /^(?:speed|optimi[sz]e|cache)s?\b/i],
  ['test', /^tests?\b/i],
]

const typeOf = (title: string, changed: readonly string[]): string =>
  kinds.find(([, path]) => changed.length > 0 && changed.every((each) => path.test(each)))?.[0] ??
  verbs.find(([, word]) => word.test(title))?.[0] ??
  'chore'

/** A type of ours, and what others call it. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  feat: ['feature', 'add', 'minor'],
  fix: ['bugfix', 'bug', 'hotfix', 'patch'],
  docs: ['doc', 'documentation'],
  test: ['tests'],
  refactor: ['refact', 'chore', 'improvement'],
  perf: ['performance', 'refactor'],
  ci: ['build', 'chore'],
  chore: ['misc', 'task', 'build', 'other', 'maintenance'],
}

const allowedType = (type: string, { types }: MessageRules): string => {
  if (types.length === 0) return type
  const names = [type, ...(otherNames[type] ?? []), 'chore', ...(otherNames['chore'] ?? [])]
  return names.find((name) => types.includes(name)) ?? types[0] ?? type
}

/** The usual rules: no capital at the beginning, unless the word is a name, and no full stop at the end. */
const asSubject = (title: string): string =>
  title.replace(/^\p{Lu}(?=\p{Ll}*(?:[\s,:;]|$))/u, (letter) => letter.toLowerCase()).replace(/\.+$/, '')

const upperFirst = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

/** `API` and `TypeScript` as a whole, because `aPI` would be worse. */
const lowered = (word: string): string => (/^\p{Lu}/u.test(word) ? word.toLowerCase() : word)

/** As commitlint judges it: a subject that begins with a capital is `sentence-case`, whatever follows. */
const asWanted = (title: string, wanted: MessageRules['subjectCase']): string => {
  const plain = title.replace(/\.+$/, '')
  if (wanted === undefined) return asSubject(title)
  const cases = wanted.cases.map((name) => name.replaceAll('-', '').toLowerCase())
  const has = (name: string): boolean => cases.includes(name)
  if (!wanted.isWanted) return has('sentencecase') ? plain.replace(/^\S+/, lowered) : plain
  if (has('lowercase')) return plain.toLowerCase()
  if (has('sentencecase')) return upperFirst(plain)
  return has('uppercase') ? plain.toUpperCase() : asSubject(title)
}

/** The usual limit of a title with its type. The whole text of a longer one stands in the body. */
const longest = 100

const cut = (text: string, most: number): string => {
  if (text.length <= most) return text
  const end = text.lastIndexOf(' ', most - 1)
  return `${text.slice(0, end > most / 2 ? end : most - 1)}…`
}

/** "fix: fix the parser" says it twice. */
const withoutType = (title: string, type: string): string =>
  type === 'fix' ? title.replace(/^fix(?:es)? (?=\S)/i, '') : title

/** The folder that all changed files have in common, for a repository whose titles need a scope. */
const scopeOf = ({ scopes, needsScope }: MessageRules, changed: readonly string[]): string => {
  if (!needsScope) return ''
  const parts = new Set(changed.flatMap((path) => path.split('/').slice(0, -1)))
  const [first = 'repo'] = parts
  const chosen = scopes.length === 0 ? first : (scopes.find((scope) => parts.has(scope)) ?? scopes[0])
  return `(${chosen})`
}

const noRules: MessageRules = {
  ...{ isConventional: true, types: [], scopes: [], needsScope: false },
  ...{ longestHeader: longest, longestLine: undefined, subjectCase: undefined },
}

interface Parts {
  type: string
  scope: string
  mark: string
  subject: string
}

/** The parts of a title that has a type already, by whatever name. */
const partsIn = (title: string, { types: allowed }: MessageRules): Parts | undefined => {
  const [, word = '', scope = '', mark = '', subject = ''] = /^(\w+)(\([^()]+\))?(!?): (\S.*)$/s.exec(title) ?? []
  if (allowed.includes(word) || conventional.test(`${word}: x`)) return { type: word, scope, mark, subject }
  const usual = Object.keys(otherNames).find((type) => otherNames[type]?.includes(word))
  return usual === undefined ? undefined : { type: usual, scope, mark, subject }
}

const isScope = (scope: string, { scopes }: MessageRules): boolean =>
  scope !== '' && (scopes.length === 0 || scopes.includes(scope.slice(1, -1)))

export const commitTitle = (title: string, facts: TitleFacts): string => {
  const { rules = noRules, changed } = facts
  const most = rules.longestHeader ?? longest
  if (!isConventional(facts)) return facts.rules?.longestHeader === undefined ? title : cut(title, most)
  if (facts.rules === undefined && conventional.test(title)) return title
  const given = partsIn(title, rules)
  const type = allowedType(given?.type ?? typeOf(title, changed), rules)
  const scope = isScope(given?.scope ?? '', rules) ? given?.scope : scopeOf(rules, changed)
  const subject = asWanted(given?.subject ?? withoutType(title, type), rules.subjectCase)
  return cut(`${type}${scope}${given?.mark ?? ''}: ${subject}`, most)
}
