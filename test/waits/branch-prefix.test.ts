/** `git.branchPrefix`: the branches of goals carry it, and those that were made under another one are still taken care of. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

let scene: Scene
afterEach(() => scene?.clear())

const agent: FaultAgent = {
  driver: 'claude',
  program: `begin()
    const { execFileSync } = await import('node:child_process')
    put('TOP/branch', execFileSync('git', ['branch', '--show-current'], { encoding: 'utf8' }).trim())
    put('made.txt', 'made')
    put('made-' + process.pid + '.txt', 'made')
    end()`,
}

const git = (...args: string[]): string => execFileSync('git', args, { cwd: scene.root, encoding: 'utf8' }).trim()
const branches = (): string[] => git('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads').split('\n')

const setPrefix = (branchPrefix: string): void => {
  const path = join(scene.root, '.unstuck', 'config.json')
  const config = JSON.parse(readFileSync(path, 'utf8')) as object
  writeFileSync(path, JSON.stringify({ ...config, git: { branchPrefix } }))
}

/** The config file of the scene is committed, so a person's edit of it must not keep work from landing. */
const commitSettings = (): void => {
  git('-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '-qam', 'Settings')
}

test('goals and runs carry it, and the work lands from there; a branch called unstuck is in nobody’s way', async () => {
  scene = await openScene({ agent }, { git: { branchPrefix: 'bot/' } })
  git('branch', 'unstuck')
  const goal = await scene.goal([{}], { autoMerge: true })
  const { branch } = await scene.until(goal, 'done', 'awaiting_human')
  expect(branch).toBe(`bot/goal/${goal}`)
  const [run] = await scene.runs(goal)
  expect(readFileSync(join(scene.top, 'branch'), 'utf8')).toBe(`bot/run/${run?.id}`)
  expect(existsSync(join(scene.root, 'made.txt'))).toBe(true)
  expect(branches().filter((name) => name.startsWith('unstuck/'))).toEqual([])
})

test('one that a branch of the owner bars is refused with the way out, and no goal is made', async () => {
  scene = await openScene({ agent }, { git: { branchPrefix: 'team/bot/' } })
  git('branch', 'team')
  await expect(scene.goal([{}])).rejects.toThrow(/REPOSITORY_STATE.*git\.branchPrefix/)
  expect(await scene.get('/goals')).toEqual([])
  expect(branches()).toEqual(['main', 'team'])
})

test('a goal that was made under another prefix keeps its branch: it is restored, and lands', async () => {
  scene = await openScene({ agent })
  const old = await scene.goal([{}])
  await scene.until(old, 'ready', 'awaiting_human')
  await scene.restart(() => {
    setPrefix('bot-')
    commitSettings()
    git('update-ref', '-d', `refs/heads/unstuck/goal/${old}`)
  })
  await scene.waitFor('the branch', async () => branches().includes(`unstuck/goal/${old}`) || undefined)
  const next = await scene.goal([{}])
  const made = await scene.until(next, 'ready', 'awaiting_human')
  expect(made.branch).toBe(`bot-goal/${next}`)
  expect(branches()).toContain(made.branch)
  await scene.post(`/goals/${old}/land`)
  expect((await scene.until(old, 'done', 'awaiting_human')).state).toBe('done')
})
