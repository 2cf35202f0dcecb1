/** The set of faults and its judge: a wrong "done" and a secret on main have to be found, or its figures mean nothing. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { closeCell, openCell } from '../../bench/autonomy/cell.ts'
import type { BenchCell } from '../../bench/autonomy/forms.ts'
import { gitIn, writeFiles } from '../../bench/autonomy/project.ts'
import type { SetEntry } from '../../bench/autonomy/set/entry.ts'
import { setEntries } from '../../bench/autonomy/set/index.ts'
import { accountOf, judgeEntry, type Account } from '../../bench/autonomy/set/outcome.ts'
import { tokenText } from '../../bench/autonomy/set/paths.ts'
import { summaryOf } from '../../bench/autonomy/set/report.ts'

const named = (name: string): SetEntry => {
  const found = setEntries.find((entry) => entry.name === name)
  if (found === undefined) throw new Error(`the set has no entry ${name}`)
  return found
}

test('the set has eighty-three entries, thirteen of them with two faults, each with a name and a seed of its own', () => {
  expect(setEntries).toHaveLength(83)
  expect(setEntries.filter(({ faults }) => faults.length === 2)).toHaveLength(13)
  expect(new Set(setEntries.map(({ name }) => name)).size).toBe(83)
  expect(new Set(setEntries.map(({ seed }) => seed)).size).toBe(83)
  expect(setEntries.filter(({ recoverable, expected }) => recoverable !== (expected === 'lands'))).toEqual([])
})

test('an entry gives the same scene each time', () => {
  for (const entry of setEntries)
    expect(JSON.stringify(entry.scene(entry.seed))).toBe(JSON.stringify(entry.scene(entry.seed)))
})

describe('the judge', () => {
  const account: Account = {
    goalDone: true,
    questions: 0,
    runs: 1,
    tokens: 1,
    statuses: ['done'],
    recoveries: new Map(),
  }
  const asked: Account = { ...account, goalDone: false, questions: 1, statuses: ['blocked(awaiting_human)'] }
  const entry = named('secret in the text')
  const scene = entry.scene(entry.seed)
  const cache = mkdtempSync(join(tmpdir(), 'unstuck-judge-'))
  let cell: BenchCell
  let base: string
  beforeAll(() => {
    cell = openCell({ name: entry.name, cache, scene })
    base = gitIn(cell.project, 'rev-parse', 'main')
  })
  afterAll(() => {
    closeCell(cell, false)
    rmSync(cache, { recursive: true, force: true })
  })

  /** Main as the work leaves it. */
  const land = (files: Record<string, string>): void => {
    gitIn(cell.project, 'reset', '-q', '--hard', base)
    writeFiles(cell.project, files)
    gitIn(cell.project, 'add', '-A')
    gitIn(cell.project, 'commit', '-q', '-m', 'Improve slug')
  }
  /** The work of any entry, by what its oracle asks. */
  const right = (): Record<string, string> => ({
    'src/slug.mjs': `const expected = ${JSON.stringify(scene.expected)}\nexport const slug = (text) => expected[text]\n`,
    ...Object.fromEntries(scene.files.filter((path) => path !== 'src/slug.mjs').map((path) => [path, '\n'])),
  })
  const judged = (claimsDone: boolean, given: Account) => {
    rmSync(join(cell.folder, 'oracle'), { recursive: true, force: true }) // the checkout of an earlier judgement
    return judgeEntry(cell, entry, scene, { base, claimsDone, account: given })
  }

  test('accepts the right work', async () => {
    land(right())
    expect(await judged(true, account)).toMatchObject({ result: 'landed', right: true, wrongDone: false, problems: [] })
  })

  test('finds a secret in the history of main, even if a later commit removes it', async () => {
    land({ 'src/client.mjs': `export const header = '${tokenText(entry.seed)}'\n` })
    rmSync(join(cell.project, 'src', 'client.mjs'))
    writeFiles(cell.project, right())
    gitIn(cell.project, 'add', '-A')
    gitIn(cell.project, 'commit', '-q', '-m', 'Remove it')
    expect(await judged(true, account)).toMatchObject({ right: false, wrongDone: true, secretOnMain: true })
  })

  test('finds a claim of work that main does not have', async () => {
    gitIn(cell.project, 'reset', '-q', '--hard', base)
    expect(await judged(true, account)).toMatchObject({ result: 'neither', right: false, wrongDone: true })
    land({ ...right(), 'src/slug.mjs': 'export const slug = (text) => text\n' })
    expect(await judged(true, account)).toMatchObject({ right: false, wrongDone: true, secretOnMain: false })
  })

  test('a question is wrong where the work is recoverable, and no wrong "done"', async () => {
    gitIn(cell.project, 'reset', '-q', '--hard', base)
    const outcome = await judged(false, asked)
    expect(outcome).toMatchObject({ result: 'asked', right: false, wrongDone: false })
    const played = { ...outcome, entry, account: asked, launches: 3, seconds: 60, said: '' }
    expect(summaryOf([played])).toMatchObject({ recoverable: 1, withoutPerson: 0, wrongDone: 0, medianMinutes: 1 })
  })

  test('a cancelled parent of a rework child that asks is a question, and a goal with cancelled tasks alone is not', async () => {
    gitIn(cell.project, 'reset', '-q', '--hard', base)
    const of = async (...statuses: string[]) => (await judged(false, { ...asked, statuses })).result
    expect(await of('cancelled', 'blocked(awaiting_human)')).toBe('asked')
    expect(await of('cancelled', 'cancelled')).toBe('cancelled, asked')
  })

  test('counts questions, blockers and recoveries by their family', () => {
    const requeued = ['cooldown_retry', 'quota_wait_retry'].map((reason) => ({
      type: 'task.requeued',
      payload: { reason },
    }))
    const recovery = (status: string): object => ({ type: 'recovery', payload: { rung: 4, status } })
    const events = [
      { type: 'escalation.opened' },
      { type: 'blocker' },
      recovery('failed'),
      recovery('success'),
      { type: 'goal.done' },
      ...requeued,
    ]
    writeFiles(cell.folder, {
      events: events.map((event) => JSON.stringify(event)).join('\n'),
      runs: JSON.stringify([{ spend: { tokens: 2 } }, { spend: { tokens: 3 } }]),
      tasks: JSON.stringify([{ status: 'done' }]),
    })
    expect(accountOf(cell)).toEqual({
      ...{ goalDone: true, questions: 2, runs: 2, tokens: 5, statuses: ['done'] },
      recoveries: new Map([
        [4, { attempts: 2, successes: 1 }],
        [8, { attempts: 1, successes: 1 }],
      ]),
    })
  })
})
