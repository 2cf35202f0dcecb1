/**
 * Areas: the parts of a repository that a task is expected to change, as path-like names. Two tasks whose areas overlap
 * (equal, or one inside the other) do not run at the same time. Lockfiles are no areas: any task may have to touch them, and
 * the merge queue verifies the result. Pure; the store compares the same names as ranges.
 */

const lockfiles: ReadonlySet<string> = new Set([
  'bun.lock',
  'bun.lockb',
  'cargo.lock',
  'composer.lock',
  'deno.lock',
  'flake.lock',
  'gemfile.lock',
  'go.sum',
  'go.work.sum',
  'gradle.lockfile',
  'mix.lock',
  'npm-shrinkwrap.json',
  'package-lock.json',
  'package.resolved',
  'pdm.lock',
  'pipfile.lock',
  'pnpm-lock.yaml',
  'podfile.lock',
  'poetry.lock',
  'pubspec.lock',
  'uv.lock',
  'yarn.lock',
])

/** The area of all work in place: goals share the folder, so no two of their tasks run at the same time. No path has this name. */
export const folderArea = 'direct:folder'

const segmentsOf = (text: string): string[] =>
  text
    .trim()
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.')

const isLockfile = (area: string): boolean => lockfiles.has((segmentsOf(area).at(-1) ?? '').toLowerCase())

/** The folder that contains everything a path or glob can match: its segments before the first wildcard. Empty = anywhere. */
export const coveringFolder = (path: string): string => {
  const segments = segmentsOf(path)
  const wild = segments.findIndex((segment) => /[*?[\]{}!]/.test(segment))
  return (wild === -1 ? segments : segments.slice(0, wild)).join('/')
}

const sorted = (areas: string[]): string[] => [...new Set(areas)].sort()

/**
 * The areas of a task: those that it names, separated by commas, else what its allowed paths cover. A task that may write
 * anywhere has none: otherwise no other task could run at the same time. The merge queue finds real conflicts.
 */
export const areasOf = (task: { targetArea: string | null; allowedPaths: readonly string[] }): string[] => {
  if (task.targetArea !== null) {
    const named = task.targetArea.split(',').map(coveringFolder)
    return sorted(named.filter((area) => area !== '' && !isLockfile(area)))
  }
  const covered = task.allowedPaths.filter((path) => !isLockfile(path)).map(coveringFolder)
  return covered.includes('') ? [] : sorted(covered)
}

const contains = (outer: string, inner: string): boolean => outer === inner || inner.startsWith(`${outer}/`)

/** The first area of `some` that overlaps one of `others`; undefined when both tasks may run at the same time. */
export const overlapOf = (some: readonly string[], others: readonly string[]): string | undefined =>
  some.find((area) => others.some((other) => contains(area, other) || contains(other, area)))
