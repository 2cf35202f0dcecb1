/** The table of the set and its summary. */
import { median } from '../../measure.ts'
import type { Attempts } from './outcome.ts'
import type { Played } from './play-entry.ts'

const seconds = (value: number): string => String(Math.round(value))

const rungsOf = ({ account }: Played): string =>
  [...account.recoveries]
    .toSorted(([a], [b]) => a - b)
    .map(([rung, { attempts, successes }]) => `${rung}:${successes}/${attempts}`)
    .join(' ')

const rowOf = (played: Played): string[] => [
  played.entry.name,
  played.entry.recoverable ? 'yes' : 'no',
  played.result,
  played.right ? 'right' : 'WRONG',
  ...[played.account.questions, played.account.runs, played.launches, played.account.tokens].map(String),
  seconds(played.seconds),
  rungsOf(played),
  played.problems.join('; '),
]

const heading = ['entry', 'recoverable', 'result', '', 'asked', 'runs', 'launches', 'tokens', 's', 'rungs', 'problems']

export const tableOf = (played: readonly Played[]): string => {
  const rows = [heading, ...played.map(rowOf)]
  const widths = heading.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Goal of the share of the recoverable entries that end without a person. */
const goalPercent = 95

const percent = (part: number, of: number): number => (of === 0 ? 100 : (100 * part) / of)

/** Ended as it should, and nobody was asked. */
const isAlone = ({ right, account, entry }: Played): boolean => right && entry.recoverable && account.questions === 0

export const summaryOf = (played: readonly Played[]): Record<string, number> => {
  const recoverable = played.filter(({ entry }) => entry.recoverable)
  const alone = recoverable.filter(isAlone)
  const sum = (count: (one: Played) => number): number => played.reduce((total, one) => total + count(one), 0)
  return {
    entries: played.length,
    right: sum(({ right }) => Number(right)),
    recoverable: recoverable.length,
    withoutPerson: alone.length,
    withoutPersonPercent: percent(alone.length, recoverable.length),
    goalPercent,
    wrongDone: sum(({ wrongDone }) => Number(wrongDone)),
    secretsOnMain: sum(({ secretOnMain }) => Number(secretOnMain)),
    runs: sum(({ account }) => account.runs),
    launches: sum(({ launches }) => launches),
    tokens: sum(({ account }) => account.tokens),
    medianMinutes: median(played.map((one) => one.seconds / 60)),
  }
}

export const rungFigures = (played: readonly Played[]): { rung: number; attempts: number; success: number }[] => {
  const total = new Map<number, Attempts>()
  for (const [rung, { attempts, successes }] of played.flatMap(({ account }) => [...account.recoveries])) {
    const before = total.get(rung) ?? { attempts: 0, successes: 0 }
    total.set(rung, { attempts: before.attempts + attempts, successes: before.successes + successes })
  }
  return [...total]
    .toSorted(([a], [b]) => a - b)
    .map(([rung, { attempts, successes }]) => ({ rung, attempts, success: successes }))
}
