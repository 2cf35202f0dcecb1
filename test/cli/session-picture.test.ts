/** README's recorded session shows what the commands print today. `node scripts/record-session.ts` records it again. */
import { mkdtempSync, readFileSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { repositoryRoot } from '../../scripts/root.ts'
import { playSession, type PlayedCommand } from '../../scripts/session/play.ts'
import { sessionSvg } from '../../scripts/session/svg.ts'
import { removeFolder } from '../../src/workspace/remove-folder.ts'
import { prepareEngineHome } from '../support/engine-home.ts'

const recorded = readFileSync(join(repositoryRoot, 'docs/images/session.svg'), 'utf8')
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-session-')))
let played: PlayedCommand[] = []

beforeAll(async () => {
  const home = join(folder, 'state')
  prepareEngineHome(home)
  played = await playSession(folder, home)
})
afterAll(() => removeFolder(folder))

const rowsOf = (svg: string): string[] =>
  [...svg.matchAll(/<text[^>]*>(.*)<\/text>/g)].map(([, row = '']) => row.replaceAll(/<[^>]+>/g, ''))

/** What stands where on a row, without its words: a time, a task, ids, a commit, a sign. */
const formOf = (row: string): string =>
  [
    /^\$ .*/.exec(row)?.[0],
    // What follows the landing may still be under way when the command returns, so only rows of the task count.
    /^\d\d:\d\d:\d\d task \d+:/.test(row) ? 'time and task' : undefined,
    /^\s+\d+\. done/.test(row) ? 'done' : undefined,
    ...Object.entries({
      goal: /\[g-\w{8}\]/,
      task: /\[t-\w{8}\]/,
      commit: /\b[\da-f]{12}\b/,
      helped: /^ {2}✓ /,
      landed: /^ {2}\+ /,
    })
      .filter(([, pattern]) => pattern.test(row))
      .map(([name]) => name),
  ]
    .filter((part) => part !== undefined)
    .join(' ')

const formsOf = (svg: string): string[] => [...new Set(rowsOf(svg).map(formOf))].toSorted()

test('the session ends well after two recoveries', () => {
  expect(played.map(({ status }) => status)).toEqual([0, 0])
  const report = stripVTControlCharacters(played[1]?.output ?? '')
  expect(report.match(/^ {2}✓ /gm)).toHaveLength(2)
})

test('the picture has the form of what is printed', () => {
  expect(formsOf(recorded), 'run "node scripts/record-session.ts"').toEqual(formsOf(sessionSvg(played)))
  expect(formsOf(recorded)).toContain('time and task')
})

test('the picture is static and names no folder of the machine that recorded it', () => {
  expect(recorded).not.toMatch(/<script|<image|<a |\bon\w+=|https?:\/\/(?!www\.w3\.org\/2000\/svg")/)
  expect(recorded).not.toContain(tmpdir())
})
