/** A command in a linked worktree uses the engine and the settings of the repository, and its goal lands on the branch of that worktree. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { runHere, type Ended } from '../cli/in-process.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

const git = (root: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: root, encoding: 'utf8' }).trim()

const agents: Record<string, FaultAgent> = { a: { driver: 'command', program: `put('made.txt', 'made')` } }

const opened: Scene[] = []
afterEach(async () => {
  for (const scene of opened.splice(0)) await scene.clear()
})

/** A linked worktree on the branch `feature`, without the untracked settings of the main one, and a folder in it. */
const open = async (): Promise<{ scene: Scene; linked: string; below: string }> => {
  const scene = await openScene(agents, {})
  opened.push(scene)
  const linked = join(scene.top, 'linked')
  git(scene.root, 'worktree', 'add', '-q', linked, '-b', 'feature')
  const below = join(linked, 'below')
  mkdirSync(below)
  return { scene, linked, below }
}

const cli = ({ top }: Scene, cwd: string, ...args: string[]): Promise<Ended> => {
  const { PATH, HOME } = process.env
  return runHere(args, { cwd, environment: { PATH, HOME, UNSTUCK_HOME: join(top, 'home') } })
}

it('runs by the engine and the settings of the main one, and lands in the linked one', async () => {
  const { scene, linked, below } = await open()
  const main = git(scene.root, 'rev-parse', 'main')
  const ran = await cli(scene, below, 'run', 'Make it', '--harness', 'a')
  expect([ran.exitCode, ran.stderr]).toEqual([0, ''])
  const [goal = ''] = /g-[a-z0-9]+/.exec(ran.stdout) ?? []
  expect((await cli(scene, scene.root, 'status')).stdout).toContain(goal)
  expect((await cli(scene, linked, 'land', goal)).exitCode).toBe(0)
  expect(git(scene.root, 'show', 'feature:made.txt')).toBe('made')
  expect(readFileSync(join(linked, 'made.txt'), 'utf8')).toBe('made')
  expect(git(linked, 'status', '--porcelain', '--untracked-files=no')).toBe('')
  expect([git(scene.root, 'rev-parse', 'main'), existsSync(join(scene.root, 'made.txt'))]).toEqual([main, false])
})

it('says where work in place is possible, and refuses a folder of another repository', async () => {
  const { scene, linked } = await open()
  const direct = await cli(scene, linked, 'run', '--direct', 'Make it', '--harness', 'a')
  expect([direct.exitCode, direct.stderr]).toEqual([2, expect.stringContaining(scene.root)])
  const other = join(scene.top, 'other')
  execFileSync('git', ['init', '-q', other])
  await expect(scene.goal([{ harness: 'a' }], { worktree: other })).rejects.toThrow(/is no worktree of/)
})
