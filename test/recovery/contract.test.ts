/** The verify contract through the whole engine: the owner's copy counts, and no agent's. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openScene, type Scene } from './scene.ts'

const contract = {
  commands: ['node always.js'],
  byRole: { tester: ['node tester.js'] },
  rules: [{ whenChangedAny: ['web/**'], commands: ['node web.js'] }],
}

const passing = 'process.exit(0)'
const files = {
  'package.json': '{"scripts":{"test":"node check.js"}}',
  'always.js': passing,
  'tester.js': passing,
  'web.js': passing,
  '.unstuck/verify.contract.json': '{}',
}

let scene: Scene
beforeAll(async () => {
  scene = await openScene(
    {
      plain: { driver: 'claude', program: `begin(); put('made.txt', 'made'); end()` },
      web: { driver: 'claude', program: `begin(); put('made.txt', 'made'); put('web/a.js', '1'); end()` },
      // Fails the check and writes a contract of its own in its clone.
      wilful: {
        driver: 'claude',
        program: `begin(); put('always.js', 'process.exit(1)'); put('.unstuck/verify.contract.json', '{"commands":["node web.js"]}'); end()`,
      },
    },
    {},
    { files },
  )
  // Not committed: what the owner wrote counts as it stands.
  writeFileSync(join(scene.root, '.unstuck', 'verify.contract.json'), JSON.stringify(contract))
})
afterAll(async () => scene.clear())

const checksOf = async (task: Parameters<Scene['goal']>[0][number], ...states: string[]) => {
  const goal = await scene.goal([task])
  await scene.until(goal, ...states)
  const run = (await scene.runs(goal)).at(-1)
  return run?.verdict?.checks.map(({ command, source, exitCode }) => [command, source, exitCode])
}

test('its checks run after those of the task', async () => {
  const checks = await checksOf({ harness: 'plain' }, 'ready', 'awaiting_human')
  expect(checks).toEqual([
    ['node check.js', 'task', 0],
    ['node always.js', 'contract', 0],
  ])
})

test('its checks by role and by changed path run, and nothing is inferred then', async () => {
  const checks = await checksOf({ harness: 'web', role: 'tester', commands: [] }, 'ready', 'awaiting_human')
  expect(checks).toEqual([
    ['node always.js', 'contract', 0],
    ['node tester.js', 'contract', 0],
    ['node web.js', 'contract', 0],
  ])
})

test('an agent that writes a contract changes nothing about its checks', async () => {
  const checks = await checksOf({ harness: 'wilful', commands: [] }, 'ready', 'awaiting_human')
  expect(checks).toEqual([['node always.js', 'contract', 1]])
})

test('a broken contract is reported before a goal begins, with the location', async () => {
  const path = join(scene.root, '.unstuck', 'verify.contract.json')
  writeFileSync(path, '{"comands": []}')
  await expect(scene.goal([{ harness: 'plain' }])).rejects.toThrow(/verify\.contract\.json: unknown key comands/)
  // A file that is gone keeps its settings for a while; an empty one asks for nothing at once.
  writeFileSync(path, '{}')
  const checks = await checksOf({ harness: 'plain', commands: [] }, 'ready', 'awaiting_human')
  expect(checks).toEqual([['npm test', 'inferred', 0]])
})
