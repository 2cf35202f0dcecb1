/** `node bench/autonomy.ts --set`: plays the entries with at most `jobs` at a time, prints them and returns the exit status. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { printResult } from '../../measure.ts'
import type { SetEntry } from './entry.ts'
import { setEntries } from './index.ts'
import { playEntry, type Played } from './play-entry.ts'
import { rungFigures, summaryOf, tableOf } from './report.ts'

export interface SetOptions {
  /** Names, or parts of them; empty = all. */
  only: readonly string[]
  jobs: number
  seconds: number
  verbose: boolean
  keep: boolean
}

const chosenBy = (only: readonly string[]): SetEntry[] => {
  const unknown = only.find((part) => !setEntries.some(({ name }) => name.includes(part)))
  if (unknown !== undefined)
    throw new Error(
      `no entry has ${JSON.stringify(unknown)} in its name; there are ${setEntries.map(({ name }) => name).join(', ')}`,
    )
  return setEntries.filter(({ name }) => only.length === 0 || only.some((part) => name.includes(part)))
}

const show = ({ entry, result, right, problems, seconds, launches, said }: Played, verbose: boolean): void => {
  const why = problems.length === 0 ? '' : `: ${problems.join('; ')}`
  console.error(
    `${entry.name} | ${right ? 'right' : 'WRONG'} | ${result} (${Math.round(seconds)} s, ${launches} launches)${why}`,
  )
  if (verbose && said !== '') console.error(said.replaceAll(/^/gm, '    '))
}

export const playSet = async ({ only, jobs, seconds, verbose, keep }: SetOptions): Promise<number> => {
  const chosen = chosenBy(only)
  const cache = mkdtempSync(join(tmpdir(), 'unstuck-autonomy-cache-'))
  const played: Played[] = []
  const waiting = [...chosen]
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const one = await playEntry(next, { cache, seconds, keep })
      played.push(one)
      show(one, verbose)
    }
  }
  try {
    await Promise.all(Array.from({ length: jobs }, worker))
  } finally {
    rmSync(cache, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
  const inOrder = played.toSorted((a, b) => chosen.indexOf(a.entry) - chosen.indexOf(b.entry))
  console.log(tableOf(inOrder))
  for (const { rung, ...figures } of rungFigures(inOrder)) printResult(`autonomy set, rung ${rung}`, figures)
  const summary = summaryOf(inOrder)
  printResult('autonomy set', summary)
  return summary['wrongDone'] === 0 && summary['secretsOnMain'] === 0 ? 0 : 1
}
