/**
 * One goal does not stop the others: its branch is deleted and its commits pruned, its merge fails whatever is tried, or the
 * repository is another one. What is left of it comes back or is asked about once, and everybody else goes on.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { GoalView, ReportView } from '../../src/api/contract.ts'
import { openScene, type Agent, type Scene, type SceneOptions } from '../recovery/scene.ts'

const git = (root: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: root, encoding: 'utf8' }).trim()

const writes = (name: string): Agent => ({
  driver: 'command',
  program: `put('${name}.txt', '${name} ' + count('TOP/starts-${name}')); put('made.txt', 'made')`,
})
const agents = { a: writes('a'), b: writes('b') }

const opened: Scene[] = []
afterEach(async () => {
  for (const scene of opened.splice(0)) await scene.clear()
})

const open = async (options: SceneOptions = {}): Promise<Scene> => {
  const scene = await openScene(agents, { maxParallel: 2 }, options)
  opened.push(scene)
  return scene
}

const goalOf = (scene: Scene, id: string): Promise<GoalView> => scene.get<GoalView>(`/goals/${id}`)
const branchOf = (goal: string): string => `unstuck/goal/${goal}`
const has = (scene: Scene, branch: string): boolean => git(scene.root, 'branch', '--list', branch) !== ''

/** What anybody does who tidies up. */
const prune = (root: string, goal: string): void => {
  git(root, 'branch', '-D', branchOf(goal))
  git(root, 'reflog', 'expire', '--expire=now', '--all')
  git(root, 'gc', '--quiet', '--prune=now')
}

/** Every object that the shadow has of its own. */
const emptyShadow = ({ top }: Scene): void => {
  for (const folder of globSync(`${top}/home/*/shadow.git/objects/??`)) rmSync(folder, { recursive: true })
}

const readLog = ({ top }: Scene): string => readFileSync(globSync(`${top}/home/*/engine.log`)[0] ?? '', 'utf8')
const errorsIn = (scene: Scene): string[] =>
  readLog(scene)
    .split('\n')
    .filter((line) => line.startsWith('{"level":50'))

const readyGoal = async (scene: Scene, harness = 'a'): Promise<string> => {
  const goal = await scene.goal([{ harness }])
  await scene.until(goal, 'ready')
  return goal
}

const land = async (scene: Scene, goal: string): Promise<void> => {
  await scene.post(`/goals/${goal}/land`)
  await scene.until(goal, 'done')
}

/** Another goal from beginning to end. */
const anotherLands = async (scene: Scene): Promise<void> => {
  const other = await scene.goal([{ harness: 'b' }], { autoMerge: true })
  await scene.until(other, 'done')
}

const passes = async (scene: Scene, count: number): Promise<void> => {
  for (let pass = 0; pass < count; pass += 1) await scene.until(await scene.goal([{ harness: 'b' }]), 'ready')
}

describe('a goal branch that was deleted, and its commits pruned', () => {
  it('comes back from the shadow, and the other goals land meanwhile', async () => {
    const scene = await open()
    const first = await readyGoal(scene)
    const { headCommit } = await goalOf(scene, first)
    await scene.restart(() => prune(scene.root, first))
    await anotherLands(scene)
    await scene.waitFor('the branch is back', async () => (has(scene, branchOf(first)) ? true : undefined))
    expect(git(scene.root, 'rev-parse', branchOf(first))).toBe(headCommit)
    expect(git(scene.root, 'fsck', '--strict', '--no-dangling')).toBe('')
    expect(await scene.events(first, 'ref.restored')).toHaveLength(1)
    await land(scene, first)
    expect(git(scene.root, 'show', 'main:a.txt')).toBe('a 1')
    expect(await scene.questions()).toEqual([])
    expect(errorsIn(scene)).toEqual([])
  })

  it('asks once where the shadow lacks them too, and does the work again when it is retried', async () => {
    const scene = await open()
    const first = await readyGoal(scene)
    await scene.restart(() => {
      prune(scene.root, first)
      emptyShadow(scene)
    })
    const paused = await scene.until(first, 'paused')
    await anotherLands(scene)
    await passes(scene, 2)
    await scene.restart()
    await passes(scene, 1)
    const questions = await scene.questions()
    expect(questions).toMatchObject([{ goalId: first, taskId: null, kind: 'blocker', choices: ['retry', 'cancel'] }])
    expect(questions[0]?.question).toMatch(/branch unstuck\/goal\/\S+ .*deleted.*again/)
    expect(questions[0]?.details).toContain(`unstuck retry ${first}`)
    expect(paused.mergeCommand).toBeNull()
    expect(errorsIn(scene)).toEqual([])
    await scene.post(`/goals/${first}/retry`)
    await scene.until(first, 'ready')
    expect(await scene.questions()).toEqual([])
    await land(scene, first)
    expect(git(scene.root, 'show', 'main:a.txt')).toBe('a 2')
  })
})
