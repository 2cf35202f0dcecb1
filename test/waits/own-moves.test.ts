/** What the user does with git in their own checkout while an agent works is not reported as the agent's doing. */
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openScene, type Scene } from '../recovery/scene.ts'

/** Works until the test has made its moves; then one pushes a branch into the user's repository, as no agent should. */
const until = `put('TOP/working', ''); while (!existsSync('TOP/moved')) await new Promise((resolve) => setTimeout(resolve, 20)); put('made.txt', 'made')`
const pushes = `${until}
const { execFileSync } = await import('node:child_process')
execFileSync('git', ['push', '-q', 'TOP/repo', 'HEAD:refs/heads/pushed'])`

let scene: Scene
beforeAll(async () => {
  scene = await openScene({ pushing: { driver: 'command', program: pushes } })
})
afterAll(async () => scene?.clear())

const user = (...args: string[]): void =>
  void execFileSync('git', ['-c', 'user.name=u', '-c', 'user.email=u@u', ...args], { cwd: scene.root, stdio: 'ignore' })

test("a checkout, a branch and commits of the user's own are left out; the branch that the agent pushed is named", async () => {
  const goal = await scene.goal([{ harness: 'pushing' }])
  await scene.waitFor('the agent works', async () => existsSync(join(scene.top, 'working')) || undefined)
  user('commit', '--allow-empty', '-m', 'Mine on main')
  user('checkout', '-b', 'mine')
  user('commit', '--allow-empty', '-m', 'Mine')
  writeFileSync(join(scene.top, 'moved'), '')
  await scene.until(goal, 'ready')
  const moved = await scene.events(goal, 'ref.moved')
  expect(moved.map(({ payload }) => payload)).toMatchObject([{ more: 0, refs: [{ ref: 'refs/heads/pushed' }] }])
  const [first] = moved
  expect(first?.payload.refs).toHaveLength(1)
})
