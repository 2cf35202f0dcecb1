/** What a goal leaves when it has ended: its branch goes, its run's tree goes, and nothing that is on no other branch is lost. */
import { execFileSync, type ChildProcess } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { EventView, GoalView, Run } from '../../src/api/contract.ts'
import { runHere } from '../cli/in-process.ts'
import { openScene, type FaultAgent, type Scene, type SceneOptions } from '../recovery/scene.ts'
import { killable } from '../support/killable.ts'
import { isLongForm, shortened } from '../support/form.ts'

const git = (root: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: root, encoding: 'utf8' }).trim()

/** Writes one file of the goal's own, and one that the owner calls generated, so that it is left out. */
const agents: Record<string, FaultAgent> = {
  worker: {
    driver: 'command',
    program: `
      const name = /file-[a-z]+/.exec(args.at(-1))[0]
      put(name + '.txt', name + '\\n')
      put('scratch/notes.txt', 'left by ' + name)`,
  },
}
const check = `process.exit(require('node:fs').readdirSync('.').some((name) => name.startsWith('file-')) ? 0 : 1)`

const opened: Scene[] = []
const children: ChildProcess[] = []
afterEach(async () => {
  for (const scene of opened.splice(0)) await scene.clear()
  children.splice(0)
})

const open = async (config: object = {}, options: SceneOptions = {}): Promise<Scene> => {
  const policyRecovery = { useLlm: false, extraGeneratedPaths: ['scratch/**'] }
  const scene = await openScene(agents, { policyRecovery, ...config }, { files: { 'check.js': check }, ...options })
  opened.push(scene)
  return scene
}

const goalOf = (scene: Scene, name: string, options: object = {}): Promise<string> =>
  scene.goal([{ title: `Write ${name}`, instructions: name, allowedPaths: ['file-*'] }], options)

const branchOf = (goal: string): string => `unstuck/goal/${goal}`
const hasBranch = (scene: Scene, goal: string): boolean => git(scene.root, 'branch', '--list', branchOf(goal)) !== ''

const landed = async (scene: Scene, name: string): Promise<string> => {
  const goal = await goalOf(scene, name, { autoMerge: true })
  await scene.until(goal, 'done')
  return goal
}

const ready = async (scene: Scene, name: string): Promise<string> => {
  const goal = await goalOf(scene, name)
  await scene.until(goal, 'ready')
  return goal
}

const branchRemoved = (scene: Scene, goal: string): Promise<EventView> =>
  scene.waitFor('the branch is removed', async () => (await scene.events(goal, 'goal.branch_removed'))[0])

const commitByHand = (scene: Scene, path: string, text: string): void => {
  writeFileSync(join(scene.root, path), text)
  git(scene.root, 'add', path)
  git(scene.root, 'commit', '-qm', `By hand: ${path}`)
}

interface Removed {
  kind: string
  id: string
}
const clean = async (scene: Scene, dryRun = false): Promise<string[]> =>
  (await scene.post<Removed[]>('/clean', { dryRun })).filter(({ kind }) => kind === 'branch').map(({ id }) => id)

const home = (scene: Scene): Record<string, string> => ({ UNSTUCK_HOME: join(scene.top, 'home') })
const restored = async (scene: Scene, id: string, path: string): Promise<string> => {
  const into = join(scene.top, `restored-${id}`)
  const { exitCode: code } = await runHere(['restore', id, '--into', into], {
    cwd: scene.root,
    environment: home(scene),
  })
  expect(code).toBe(0)
  return readFileSync(join(into, path), 'utf8')
}

const workspaceOf = async (scene: Scene, goal: string): Promise<{ run: Run; folder: string }> => {
  const [run] = await scene.runs(goal)
  const found = execFileSync('find', [join(scene.top, 'home'), '-type', 'd', '-path', `*/runs/${run?.id}`], {
    encoding: 'utf8',
  }).trim()
  return { run: run as Run, folder: join(found, 'workspace') }
}

describe('a goal that has landed', () => {
  it('leaves no branch and no tree, and what the agent left outside the commit can be restored', async () => {
    const scene = await open()
    const goal = await landed(scene, 'file-one')
    expect((await branchRemoved(scene, goal)).payload).toMatchObject({ branch: branchOf(goal) })
    expect(hasBranch(scene, goal)).toBe(false)
    const { run, folder } = await workspaceOf(scene, goal)
    expect(existsSync(folder)).toBe(false)
    expect(await restored(scene, run.id, 'scratch/notes.txt')).toBe('left by file-one')
    expect(git(scene.root, 'ls-tree', '--name-only', 'main')).not.toContain('scratch')
  })

  it.runIf(isLongForm)('keeps its branch where the owner wants that', async () => {
    const scene = await open({ git: { keepGoalBranches: true } })
    const goal = await landed(scene, 'file-one')
    await scene.waitFor('the tree is gone', async () =>
      existsSync((await workspaceOf(scene, goal)).folder) ? undefined : true,
    )
    expect(await clean(scene)).toEqual([])
    expect(hasBranch(scene, goal)).toBe(true)
  })

  it('is recognised where a person squashed it, and where later commits changed its lines', async () => {
    const scene = await open()
    const squashed = await ready(scene, 'file-one')
    const picked = await ready(scene, 'file-two')
    commitByHand(scene, 'other.txt', 'other')
    git(scene.root, 'merge', '--squash', '-q', branchOf(squashed))
    git(scene.root, 'commit', '-qm', 'All of it')
    git(scene.root, 'cherry-pick', branchOf(picked))
    commitByHand(scene, 'file-two.txt', 'changed again')
    await scene.until(squashed, 'done')
    await scene.until(picked, 'done')
    await branchRemoved(scene, squashed)
    await branchRemoved(scene, picked)
    expect([squashed, picked].map((goal) => hasBranch(scene, goal))).toEqual([false, false])
  })

  it.runIf(isLongForm)(
    'keeps a branch that is checked out, that a person moved, or that another goal lands on',
    async () => {
      const scene = await open()
      const [out, moved, built] = [
        await ready(scene, 'file-one'),
        await ready(scene, 'file-two'),
        await ready(scene, 'file-three'),
      ]
      git(scene.root, 'worktree', 'add', '-q', join(scene.top, 'mine'), branchOf(out))
      git(scene.root, 'checkout', '-q', branchOf(built))
      const onto = await ready(scene, 'file-four')
      git(scene.root, 'checkout', '-q', 'main')
      for (const goal of [out, moved, built]) git(scene.root, 'merge', '-q', '--no-edit', branchOf(goal))
      for (const goal of [out, moved, built]) await scene.until(goal, 'done')
      // It begins with all that was on it, as where a person goes on from it.
      git(
        scene.root,
        'branch',
        '-f',
        branchOf(moved),
        git(scene.root, 'commit-tree', '-p', 'main', '-m', 'mine', 'main^{tree}'),
      )
      expect(await clean(scene)).toEqual([])
      expect([out, moved, built].map((goal) => hasBranch(scene, goal))).toEqual([true, true, true])
      await scene.post(`/goals/${onto}/cancel`)
      git(scene.root, 'worktree', 'remove', join(scene.top, 'mine'))
      expect(await clean(scene, true)).toEqual(expect.arrayContaining([branchOf(built), branchOf(out)]))
      await clean(scene)
      expect([out, moved, built].map((goal) => hasBranch(scene, goal))).toEqual([false, true, false])
    },
  )
})

describe('a goal that was cancelled', () => {
  it.runIf(isLongForm)('leaves a snapshot of its work, and what is done can still land', async () => {
    const scene = await open()
    const goal = await ready(scene, 'file-one')
    await scene.post(`/goals/${goal}/cancel`)
    await branchRemoved(scene, goal)
    expect(hasBranch(scene, goal)).toBe(false)
    expect(await restored(scene, goal, 'file-one.txt')).toBe('file-one\n')
    await scene.post(`/goals/${goal}/land`, { done: true })
    await scene.waitFor('the part has landed', async () =>
      git(scene.root, 'ls-tree', '--name-only', 'main').includes('file-one.txt') ? true : undefined,
    )
  })
})

describe('an engine that is killed', () => {
  it.each(shortened(['goal-branch-removed', 'goal-branch-kept'], 1))(
    'at %s ends it after its restart',
    async (point) => {
      const mark: { armed: boolean } = { armed: true }
      const start = killable(children)
      const scene = await open(
        {},
        {
          start: (root, given) => {
            const more = mark.armed
              ? { CHAOS_POINT: point, CHAOS_PASS: '1', CHAOS_MARK: join(root, '..', 'killed') }
              : {}
            mark.armed = false
            return start(root, { ...given, ...more })
          },
        },
      )
      const goal = await ready(scene, 'file-one')
      const { folder } = await workspaceOf(scene, goal)
      await scene.post(`/goals/${goal}/cancel`)
      await new Promise((resolve) => children[0]?.once('exit', resolve))
      expect(readFileSync(join(scene.top, 'killed'), 'utf8')).toBe(point)
      await scene.restart()
      await scene.waitFor('the branch is gone', async () => (hasBranch(scene, goal) ? undefined : true))
      const snapshots = (await scene.get<{ id: string }[]>('/snapshots')).filter(({ id }) => id.startsWith(goal))
      expect(snapshots.map(({ id }) => id)).toEqual([`${goal}-1`])
      expect((await scene.get<GoalView>(`/goals/${goal}`)).state).toBe('cancelled')
      expect(folder).toContain('workspace')
    },
  )
})
