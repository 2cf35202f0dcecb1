/**
 * How many files and lines differ between two trees. Lockfiles and files that the base's `.gitattributes` marks
 * `linguist-generated` count as files and not as lines: a tool wrote them. The marks of the work itself do not count.
 */
import type { ChangeSize } from '../domain/change-size.ts'
import { fieldsOf, git, objectName } from './git.ts'
import { inShadow, withIndex, type Shadow } from './shadow.ts'

export interface SizeRequest {
  base: string
  tree: string
  /** Generated files are looked up only where the lines exceed this; -1 = never. */
  mostLines: number
}

const mostShown = 5

const lockfiles = new Set(
  `package-lock.json npm-shrinkwrap.json pnpm-lock.yaml yarn.lock bun.lock bun.lockb deno.lock Cargo.lock go.sum poetry.lock
  uv.lock pdm.lock Pipfile.lock Gemfile.lock composer.lock mix.lock pubspec.lock Podfile.lock packages.lock.json gradle.lockfile
  flake.lock`.split(/\s+/),
)

const isLockfile = (path: string): boolean => lockfiles.has(path.slice(path.lastIndexOf('/') + 1))

interface Row {
  path: string
  lines: number
}

/** "-" stands for a binary file. Above the bound git does not read a file, and it counts as binary. */
const countLines = async (shadow: Shadow, { base, tree }: SizeRequest): Promise<Row[]> => {
  const args = ['diff-tree', '-r', '-z', '--numstat', '--no-renames', '--no-ext-diff', '--no-textconv']
  const options = { ...inShadow(shadow), config: [['core.bigFileThreshold', '64m']] as [string, string][] }
  const { stdout } = await git([...args, objectName(base), objectName(tree)], options)
  return fieldsOf(stdout).map((row) => {
    const [added = '', removed = '', ...path] = row.split('\t')
    return { path: path.join('\t'), lines: added === '-' ? 0 : Number(added) + Number(removed) }
  })
}

/** The index of the base is all that git reads the attribute from. */
const generatedOf = (shadow: Shadow, base: string, paths: readonly string[]): Promise<Set<string>> =>
  withIndex(shadow, async (indexFile) => {
    const at = { ...inShadow(shadow), indexFile }
    await git(['read-tree', objectName(base)], at)
    const input = paths.map((path) => `${path}\0`).join('')
    const { stdout } = await git(['check-attr', '--cached', '-z', '--stdin', 'linguist-generated'], { ...at, input })
    const fields = fieldsOf(stdout)
    const marked = fields.filter(
      (_field, index) => index % 3 === 0 && ['set', 'true'].includes(fields[index + 2] ?? ''),
    )
    return new Set(marked)
  })

const sum = (rows: readonly Row[]): number => rows.reduce((all, { lines }) => all + lines, 0)

const withoutLines = (rows: readonly Row[], generated: (path: string) => boolean): Row[] =>
  rows.map(({ path, lines }) => ({ path, lines: generated(path) ? 0 : lines }))

/** Time and memory grow with the sizes of the changed files only. */
export const changeSize = async (shadow: Shadow, request: SizeRequest): Promise<ChangeSize> => {
  const { base, mostLines } = request
  let rows = withoutLines(await countLines(shadow, request), isLockfile)
  if (mostLines !== -1 && sum(rows) > mostLines) {
    const marked = await generatedOf(
      shadow,
      base,
      rows.filter(({ lines }) => lines > 0).map(({ path }) => path),
    )
    rows = withoutLines(rows, (path) => marked.has(path))
  }
  const largest = rows.toSorted((one, other) => other.lines - one.lines).slice(0, mostShown)
  return { files: rows.length, lines: sum(rows), largest }
}
