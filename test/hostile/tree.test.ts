/** Agents that leave a tree, or a workspace, that is hard to look at: files that are none, names that collide, folders that cannot be entered. */
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { GoalRequest, GoalView } from '../../src/api/contract.ts'
import { user } from '../workspace/scene.ts'
import { expectDone, expectOneQuestion, filesAt, openScene, type Scene } from './scene.ts'

const agents =
  `attributes npmrc linked-check linked-elsewhere case-collision submodule many-files locked-folders special-files
  index-lock workspace-link`.split(/\s+/)

const check =
  "import { readFileSync } from 'node:fs'\nif (!readFileSync('src/work.txt', 'utf8').includes('done')) process.exit(1)\n"

let scene: Scene
beforeAll(async () => {
  const manifest = JSON.stringify({ name: 'p', version: '1.0.0', scripts: { test: 'node check.mjs' } })
  scene = await openScene(agents, {
    files: { 'package.json': manifest, 'tools/real.mjs': check },
    ignored: ['node_modules/', 'ignored/'],
    arrange: ({ root }) => {
      symlinkSync('tools/real.mjs', join(root, 'linked.mjs'))
      user(root, 'add', 'linked.mjs')
      user(root, 'commit', '--quiet', '-m', 'link', '--', 'linked.mjs')
    },
  })
})
beforeEach(async () => scene.begin())
afterAll(async () => scene.clear())

const work = (harness: string, task: Partial<GoalRequest['input']['tasks'][number]> = {}): Promise<GoalView> =>
  scene.work([task], { harness })

const landed = (goal: GoalView): string => user(scene.root, 'show', `${goal.branch}:src/work.txt`)

test.each(['attributes', 'index-lock', 'locked-folders', 'special-files'])(
  'what %s leaves in its workspace keeps nothing from landing as it is',
  async (agent) => {
    const goal = await work(agent)
    expectDone(goal)
    expect(landed(goal)).toBe('done')
    const files = filesAt(scene.root, goal.branch)
    expect(files.filter((path) => /pipe|socket|lock$|ignored/.test(path))).toEqual([])
    expect(files.includes('closed/deep/file.txt')).toBe(agent === 'locked-folders')
    await scene.expectUnharmed()
  },
)

test('2,000 files and one of 40 MB land, and the large one is named', async () => {
  const goal = await work('many-files')
  expectDone(goal)
  expect(filesAt(scene.root, goal.branch).filter((path) => path.startsWith('many/'))).toHaveLength(2_000)
  expect(user(scene.root, 'log', '-1', '--format=%b', goal.branch)).toContain('huge.bin is larger than 8 MiB')
  await scene.expectUnharmed()
})

test.each([
  ['npmrc', 'npm test', /\.npmrc \(1\): configuration of npm, added/],
  ['linked-check', 'node linked.mjs', /tools\/real\.mjs \(1\): a file that the check runs was changed/],
  ['linked-elsewhere', 'node linked.mjs', /linked\.mjs \(1\): a file that the check runs was changed/],
  ['case-collision', 'node check.mjs', /Check\.mjs \(1\): differs only in case from a file that the check runs/],
])('%s: what it made of the check is one question', async (agent, command, finding) => {
  await expectOneQuestion(scene, await work(agent, { commands: [command] }), finding)
  await scene.expectUnharmed()
})

test('a submodule of its own is one question, and its address starts nothing', async () => {
  await expectOneQuestion(scene, await work('submodule'), /nested_repository: sub/)
  await scene.expectUnharmed()
})

test('a link in place of the workspace is one question, and what it leads to is not touched', async () => {
  await expectOneQuestion(scene, await work('workspace-link'), /no longer exists or is not a folder/)
  await scene.expectUnharmed()
})
