/** A repository whose stacks are in folders: their checks are found, and run where they are, with the packages that they need. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

let scene: Scene
afterEach(() => scene?.clear())

const manifest = { name: 'web', version: '1.0.0', dependencies: { tiny: 'file:tiny' } }
const packages = {
  '': manifest,
  'node_modules/tiny': { resolved: 'tiny', link: true },
  tiny: { name: 'tiny', version: '1.0.0' },
}

const files = {
  '.gitignore': 'node_modules/\n',
  'web/package.json': JSON.stringify({ ...manifest, scripts: { test: 'node test.js' } }),
  'web/package-lock.json': JSON.stringify({ ...manifest, lockfileVersion: 3, requires: true, packages }),
  'web/tiny/package.json': '{"name":"tiny","version":"1.0.0"}',
  'web/tiny/index.js': '',
  'web/test.js': "require('tiny'); process.exit(require('fs').existsSync('made.txt') ? 0 : 1)",
  'services/api/Makefile': 'test:\n\tcp made.txt TOP/api-saw\n',
}

/** It makes what both checks look at, and notes whether the packages were there. */
const agent: FaultAgent = {
  driver: 'claude',
  program: `begin()
    put('TOP/saw', String(existsSync('web/node_modules/tiny/index.js')))
    put('web/made.txt', 'made ' + process.pid)
    if (args.join(' ').includes('both')) put('services/api/made.txt', 'made ' + process.pid)
    end()`,
}

test('checks of the folders below are run where no check is at the top, and only those that the task can touch', async () => {
  scene = await openScene({ agent }, {}, { files })
  const both = await scene.goal([{ commands: [], instructions: 'Do both.' }])
  await scene.until(both, 'ready', 'awaiting_human')
  const { commands, place } = await scene.task(both)
  expect([place, commands]).toEqual(['done', ['cd web && npm test', 'cd services/api && make test']])
  expect(readFileSync(join(scene.top, 'saw'), 'utf8')).toBe('true')
  expect(existsSync(join(scene.top, 'api-saw'))).toBe(true)
  const one = await scene.goal([{ commands: [], allowedPaths: ['web/**'] }])
  await scene.until(one, 'ready', 'awaiting_human')
  expect([(await scene.task(one)).place, (await scene.task(one)).commands]).toEqual(['done', ['cd web && npm test']])
  expect(await scene.recoveries(both)).toEqual([])
})
