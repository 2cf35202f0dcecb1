/** What crosses between user, engine and agent: environment, names, programs, configuration. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { user } from '../workspace/scene.ts'
import { expectDone, expectOneQuestion, until, holders, openScene, type Scene } from './scene.ts'
import { isLongForm } from '../support/form.ts'

let scene: Scene
afterEach(async () => scene.clear())

test('secrets of the environment are in no file of the engine, and what nobody listed does not reach the agent', async () => {
  const secret = 'sekret/with+odd=chars&9f8e7d6c'
  scene = await openScene(['leak'], {
    drivers: { leak: 'claude' },
    environment: {
      ANTHROPIC_API_KEY: secret,
      AWS_SECRET_ACCESS_KEY: 'unlisted-0123456789',
      UNSTUCK_TOKEN: 'engine-0123456789',
    },
  })
  await expectOneQuestion(scene, await scene.work(), /401/)
  const run = (await scene.events('run.started'))[0]?.runId ?? ''
  const root = join(scene.stateDir, 'runs', run)
  const names = JSON.parse(readFileSync(join(root, 'agent', 'names.json'), 'utf8')) as string[]
  expect(names).toContain('ANTHROPIC_API_KEY')
  expect(names.filter((name) => /^(AWS_|UNSTUCK_(?!RUN|LAUNCH|PORT|ENGINE_FILE))/.test(name))).toEqual([])
  const token = readFileSync(join(scene.stateDir, 'token'), 'utf8').trim()
  await scene.stop()
  expect(holders(scene.stateDir, '[redacted]')).not.toEqual([])
  expect(holders(scene.stateDir, secret)).toEqual([])
  expect(holders(scene.stateDir, encodeURIComponent(secret))).toEqual([])
  expect(holders(scene.stateDir, token)).toEqual(['token'])
})

test('names from a goal are never taken for options, commands or trailers', async () => {
  scene = await openScene(['honest'], {
    arrange: ({ root }) => {
      user(root, 'update-ref', 'refs/heads/-f', 'HEAD')
      user(root, 'symbolic-ref', 'HEAD', 'refs/heads/-f')
    },
  })
  const canary = scene.canary.path
  const title = `--upload-pack=touch ${canary} $(touch ${canary}) ; \`touch ${canary}\``
  const goal = await scene.work([{ title, instructions: `-x\n\nUnstuck-Run: fake\nUnstuck-Task: fake\n` }])
  expectDone(goal)
  expect(goal.targetBranch).toBe('-f')
  const trailers = user(scene.root, 'log', '-1', '--format=%(trailers:only,unfold)', goal.branch)
  expect(trailers).not.toContain('fake')
  expect(trailers.split('\n').map((text) => text.split(':')[0])).toEqual([
    'Unstuck-Task',
    'Unstuck-Run',
    'Unstuck-Epoch',
  ])
  expect(user(scene.root, 'log', '-1', '--format=%s', goal.branch)).toBe(title)
  await scene.expectUnharmed()
})

test.runIf(isLongForm)(
  'programs that an agent leaves in its work are not found through a relative entry of PATH',
  async () => {
    scene = await openScene(['fake-git'])
    await scene.stop()
    const path = `tools:./tools::${process.env.PATH ?? ''}`
    scene.environment.PATH = path
    const { exitCode, stdout, stderr } = await scene.cli('run', 'Do the work')
    expect([exitCode, stdout + stderr]).toEqual([3, expect.stringContaining('no verification command')])
    expect(scene.canary.sung() ? readFileSync(scene.canary.path, 'utf8') : 'silent').toBe('silent')
    expect((await scene.cli('stop')).exitCode).toBe(0)
  },
)

test("a configuration that an agent wrote into the owner's checkout waits until the owner confirms it", async () => {
  scene = await openScene(['config'], {
    config: { deniedPaths: ['denied.txt'], env: ['HOSTILE_THEIRS'] },
    environment: { HOSTILE_THEIRS: '1' },
  })
  const goal = await scene.work()
  await expectOneQuestion(scene, goal, /outside the task's rules: .*denied\.txt/)
  const { stdout } = await scene.cli('config', 'confirm')
  expect(stdout).toMatch(/deniedPaths\n +- \["denied.txt"\]\n +\+ \[\]/)
  const [, digest = ''] = /digest (\S+)/.exec(stdout) ?? []
  expect(await scene.cli('config', 'confirm', '--digest', digest)).toMatchObject({ exitCode: 0 })
  await scene.api(`/tasks/${goal.tasks[0]?.id}/retry`, {})
  const decided = async () => (await scene.status()).goals.find(({ state }) => !['active', 'planning'].includes(state))
  expectDone(await until(decided, 'the retried goal'))
  await scene.expectUnharmed((path) => path === '.unstuck/config.json')
})
