/** Direct mode: agents work in the folder itself, so nothing that a person reads speaks of a goal branch. */
import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { EventView, ExplainView, ReportView, StatusView } from '../../src/api/contract.ts'
import { goalLines, reportLines, createPaint, statusLines } from '../../src/cli/render.ts'
import { sentenceOf } from '../../src/runtime/people/event-sentences.ts'
import { openScene, type Scene } from '../recovery/scene.ts'

const entry = fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))
const branch = /goal branch|unstuck\/goal|to land it/

let scene: Scene
beforeAll(async () => {
  scene = await openScene({ maker: { driver: 'command', program: `put('made.txt', 'made')` } })
})
afterAll(async () => scene?.clear())

test('run --direct speaks of no goal branch, from its plan to its end', async () => {
  const { PATH, HOME } = process.env
  const env = { PATH, HOME, UNSTUCK_HOME: join(scene.top, 'home') }
  const cli = (...args: string[]): string =>
    execFileSync(process.execPath, [entry, ...args], { cwd: scene.root, env, encoding: 'utf8' })
  const plan = cli('run', '--direct', '--dry-run', 'Make made.txt')
  expect(plan).toContain('Works in this folder itself; no commit is made.')
  expect(plan).not.toMatch(branch)
  const goal = await scene.goal([{ harness: 'maker' }], { repoMode: 'direct' })
  const end = await scene.until(goal, 'done')
  const paint = createPaint(false)
  const { lines } = await scene.get<ExplainView>(`/explain/${goal}`)
  const shown = [
    ...(await scene.get<EventView[]>(`/events?goal=${goal}`)).map(sentenceOf),
    ...goalLines(paint, end, new Date().toISOString()),
    ...statusLines(paint, await scene.get<StatusView>('/status')),
    ...reportLines(paint, await scene.get<ReportView>('/report?since=2020-01-01T00:00:00Z')),
    ...lines.map(({ text }) => text),
  ].join('\n')
  expect(shown).toContain('every task is done')
  expect(shown).toContain('the work is in the folder')
  expect(shown).not.toMatch(branch)
  expect(readFileSync(join(scene.root, 'made.txt'), 'utf8')).toBe('made')
})

test('an inferred check decides in the folder as well', async () => {
  writeFileSync(join(scene.root, 'Makefile'), 'test:\n\ttest -f made.txt\n')
  rmSync(join(scene.root, 'made.txt'), { force: true })
  const goal = await scene.goal([{ harness: 'maker', commands: [] }], { repoMode: 'direct' })
  expect(await scene.until(goal, 'done', 'awaiting_human')).toMatchObject({
    state: 'done',
    tasks: [{ commands: ['make test'], commandSource: 'inferred' }],
  })
})
