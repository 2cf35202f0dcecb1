/**
 * The appendix of the recovery format on really broken trees: the agent proposes nothing, and the diagnosis writes the proposal itself, or none.
 * Each tree is a folder of one repository, with packages of that folder alone, so no registry is asked.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

const agent: FaultAgent = {
  driver: 'command',
  program: `
const prompt = args.join(' ') + readFileSync(0, 'utf8')
const folder = /FOLDER-(\\w+)/.exec(prompt)?.[1] ?? '.'
put(folder + '/work.txt', 'made ' + count('TOP/launches-' + folder))`,
}

const build = (out: string): string =>
  `require('node:fs').mkdirSync('${out}', { recursive: true }); require('node:fs').writeFileSync('${out}/made.js', 'module.exports = 1')`

const manifest = (scripts: object, dependencies: object = {}): string =>
  JSON.stringify({ name: 'app', version: '1.0.0', scripts, dependencies })

/** `links`: the packages by their folder, as the lockfile has them. */
const lock = (links: Record<string, string> = {}): string =>
  JSON.stringify({
    ...{ name: 'app', version: '1.0.0', lockfileVersion: 3, requires: true },
    packages: {
      '': {
        ...{ name: 'app', version: '1.0.0' },
        dependencies: Object.fromEntries(Object.entries(links).map(([name, at]) => [name, `file:${at}`])),
      },
      ...Object.fromEntries(
        Object.entries(links).flatMap(([name, at]) => [
          [`node_modules/${name}`, { resolved: at, link: true }],
          [at, { name, version: '1.0.0' }],
        ]),
      ),
    },
  })

const pkg = (name: string, version = '1.0.0', more: object = {}): string => JSON.stringify({ name, version, ...more })

const ignored = { '.gitignore': 'node_modules\ndist\n.next\n' }
const tiny = { 'dep/package.json': pkg('tiny'), 'dep/index.js': 'module.exports = 1' }
const needsTiny = "process.exit(require('tiny') === 1 ? 0 : 1)"

interface Broken {
  folder: string
  files: Record<string, string>
  check: string
  repair: string
  /** The repair changes the lockfile of the work, which the check needs. */
  locks?: true
}

const built = (out: string) => ({
  ...{ 'package.json': manifest({ build: 'node build.js' }), 'package-lock.json': lock(), 'build.js': build(out) },
})

const trees: Record<string, Broken> = {
  'ENOENT.*dist: the file that a build makes is not there': {
    folder: 'output',
    files: { ...built('dist'), 'check.js': "require('node:fs').readFileSync('dist/made.js')" },
    ...{ check: 'node check.js', repair: 'npm run build' },
  },
  'a module in dist is not there': {
    folder: 'module',
    files: { ...built('dist'), 'check.js': "require('./dist/made.js')" },
    ...{ check: 'node check.js', repair: 'npm run build' },
  },
  'Cannot find.*\\.next: the output of the last build is not there': {
    folder: 'next',
    files: { ...built('.next'), 'check.js': "require('./.next/made.js')" },
    ...{ check: 'node check.js', repair: 'rm -rf .next && npm run build' },
  },
  'Cannot find module: the lockfile is older than the manifest, so the install from it has no effect': {
    folder: 'missing',
    files: {
      ...{ 'package.json': manifest({}, { tiny: 'file:dep' }), 'package-lock.json': lock(), ...tiny },
      'check.js': needsTiny,
    },
    ...{ check: 'node check.js', repair: 'npm install' },
  },
  'version mismatch: the lockfile holds a binary of another version than the host': {
    folder: 'mismatch',
    files: {
      'package.json': manifest({}, { binary: 'file:new' }),
      'package-lock.json': lock({ binary: 'old' }),
      'old/package.json': pkg('binary', '0.21.5'),
      'new/package.json': pkg('binary', '0.27.2'),
      'check.js': `let found = '0.21.5'
try { found = require('binary/package.json').version } catch {}
if (found !== '0.27.2') throw new Error('Cannot start service: Host version "0.27.2" does not match binary version "' + found + '"')`,
    },
    ...{ check: 'node check.js', repair: 'rm -rf node_modules && npm install' },
  },
  'lockfile out of sync: the check installs from it': {
    folder: 'sync',
    files: {
      ...{ 'package.json': manifest({}, { tiny: 'file:dep' }), 'package-lock.json': lock(), ...tiny },
      'check.js': needsTiny,
    },
    ...{ check: 'npm ci --offline && node check.js', repair: 'npm install', locks: true },
  },
  'ERESOLVE: the versions in the manifest contradict each other': {
    folder: 'eresolve',
    files: {
      'package.json': manifest({}, { tiny: 'file:dep', peer: 'file:peer' }),
      '.npmrc': 'strict-peer-deps=true\noffline=true\n',
      'peer/package.json': pkg('peer', '1.0.0', { peerDependencies: { tiny: 'file:../other' } }),
      'other/package.json': pkg('tiny', '2.0.0'),
      ...tiny,
      'check.js': `const { existsSync } = require('node:fs')
if (!existsSync('node_modules/tiny'))
  process.exit(require('node:child_process').spawnSync('npm', ['install', '--no-package-lock'], { stdio: 'inherit' }).status)
${needsTiny}`,
    },
    ...{ check: 'node check.js', repair: 'npm install --legacy-peer-deps' },
  },
}

/** What no command repairs. `says`: what the person reads. */
const beyond: Record<string, { folder: string; script: string; says: RegExp }> = {
  'tsc.*error TS: an error in the code': {
    folder: 'tsc',
    script: `const { spawnSync } = require('node:child_process')
require('node:fs').writeFileSync('a.ts', 'const a: number = "text"')
process.exit(spawnSync('${process.execPath}', ['${join(import.meta.dirname, '../../node_modules/typescript/bin/tsc')}', '--noEmit', 'a.ts'], { stdio: 'inherit' }).status)`,
    says: /TS2322/,
  },
  'EACCES: a file that nobody may write': {
    folder: 'eacces',
    script: "require('node:fs').writeFileSync('/proc/sys/kernel/ostype', 'x')",
    says: /EACCES/,
  },
  'ENOSPC: a device without space': {
    folder: 'enospc',
    script: "require('node:fs').writeFileSync('/dev/full', 'x')",
    says: /ENOSPC/,
  },
  'ENOMEM: more memory than there is': {
    folder: 'enomem',
    script: `const { spawnSync } = require('node:child_process')
const program = 'const all = []; for (;;) all.push(new Array(1e5).fill({}))'
process.exit(spawnSync('${process.execPath}', ['--max-old-space-size=16', '-e', program], { stdio: 'inherit' }).status ?? 1)`,
    says: /memory/,
  },
}

const inFolders = (each: readonly { folder: string; files: Record<string, string> }[]): Record<string, string> =>
  Object.fromEntries(
    each.flatMap(({ folder, files }) => Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text])),
  )

describe('broken trees', () => {
  let scene: Scene
  const goals = new Map<string, string>()
  beforeAll(async () => {
    const rest = Object.values(beyond).map(({ folder, script }) => ({ folder, files: { 'check.js': script } }))
    const repairs = [...new Set(Object.values(trees).map(({ repair }) => repair))]
    scene = await openScene(
      { agent },
      {
        ...{ maxParallel: 4, recovery: { auto_approve: repairs, cooldown_seconds: 0 } },
        playbooks: { disabled: ['check-feedback', 'fresh-feedback'] },
      },
      { files: { ...ignored, ...inFolders([...Object.values(trees), ...rest]) } },
    )
    const all = [...Object.values(trees), ...Object.values(beyond)]
    for (const { folder, ...given } of all) {
      const { check = 'node check.js', locks = false } = given as Partial<Broken>
      const task = { title: 'Work', instructions: `FOLDER-${folder}`, commands: [`cd ${folder} && ${check}`] }
      const allowedPaths = [`${folder}/work.txt`, ...(locks ? [`${folder}/package-lock.json`] : [])]
      goals.set(folder, await scene.goal([{ ...task, allowedPaths }]))
    }
  })
  afterAll(() => scene.clear())

  test.each(Object.entries(trees))('%s', async (_, { folder, repair }) => {
    const goal = goals.get(folder) ?? ''
    await scene.waitFor('the task is done', async () => (await scene.task(goal)).status === 'done' || undefined)
    const [proposed] = await scene.events(goal, 'recovery_proposed')
    expect(proposed?.payload).toMatchObject({ category: 'dependency', command: repair })
    expect(await scene.events(goal, 'recovery_executed')).toHaveLength(1)
    expect(await scene.events(goal, 'recovery_failed')).toEqual([])
    expect((await scene.runs(goal)).flatMap(({ launches }) => launches)).toHaveLength(1)
    expect(existsSync(join(scene.root, folder, 'node_modules'))).toBe(false)
  })

  test.each(Object.entries(beyond))(
    '%s: no command is proposed, and a person is asked',
    async (_, { folder, says }) => {
      const goal = goals.get(folder) ?? ''
      const asked = await scene.waitFor('the question', async () =>
        (await scene.questions()).find(({ goalId }) => goalId === goal),
      )
      expect(`${asked.happened}\n${asked.details}`).toMatch(says)
      expect(await scene.events(goal, 'recovery_proposed')).toEqual([])
    },
  )
})

describe('a repair that the owner did not list', () => {
  let scene: Scene
  afterEach(() => scene.clear())

  test('is proposed to a person when nothing else is left', async () => {
    const { files, check, repair } = trees['a module in dist is not there'] as Broken
    scene = await openScene(
      { agent },
      { recovery: {}, playbooks: { disabled: ['check-feedback', 'fresh-feedback'] } },
      { files: { ...ignored, ...files } },
    )
    const goal = await scene.goal([
      { title: 'Work', instructions: 'Work', commands: [check], allowedPaths: ['work.txt'] },
    ])
    const asked = await scene.waitFor('the question', async () =>
      (await scene.questions()).find(({ kind }) => kind === 'recovery_approval_required'),
    )
    expect(asked.question).toContain(repair)
    await scene.post(`/escalations/${asked.id}/answer`, { choice: 'approve', by: 'me' })
    await scene.waitFor('the task is done', async () => (await scene.task(goal)).status === 'done' || undefined)
  })
})
