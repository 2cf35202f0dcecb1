/**
 * One goal does not stop the others: its branch is deleted and its commits pruned, its merge fails whatever is tried, or the
 * repository is another one. What is left of it comes back or is asked about once, and everybody else goes on.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { GoalView, ReportView } from '../../src/api/contract.ts'
import { openScene, type FaultAgent, type Scene, type SceneOptions } from '../recovery/scene.ts'

const git = (root: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: root, encoding: 'utf8' }).trim()

const writes = (name: string): FaultAgent => ({
  driver: 'command',
  program: `put('${name}.txt', '${name} ' + count('TOP/starts-${name}')); put('made.txt', 'made')`,
})
const agents = { a: writes('a'), b: writes('b') }

const opened: Scene[] = []
afterEach(async () => {
  for (const scene of opened.splice(0)) await scene.clear()
})

const open = async (options: SceneOptions = {}): Promise<Scene> => {
  const scene = await openScene(
    agents,
    { maxParallel: 2, retry: { transientBaseSeconds: 0.5, transientMaxSeconds: 1 } },
    options,
  )
  opened.push(scene)
  return scene
}

const goalOf = (scene: Scene, id: string): Promise<GoalView> => scene.get<GoalView>(`/goals/${id}`)
const branchOf = (goal: string): string => `unstuck/goal/${goal}`
const has = (scene: Scene, branch: string): boolean => git(scene.root, 'branch', '--list', branch) !== ''

/** What anybody does who tidies up. */
const prune = (root: string): void => {
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

const deletes = (root: string, goal: string): void => {
  git(root, 'branch', '-D', branchOf(goal))
  prune(root)
}
const moves = (root: string, goal: string): void => {
  git(root, 'branch', '-f', branchOf(goal), 'main')
  prune(root)
}

describe('a goal branch that was deleted, and its commits pruned', () => {
  it.each([
    ['comes back', deletes],
    ['comes back, moved instead of deleted,', moves],
  ])('%s from the shadow, and the other goals land meanwhile', async (_how, lose) => {
    const scene = await open()
    const first = await readyGoal(scene)
    const { headCommit } = await goalOf(scene, first)
    await scene.restart(() => lose(scene.root, first))
    await anotherLands(scene)
    await scene.waitFor('the branch is back', async () =>
      git(scene.root, 'for-each-ref', '--format=%(objectname)', `refs/heads/${branchOf(first)}`) === headCommit
        ? true
        : undefined,
    )
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
      deletes(scene.root, first)
      emptyShadow(scene)
    })
    const paused = await scene.until(first, 'paused')
    await anotherLands(scene)
    await passes(scene, 2)
    await scene.restart()
    await passes(scene, 1)
    const questions = await scene.questions()
    expect(questions).toMatchObject([
      { goalId: first, taskId: null, kind: 'blocker', choices: [{ kind: 'retry' }, { kind: 'cancel' }] },
    ])
    expect(questions[0]?.question).toMatch(/branch unstuck\/goal\/\S+ .*deleted.*its commits are gone/)
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

/** The first judged work loses its objects before it is merged: no try will ever merge it. */
const losesFirst = (scene: () => Scene): NonNullable<SceneOptions['at']> => {
  let isFirst = true
  return (point) => {
    if (point !== 'judged' || !isFirst) return
    isFirst = false
    emptyShadow(scene())
  }
}

describe('a merge that fails whatever is tried', () => {
  it('is set aside with a question after five failures, counted across restarts, and the others land', async () => {
    const scene: Scene = await open({ at: losesFirst(() => scene) })
    const first = await scene.goal([{}])
    const retried = async (): Promise<number> => (await scene.events(first, 'merge.retried')).length
    await scene.waitFor('the first failure', async () => ((await retried()) > 0 ? true : undefined))
    await scene.restart()
    await anotherLands(scene)
    await scene.until(first, 'awaiting_human')
    expect(await retried()).toBe(4)
    expect(await scene.events(first, 'merge.failed')).toHaveLength(1)
    const task = await scene.task(first)
    expect(await scene.questions()).toMatchObject([
      {
        goalId: first,
        taskId: task.id,
        choices: [{ kind: 'approve' }, { kind: 'retry' }, { kind: 'hint' }, { kind: 'cancel' }],
      },
    ])
    expect(errorsIn(scene)).toHaveLength(5)
    await passes(scene, 1)
    expect(errorsIn(scene)).toHaveLength(5)
    await scene.post(`/tasks/${task.id}/retry`)
    await scene.until(first, 'ready')
    expect(git(scene.root, 'show', `${branchOf(first)}:a.txt`)).toBe('a 2')
  })

  it('is set aside too where the error comes before anything was tried', async () => {
    let isPoisoned = true
    const at: NonNullable<SceneOptions['at']> = (point) => {
      if (point === 'merge-claimed' && isPoisoned) throw new TypeError('nobody expects this')
    }
    const scene = await open({ at })
    const first = await scene.goal([{}])
    await scene.until(first, 'awaiting_human')
    isPoisoned = false
    expect(await scene.questions()).toMatchObject([{ goalId: first, question: /could not be merged.*nobody expects/ }])
    await anotherLands(scene)
  })
})

/** Deleted and made again: another history, or the same files with the same names. */
const makeAgain = (scene: Scene): void => {
  rmSync(join(scene.root, '.git'), { recursive: true })
  git(scene.root, 'init', '-q', '-b', 'main')
  git(scene.root, 'add', '-A')
  git(scene.root, 'commit', '-qm', 'Start')
}

describe('a repository that was deleted and made again at the same path', () => {
  it.each(['while the engine runs', 'while it does not'])(
    'gets nothing of the goals before it, which ask once each, and new goals land: %s',
    async (when) => {
      const scene = await open()
      const first = await readyGoal(scene)
      if (when === 'while the engine runs') makeAgain(scene)
      else await scene.restart(() => makeAgain(scene))
      await scene.until(first, 'paused')
      await anotherLands(scene)
      await scene.restart()
      await passes(scene, 1)
      const [question, ...more] = await scene.questions()
      expect(more).toEqual([])
      expect(question).toMatchObject({
        goalId: first,
        choices: [{ kind: 'retry' }, { kind: 'resume' }, { kind: 'cancel' }],
      })
      expect(question?.question).toContain('was replaced')
      expect(has(scene, branchOf(first))).toBe(false)
      expect(git(scene.root, 'ls-tree', '--name-only', 'main')).not.toContain('a.txt')
      await scene.post(`/goals/${first}/retry`)
      await scene.until(first, 'ready')
      await land(scene, first)
      expect(git(scene.root, 'show', 'main:a.txt')).toBe('a 2')
      expect(errorsIn(scene)).toEqual([])
    },
  )

  it.each([
    ['copied', (root: string) => cpSync(join(root, '.git'), join(root, '.copy'), { recursive: true })],
    ['cloned as a mirror', (root: string) => void git(root, 'clone', '-q', '--mirror', '.git', '.copy')],
  ])('is the same one where it was %s, and asks nothing', async (_how, copy) => {
    const scene = await open()
    const first = await readyGoal(scene)
    await scene.restart(() => {
      copy(scene.root)
      rmSync(join(scene.root, '.git'), { recursive: true })
      renameSync(join(scene.root, '.copy'), join(scene.root, '.git'))
      git(scene.root, 'config', 'core.bare', 'false')
      git(scene.root, 'reset', '-q')
    })
    await anotherLands(scene)
    await land(scene, first)
    expect(await scene.questions()).toEqual([])
  })

  it('goes on where its owner says that it is the same one, restored without the branch', async () => {
    const scene = await open()
    cpSync(join(scene.root, '.git'), join(scene.top, 'backup'), { recursive: true })
    const first = await readyGoal(scene)
    await scene.restart(() => {
      rmSync(join(scene.root, '.git'), { recursive: true })
      cpSync(join(scene.top, 'backup'), join(scene.root, '.git'), { recursive: true })
    })
    await scene.until(first, 'paused')
    await scene.post('/resume', { goal: first })
    await scene.until(first, 'ready')
    await land(scene, first)
    expect(git(scene.root, 'show', 'main:a.txt')).toBe('a 1')
    expect(await scene.questions()).toEqual([])
  })
})

describe('a goal that was started on no branch', () => {
  const commandOf = async (scene: Scene, goal: string): Promise<string | null> =>
    (await goalOf(scene, goal)).mergeCommand

  it('offers its branch only while that is there', async () => {
    const scene = await open()
    git(scene.root, 'checkout', '-q', '--detach')
    const goal = await readyGoal(scene)
    expect(await commandOf(scene, goal)).toBe(`unstuck land ${goal} --into <branch>`)
    // So that nobody brings it back before it was looked for.
    writeFileSync(join(scene.root, '.git', 'refs', 'heads', 'unstuck', 'goal', `${goal}.lock`), '')
    rmSync(join(scene.root, '.git', 'refs', 'heads', 'unstuck', 'goal', goal))
    expect(await commandOf(scene, goal)).toBeNull()
    expect((await goalOf(scene, goal)).reason).toContain('is missing')
    expect((await scene.get<ReportView>('/report?since=2020-01-01T00:00:00Z')).ready).not.toMatchObject([
      { command: expect.stringContaining('--into') as string },
    ])
    // What git does not let happen is tried three times, then asked about.
    await scene.until(goal, 'paused')
    expect(await scene.questions()).toMatchObject([
      { goalId: goal, choices: [{ kind: 'resume' }, { kind: 'retry' }, { kind: 'cancel' }] },
    ])
    rmSync(join(scene.root, '.git', 'refs', 'heads', 'unstuck', 'goal', `${goal}.lock`))
    await scene.post('/resume', { goal })
    await scene.until(goal, 'ready')
    expect(await scene.questions()).toEqual([])
    expect(existsSync(join(scene.root, '.git', 'refs', 'heads', 'unstuck', 'goal', goal))).toBe(true)
    expect(await commandOf(scene, goal)).toContain('--into')
  })
})
