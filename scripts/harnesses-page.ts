/** docs/harnesses.md: what each CLI ended in with each fault, from the record that test/real/matrix.test.ts writes and checks. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { cliVersions } from './install-clis.ts'
import { code, head, table } from './pages.ts'

export interface Cell {
  ending: string
  /** What was done by itself, or what kind of question was asked; each once. */
  by: string[]
  runs: number
  launches: number
  /** First half of the SHA-256 over what the CLI printed in all launches. */
  transcript: string
  /** Ids of the events that tell of it. */
  events: number[]
}

export interface Matrix {
  faults: { id: string; about: string }[]
  versions: Record<string, string>
  cells: Record<string, Record<string, Cell>>
}

export const matrixFile = fileURLToPath(new URL('../test/fixture/matrix.json', import.meta.url))

export const readMatrix = (): Matrix => JSON.parse(readFileSync(matrixFile, 'utf8')) as Matrix

const short = (cell: Cell | undefined): string =>
  cell === undefined
    ? 'untested'
    : [cell.ending, ...(cell.by.length === 0 ? [] : [cell.by.map(code).join(', ')])].join(': ')

const evidence = ({ runs, launches, transcript, events }: Cell): string[] => [
  String(runs),
  String(launches),
  code(transcript),
  events.join(', '),
]

export const harnessesPage = (): string => {
  const { faults, versions, cells } = readMatrix()
  const names = [...Object.keys(cliVersions), 'acp'].filter((name) => versions[name] !== undefined)
  const rows = faults.map(({ id, about }) => [about, ...names.map((name) => short(cells[name]?.[id]))])
  const proofs = names.flatMap((name) =>
    faults.flatMap(({ id, about }) => {
      const cell = cells[name]?.[id]
      return cell === undefined ? [] : [[name, about, ...evidence(cell)]]
    }),
  )
  return head(
    'Harnesses and faults',
    [
      'Each cell is one task that the real CLI worked on, through the command line and the engine, for the scripted model server of `unstuck sim` with that fault. `acp` is an agent of the Agent Client Protocol: `gemini --acp`. `done`: nothing had to be recovered. `recovered`: it ended done by what is named. `waits`: parked until the time that the provider stated, nobody is asked. `asks`: one question, and other work goes on. Clocks and waits were short (20 s of silence, 1 to 5 s between retries). The record is `test/fixture/matrix.json`; CI plays cells of Claude and Codex again, `MATRIX=gemini,opencode,acp npx vitest run --project heavy test/real/matrix.test.ts` plays others by hand.',
      table(['fault', ...names.map((name) => `${name} ${versions[name]}`)], rows),
      '## Where it stands',
      'Runs and launches that the cell took, the hash of what the CLI printed in them (paths and ids are in it, so another play gives another), and the ids of the events in the store of that play.',
      table(['harness', 'fault', 'runs', 'launches', 'transcript', 'events'], proofs),
    ].join('\n\n'),
  )
}
