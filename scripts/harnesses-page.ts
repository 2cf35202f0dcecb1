/** docs/harnesses.md: how each CLI ended with each fault, from the record that test/real/matrix.test.ts writes and checks. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { cliVersions } from './install-clis.ts'
import { code, facts, generatedPage, table, wrap } from './markdown.ts'

export interface MatrixCell {
  ending: string
  /** The recoveries, or the kind of question; each once. */
  by: string[]
  runs: number
  launches: number
  /** First half of the SHA-256 of the CLI's output in all launches. */
  transcript: string
  /** Ids of the events that show the ending. */
  events: number[]
}

export interface Matrix {
  faults: { id: string; about: string }[]
  versions: Record<string, string>
  cells: Record<string, Record<string, MatrixCell>>
}

export const matrixFile = fileURLToPath(new URL('../test/fixture/matrix.json', import.meta.url))

export const readMatrix = (): Matrix => JSON.parse(readFileSync(matrixFile, 'utf8')) as Matrix

const short = (cell: MatrixCell | undefined): string =>
  cell === undefined
    ? 'untested'
    : [cell.ending, ...(cell.by.length === 0 ? [] : [cell.by.map(code).join(', ')])].join(': ')

const evidence = ({ runs, launches, transcript, events }: MatrixCell): string[] => [
  String(runs),
  String(launches),
  code(transcript),
  events.join(', '),
]

export const harnessesPage = (): string => {
  const { faults, versions, cells } = readMatrix()
  const names = [...Object.keys(cliVersions), 'acp'].filter((name) => versions[name] !== undefined)
  const sections = faults.flatMap(({ id, about }) => [
    `### ${about}`,
    facts(names.map((name) => [name, short(cells[name]?.[id])])),
  ])
  const proofs = names.flatMap((name) =>
    faults.flatMap(({ id, about }) => {
      const cell = cells[name]?.[id]
      return cell === undefined ? [] : [[name, about, ...evidence(cell)]]
    }),
  )
  return generatedPage(
    'Harnesses and faults',
    [
      wrap(
        'Each line below a fault is one task of a real CLI, run by the engine against the scripted model server of `unstuck sim` with that fault. `acp` is an agent of the Agent Client Protocol: `gemini --acp`. `done`: no recovery was needed. `recovered`: the task was done after the named recovery. `waits`: the task is parked until the time that the provider stated, without a question. `asks`: one question, while other work continues. Time limits were short (20 s of silence, 1 to 5 s between retries). The record is `test/fixture/matrix.json`. CI repeats cells of Claude and Codex; `MATRIX=gemini,opencode,acp npx vitest run --project heavy test/real/matrix.test.ts` repeats others by hand.',
      ),
      wrap(`Tried with ${names.map((name) => `${name} ${versions[name]}`).join(', ')}.`),
      '## Faults',
      ...sections,
      '## Evidence',
      wrap(
        'The number of runs and launches of each task, a hash of the output of the CLI, and the ids of the events in the store. The output contains paths and ids, so the hash differs each time.',
      ),
      table(['harness', 'fault', 'runs', 'launches', 'transcript', 'events'], proofs),
    ].join('\n\n'),
  )
}
