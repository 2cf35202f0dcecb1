/** Broken trees whose repair is known: the agent proposes nothing, and the diagnosis writes the proposal itself. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

const agent: FaultAgent = { driver: 'command', program: `count('TOP/launches'); put('work.txt', 'made')` }

let scene: Scene
afterEach(() => scene.clear())

const build = (out: string): string =>
  `require('node:fs').mkdirSync('${out}', { recursive: true }); require('node:fs').writeFileSync('${out}/made.js', 'module.exports = 1')`

const manifest = (scripts: object, dependencies: object = {}): string =>
  JSON.stringify({ name: 'app', version: '1.0.0', scripts, dependencies })

const lock = (dependencies?: object): string =>
  JSON.stringify({
    ...{ name: 'app', version: '1.0.0', lockfileVersion: 3, requires: true },
    packages: {
      '': { name: 'app', version: '1.0.0', ...(dependencies === undefined ? {} : { dependencies }) },
      ...(dependencies === undefined
        ? {}
        : { 'node_modules/tiny': { resolved: 'dep', link: true }, dep: { name: 'tiny', version: '1.0.0' } }),
    },
  })

const ignored = { '.gitignore': 'node_modules\ndist\n.next\n' }
const tiny = { 'dep/package.json': '{"name":"tiny","version":"1.0.0"}', 'dep/index.js': 'module.exports = 1' }

interface Broken {
  files: Record<string, string>
  check: string
  repair: string
}

const trees: Record<string, Broken> = {
  'ENOENT.*dist: the file that a build makes is not there': {
    files: {
      'package.json': manifest({ build: 'node build.js' }),
      'package-lock.json': lock(),
      'build.js': build('dist'),
      'check.js': "require('node:fs').readFileSync('dist/made.js')",
    },
    check: 'node check.js',
    repair: 'npm run build',
  },
  'a module in dist is not there': {
    files: {
      'package.json': manifest({ build: 'node build.js' }),
      'package-lock.json': lock(),
      'build.js': build('dist'),
      'check.js': "require('./dist/made.js')",
    },
    check: 'node check.js',
    repair: 'npm run build',
  },
  'the same in a folder of its own': {
    files: {
      'packages/app/package.json': manifest({ build: 'node build.js' }),
      'packages/app/package-lock.json': lock(),
      'packages/app/build.js': build('dist'),
      'packages/app/check.js': "require('./dist/made.js')",
    },
    check: 'cd packages/app && node check.js',
    repair: 'npm run build',
  },
  'Cannot find.*\\.next: the output of the last build is not there': {
    files: {
      'package.json': manifest({ build: 'node build.js' }),
      'package-lock.json': lock(),
      'build.js': build('.next'),
      'check.js': "require('./.next/made.js')",
    },
    check: 'node check.js',
    repair: 'rm -rf .next && npm run build',
  },
  'Cannot find module: the lockfile is older than the manifest, so the install from it has no effect': {
    files: {
      'package.json': manifest({}, { tiny: 'file:dep' }),
      'package-lock.json': lock(),
      ...tiny,
      'check.js': "process.exit(require('tiny') === 1 ? 0 : 1)",
    },
    check: 'node check.js',
    repair: 'npm install',
  },
}

const open = (files: Broken['files'], recovery: object, config: object = {}) =>
  openScene({ agent }, { recovery, ...config }, { files: { ...ignored, ...files } })

const goalOf = (check: string) =>
  scene.goal([{ title: 'Work', instructions: 'Make work.txt.', commands: [check], allowedPaths: ['work.txt'] }])

test.each(Object.entries(trees))('%s', async (_, { files, check, repair }) => {
  scene = await open(files, { auto_approve: [repair] })
  const goal = await goalOf(check)
  await scene.waitFor('the task is done', async () => (await scene.task(goal)).status === 'done' || undefined)
  const [proposed] = await scene.events(goal, 'recovery_proposed')
  expect(proposed?.payload).toEqual({ category: 'dependency', command: repair, confidence: 'high' })
  expect(await scene.events(goal, 'recovery_executed')).toHaveLength(1)
  expect(await scene.events(goal, 'recovery_failed')).toEqual([])
  expect((await scene.runs(goal)).flatMap(({ launches }) => launches)).toHaveLength(1)
  expect(existsSync(join(scene.root, 'node_modules'))).toBe(false)
})

test('a repair that the owner did not list is proposed to a person when nothing else is left', async () => {
  const { files, check, repair } = trees['a module in dist is not there'] as Broken
  scene = await open(files, {}, { playbooks: { disabled: ['check-feedback', 'fresh-feedback'] } })
  const goal = await goalOf(check)
  const asked = await scene.waitFor('the question', async () =>
    (await scene.questions()).find(({ kind }) => kind === 'recovery_approval_required'),
  )
  expect(asked.question).toContain(repair)
  await scene.post(`/escalations/${asked.id}/answer`, { choice: 'approve', by: 'me' })
  await scene.waitFor('the task is done', async () => (await scene.task(goal)).status === 'done' || undefined)
})
