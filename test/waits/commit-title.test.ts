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

test('rules for messages are obeyed, and the owner signs off where that is asked, also a revert', async () => {
  const files = {
    '.commitlintrc.yml': 'extends: "@commitlint/config-conventional"\nrules:\n  scope-empty: [2, never]\n',
    DCO: 'Developer Certificate of Origin',
  }
  const agent = { driver: 'command', program: `put('web/made.txt', 'made'); put('made.txt', 'made')` } as const
  scene = await openScene({ agent }, {}, { files })
  git('config', 'user.name', 'Ada Owner')
  git('config', 'user.email', 'ada@example.com')
  const title = 'API errors name their cause.'
  const instructions = 'Every error says what caused it. '.repeat(9)
  const goal = await scene.goal([{ title, instructions, commands: ['node check.js'] }], { autoMerge: true })
  await scene.until(goal, 'done', 'awaiting_human')
  expect(git('log', '-1', '--format=%s', 'main')).toBe('docs(web): api errors name their cause')
  const lines = git('log', '-1', '--format=%B', 'main').split('\n')
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100)
  const signedOff = (): string => git('log', '-1', '--format=%(trailers:key=Signed-off-by,valueonly)', 'main')
  expect(signedOff()).toBe('Ada Owner <ada@example.com>')
  const { id } = await scene.task(goal)
  expect(git('log', '-1', '--format=%(trailers:key=Unstuck-Task,valueonly)', 'main')).toBe(id)
  await scene.post(`/tasks/${id}/revert`)
  expect(git('log', '-1', '--format=%s', 'main')).toMatch(/^Revert "/)
  expect(signedOff()).toBe('Ada Owner <ada@example.com>')
})
