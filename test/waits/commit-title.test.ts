/** Commits of Unstuck are titled as the repository titles its own, on the goal branch and on the branch where they land. */
import { execFileSync } from 'node:child_process'
import { afterEach, expect, test } from 'vitest'
import { openScene, type Scene } from '../recovery/scene.ts'

let scene: Scene
afterEach(() => scene.clear())

const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
    cwd: scene.root,
    encoding: 'utf8',
  }).trim()

test('conventional commits of people give conventional commits of tasks, one after the other', async () => {
  scene = await openScene({ agent: { driver: 'command', program: `put('made.txt', String(count('TOP/starts')))` } })
  const people = [
    'feat: read zones',
    'fix(parser): keep commas',
    'docs: say why',
    'chore!: drop Node 18',
    'test: zones',
  ]
  for (const title of people) git('commit', '-q', '--allow-empty', '-m', title)
  const commands = ['node check.js']
  const tasks = [
    { id: '1', title: 'Fix the date parser.', commands },
    { id: '2', title: 'Say more', commands, after: ['1'] },
  ]
  const goal = await scene.goal(tasks, { autoMerge: true })
  await scene.until(goal, 'done', 'awaiting_human')
  expect(git('log', '-2', '--format=%s', 'main').split('\n')).toEqual(['docs: say more', 'docs: fix the date parser'])
  expect(git('log', '-1', '--format=%(trailers:key=Unstuck-Task,valueonly)', 'main')).toBe(
    (await scene.task(goal, 2)).id,
  )
})
