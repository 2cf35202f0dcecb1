/**
 * Checks the titles of commits: at most 72 characters, which git and forges show whole, and no period at the end. It checks those since
 * this branch left the remote's default branch; on that branch itself, or where no remote is known, the last 20.
 * Usage: node scripts/check-titles.ts [folder]
 */
import { gitOutput, mergeBase } from './history.ts'
import { repositoryRoot } from './root.ts'

const longest = 72
const most = 20
/** The rule begins after this commit: some titles before it are longer. */
const lastUnchecked = '6f8181d1fd7584616ee4b1ca99375e401dc01683'

const folder = process.argv[2] ?? repositoryRoot

/** Names of the commits that are checked, each with its title. A shallow clone has fewer, and none before the rule began. */
const commits = (): string[] => {
  const has = (name: string): boolean => gitOutput(folder, 'cat-file', '-e', `${name}^{commit}`) !== undefined
  const before = has(lastUnchecked) ? [`^${lastUnchecked}`] : []
  const list = (...range: string[]): string[] =>
    (gitOutput(folder, 'log', '--no-merges', '--format=%h %s', ...range, ...before) ?? '').split('\n').filter(Boolean)
  const base = mergeBase(folder)
  const own = base === undefined ? [] : list('HEAD', `^${base}`)
  return own.length > 0 ? own : list(`--max-count=${most}`, 'HEAD')
}

const problemOf = (title: string): string | undefined => {
  // Characters, not UTF-16 units.
  const { length } = Array.from(title)
  if (length > longest) return `has ${length} characters; at most ${longest} are allowed`
  return title.endsWith('.') ? 'ends with a period; leave it out' : undefined
}

for (const line of commits()) {
  const [name = '', ...words] = line.split(' ')
  const title = words.join(' ')
  const problem = problemOf(title)
  if (problem === undefined) continue
  console.error(`the title of commit ${name} ${problem}: ${title}`)
  process.exitCode = 1
}
