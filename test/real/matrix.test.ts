/**
 * The matrix of harness and fault, played again: each cell ends as test/fixture/matrix.json says. CI plays those cells of
 * Claude and Codex that no other test of this folder has; by hand, `MATRIX=claude,codex,gemini,opencode,acp` plays every cell of
 * these, and `MATRIX_RECORD=1` beside it writes what happened instead of comparing (docs/harnesses.md comes from it by
 * `npm run generate`).
 */
import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { matrixFile, readMatrix, type MatrixCell } from '../../scripts/harnesses-page.ts'
import { cliVersions } from '../../scripts/install-clis.ts'
import { cliOf, faults, playCell, type Player } from './matrix.ts'

const { MATRIX, MATRIX_RECORD } = process.env
const clis = (MATRIX ?? 'claude,codex').split(',') as Player[]
const recording = MATRIX_RECORD !== undefined
const matrix = readMatrix()

const short = new Set(['overflow', 'doom-loop'])
const played = faults.filter(({ id }) => MATRIX !== undefined || short.has(id))

/** Written after each cell: a play by hand takes long and may be ended. Cells that were not played stay as they are. */
const record = (cli: Player, fault: string, cell: MatrixCell): void => {
  matrix.versions[cli] = cliVersions[cliOf(cli)]
  ;(matrix.cells[cli] ??= {})[fault] = cell
  writeFileSync(matrixFile, `${JSON.stringify(matrix, null, 2)}\n`)
}

test('the record has every fault, in this order', () => {
  if (recording) matrix.faults = faults.map(({ id, about }) => ({ id, about }))
  expect(matrix.faults).toEqual(faults.map(({ id, about }) => ({ id, about })))
})

describe.each(clis)('%s', (cli) => {
  test('is the version of the record', () => {
    expect(recording ? cliVersions[cliOf(cli)] : matrix.versions[cli]).toBe(cliVersions[cliOf(cli)])
  })

  test.concurrent.each(played.map((fault) => ({ name: fault.about, fault })))('$name', async ({ fault }) => {
    const { cell, detail } = await playCell(cli, fault)
    if (recording) record(cli, fault.id, cell)
    const { ending, by } = matrix.cells[cli]?.[fault.id] ?? {}
    expect({ ending: cell.ending, by: cell.by }, JSON.stringify(detail.events.slice(-5))).toEqual({ ending, by })
    expect(detail.left).toEqual([])
  })
})
