/** Who the commit of a run is by, and when: decided once, so that a run that is entered again makes the same commit. */
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import type { CrashPoint } from '../../src/runtime/core/context.ts'
import { openScene, type Scene } from './scene.ts'

let scene: Scene
afterEach(() => scene?.clear())

const git = (cwd: string, ...args: string[]): string => execFileSync('git', args, { cwd, encoding: 'utf8' }).trim()

const agents = { maker: { driver: 'claude' as const, program: `begin(); put('made.txt', 'made'); end()` } }

/** Commits of runs that the shadow holds, used or not. */
const commitsMade = (): string[] => {
  const home = join(scene.top, 'home')
  const shadow = join(home, readdirSync(home).find((name) => name.startsWith('repo-')) ?? '', 'shadow.git')
  const objects = git(shadow, 'cat-file', '--batch-all-objects', '--batch-check=%(objecttype) %(objectname)')
  const commits = objects.split('\n').flatMap((line) => (line.startsWith('commit ') ? [line.slice(7)] : []))
  return commits.filter((name) => git(shadow, 'cat-file', 'commit', name).includes('\nUnstuck-Run: '))
}

it('is by the user, made by Unstuck, and the same commit when its phase is entered again', async () => {
  let made = 0
  const at = (point: CrashPoint): void => {
    if (point !== 'commit-made') return
    made += 1
    if (made > 1) return
    git(scene.root, 'config', 'user.name', 'Somebody else')
    throw Object.assign(new Error('the store is gone'), { code: 'STORE_UNAVAILABLE' })
  }
  scene = await openScene(agents, {}, { at })
  git(scene.root, 'config', 'user.name', 'Ada')
  git(scene.root, 'config', 'user.email', 'ada@example.invalid')
  const begun = Math.floor(Date.now() / 1000)
  const goal = await scene.goal([{}])
  await scene.until(goal, 'ready')
  expect(made).toBe(2)
  expect(commitsMade()).toHaveLength(1)
  const format = '--format=%an <%ae>, %cn, %at, %ct'
  const [author, committer, written, committed] = git(scene.root, 'log', '-1', format, `unstuck/goal/${goal}`).split(
    ', ',
  )
  expect([author, committer, written]).toEqual(['Ada <ada@example.invalid>', 'Unstuck', committed])
  expect(Number(written)).toBeGreaterThanOrEqual(begun)
  const [run] = await scene.runs(goal)
  expect(run?.commitIntent).toMatchObject({ author: { name: 'Ada' }, at: expect.stringContaining(`@${written} `) })
})

it('says nothing of a secret that its task names', async () => {
  // Put together here, so that nothing that looks for tokens finds one in this file.
  const token = ['gh', 'p_', 'aB3d'.repeat(9)].join('')
  scene = await openScene(agents)
  // The second one would be cut in the middle.
  const instructions = `Use ${token}${' and'.repeat(480)} ${token}`
  const goal = await scene.goal([{ title: `Sign in with ${token}`, instructions }])
  await scene.until(goal, 'ready')
  const message = git(scene.root, 'log', '-1', '--format=%B', `unstuck/goal/${goal}`)
  expect(message).toMatch(/^Sign in with /)
  expect(message).not.toContain(token.slice(0, 12))
})
