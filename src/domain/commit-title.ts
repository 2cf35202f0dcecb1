/**
 * The title of a commit in the convention of the repository: where its recent commits, or its rules for messages, are those of Conventional
 * Commits (`fix(parser): keep the zone`), the title of a task gets such a type. Pure.
 */

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
  changed: readonly string[]
}

const isConventional = ({ recent, hasRules }: TitleFacts): boolean => {
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

/** The usual rules: no capital at the beginning, unless the word is a name, and no full stop at the end. */
const asSubject = (title: string): string =>
  title.replace(/^\p{Lu}(?=\p{Ll}*(?:[\s,:;]|$))/u, (letter) => letter.toLowerCase()).replace(/\.+$/, '')

/** The usual limit of a title with its type. The whole text of a longer one stands in the body. */
const longest = 100

const cut = (text: string): string => {
  if (text.length <= longest) return text
  const end = text.lastIndexOf(' ', longest - 1)
  return `${text.slice(0, end > longest / 2 ? end : longest - 1)}…`
}

/** "fix: fix the parser" says it twice. */
const withoutType = (title: string, type: string): string =>
  type === 'fix' ? title.replace(/^fix(?:es)? (?=\S)/i, '') : title

export const commitTitle = (title: string, facts: TitleFacts): string => {
  if (!isConventional(facts) || conventional.test(title)) return title
  const type = typeOf(title, facts.changed)
  return cut(`${type}: ${asSubject(withoutType(title, type))}`)
}

/** Files with rules for messages. */
export const messageRules: readonly string[] = [
  ...['.commitlintrc', '.commitlintrc.json', '.commitlintrc.yaml', '.commitlintrc.yml', '.commitlintrc.js'],
  ...['.commitlintrc.cjs', '.commitlintrc.mjs', '.commitlintrc.ts', 'commitlint.config.js', 'commitlint.config.cjs'],
  ...['commitlint.config.mjs', 'commitlint.config.ts'],
]
