/** A test that failed on the base commit by chance, in the one run that was made there, would excuse the work that broke it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openScene, type Scene } from '../recovery/scene.ts'

/** Without the work it fails once; with bad work always. */
const counts = `const { test } = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const made = fs.existsSync('made.dat') ? fs.readFileSync('made.dat', 'utf8') : undefined
const unlucky = made === undefined && !fs.existsSync('TOP/unlucky')
if (unlucky) fs.writeFileSync('TOP/unlucky', '')
test('counts', () => assert.ok(!unlucky && made !== 'bad'))
test('adds', () => assert.ok(true))`

let scene: Scene

beforeAll(async () => {
  scene = await openScene(
    {
      agent: {
        driver: 'claude',
        program: `begin(); put('made.dat', count('TOP/starts') === 1 ? 'bad' : 'good'); end()`,
      },
    },
    {},
    { files: { 'package.json': '{"scripts":{"test":"node --test"}}', 'counts.test.js': counts } },
  )
})
afterAll(() => scene.clear())

test('its base commit is asked twice, the failure goes back to the agent, and only the corrected work lands', async () => {
  const goal = await scene.goal([{ commands: [] }])
  await scene.until(goal, 'ready', 'awaiting_human')
  expect(await scene.task(goal)).toMatchObject({ status: 'done' })
  const baselines = await scene.events(goal, 'verify.baseline')
  expect(baselines.map(({ payload }) => [payload['blocks'], payload['failing']])).toEqual([[true, ['counts']]])
  // Not as a failure that was there before, which an agent may leave as it is.
  expect(await scene.recoveries(goal)).toMatchObject([{ playbook: 'check-feedback', status: 'success' }])
  expect([readFileSync(join(scene.top, 'starts'), 'utf8'), scene.show('made.dat', goal)]).toEqual(['2', 'good'])
})
