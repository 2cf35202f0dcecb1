/** What the page of all repositories says of each, and in which order. Pure. */
import type { SiblingsView } from '../../src/api/contract.ts'

export type RepositoryRow = SiblingsView[number]

const words: Record<RepositoryRow['state'], { word: string; tone: string }> = {
  served: { word: 'served', tone: 'good' },
  own: { word: 'has its own engine', tone: 'good' },
  starting: { word: 'starting', tone: 'busy' },
  stopped: { word: 'no engine', tone: '' },
  detached: { word: 'stopped', tone: '' },
  broken: { word: 'cannot be served', tone: 'bad' },
  'set aside': { word: 'set aside', tone: 'bad' },
}

export const wordOf = ({ state }: RepositoryRow): { word: string; tone: string } => words[state]

const rank = ({ counts, problem, url }: RepositoryRow): number => {
  if ((counts?.questions ?? 0) > 0) return 0
  if (problem !== null) return 1
  if ((counts?.running ?? 0) > 0) return 2
  return url === null ? 4 : 3
}

/** What needs the reader first, then what moves. */
export const byUrgency = (all: readonly RepositoryRow[]): RepositoryRow[] =>
  all.toSorted(
    (one, other) => rank(one) - rank(other) || one.repository.localeCompare(other.repository, 'en', { numeric: true }),
  )

/** Of the other repositories; those of another process are not known. */
export const asksElsewhere = (all: readonly RepositoryRow[]): number =>
  all.reduce((sum, { isHere, counts }) => sum + (isHere ? 0 : (counts?.questions ?? 0)), 0)

/** The last folder of a path or the last part of a URL. */
export const shortName = ({ repository }: RepositoryRow): string =>
  repository
    .replace(/[/\\]+$/, '')
    .split(/[/\\:]/)
    .at(-1)
    ?.replace(/\.git$/, '') ?? repository
