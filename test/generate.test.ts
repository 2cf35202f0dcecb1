/** The generated files are what the code says: a change of a table without `npm run generate` fails here. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { documents, outdated } from '../scripts/generate.ts'
import { repositoryRoot } from '../scripts/root.ts'
import { flows } from '../src/domain/flows.ts'
import { errorTable } from '../src/errors.ts'
import { playbooks } from '../src/recovery/ladder.ts'
import { openTestDb } from './support/test-db.ts'

let files = new Map<string, string>()
const empty = mkdtempSync(join(tmpdir(), 'unstuck-generate-'))

beforeAll(async () => {
  const db = await openTestDb()
  files = await documents(db)
  await db.close()
})
afterAll(() => rmSync(empty, { recursive: true, force: true }))

it('every generated file is up to date', () => {
  expect(outdated(repositoryRoot, files), 'run "npm run generate"').toEqual([])
})

it('a missing or changed file is named', () => {
  expect(outdated(empty, files)).toEqual([...files.keys()])
  writeFileSync(join(empty, 'states.md'), 'old')
  expect(outdated(empty, new Map([['states.md', 'new']]))).toEqual(['states.md'])
  expect(outdated(empty, new Map([['states.md', 'old']]))).toEqual([])
})

it('the pages name every move, error and playbook', () => {
  const page = (path: string): string => files.get(path) ?? ''
  for (const flow of flows) for (const row of flow.rows) expect(page('docs/states.md')).toContain(`\`${row.trigger}\``)
  for (const code of Object.keys(errorTable)) expect(page('docs/errors.md')).toContain(`\`${code}\``)
  for (const { id } of playbooks) expect(page('docs/recovery.md')).toContain(`\n### ${id}\n`)
  expect(page('docs/recovery.md')).toContain('`RELAUNCH_WITH_ADD_DIR` (addDir the directory, resume true)')
})

it('the pages can be read as plain text of 100 columns', () => {
  const wide = ['recovery', 'config', 'events', 'api', 'harnesses'].flatMap((name) =>
    (files.get(`docs/${name}.md`) ?? '')
      .split('\n')
      // A row of a table, and a pattern or command that is one word.
      .filter((line) => line.length > 100 && !/^\||^\s*`[^`]+`[.,;]?$/.test(line))
      .map((line) => `${name}: ${line}`),
  )
  expect(wide).toEqual([])
})

it('the schema read back has tables, checks, indexes and functions', () => {
  const text = files.get('src/store/schema.sql') ?? ''
  for (const piece of [
    'create table task (',
    'create view agent_view as',
    'task_goal_id_number_key UNIQUE (goal_id, number)',
    'CREATE UNIQUE INDEX run_one_running_per_task',
    'FUNCTION unstuck_now()',
    'number integer not null generated always as identity',
    'FOREIGN KEY (run_id) REFERENCES run(id)',
  ])
    expect(text).toContain(piece)
})
