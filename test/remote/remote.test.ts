/**
 * A remote that is away, that others push to, and that says no, at each place where the engine needs it. The crash points
 * are where the trouble begins: what a test does there has happened before the engine's next step.
 */
import { execFileSync } from 'node:child_process'
import { globSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import type { EventView } from '../../src/api/contract.ts'
import { stateDirOf } from '../../src/api/state-dir.ts'
import { AppError } from '../../src/errors.ts'
import type { CrashPoint } from '../../src/runtime/core/context.ts'
import { mirrorRoot } from '../../src/workspace/remote.ts'
import { parseRemote } from '../../src/workspace/remote-url.ts'
import { openScene, type Scene } from '../recovery/scene.ts'

let scene: Scene
afterEach(() => scene?.clear())

const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()

const retry = { transientBaseSeconds: 0.3, transientMaxSeconds: 0.5 }

/** Each start leaves a mark, so that a test sees what was paid for twice. */
const agents = {
  maker: {
    driver: 'command' as const,
    program: `put(existsSync('made.txt') ? 'more.txt' : 'made.txt', 'made'); put('starts/' + process.pid, ''); count('TOP/starts')`,
  },
}

const starts = (): number => Number(execFileSync('cat', [join(scene.top, 'starts')], { encoding: 'utf8' }))

/** Does `what` the first time that the point is passed. */
const once = (point: CrashPoint, what: () => void): ((passed: CrashPoint) => void) => {
  let done = false
  return (passed) => {
    if (passed !== point || done) return
    done = true
    what()
  }
}

const open = async (at: (point: CrashPoint) => void): Promise<void> => {
  scene = await openScene(agents, { retry }, { remote: true, at })
}

const away = (): void => renameSync(scene.root, `${scene.root}.away`)
const back = (): void => renameSync(`${scene.root}.away`, scene.root)

const outage = async (type = 'remote.unreachable'): Promise<EventView> =>
  scene.waitFor(type, async () =>
    (await scene.get<EventView[]>('/events?limit=1000')).find((event) => event.type === type),
  )

const line = (ref: string): string[] => git(scene.root, 'log', '--first-parent', '--format=%s', ref).split('\n')

it('away while a run is prepared: the task waits with a persisted time, no agent starts, nobody is asked', async () => {
  await open(
    once('claimed', () => {
      // As on another host: the base is not here yet.
      const mirror = join(
        mirrorRoot(stateDirOf({ UNSTUCK_HOME: join(scene.top, 'home') }, parseRemote(scene.root, '/').id)),
        '.git',
      )
      rmSync(mirror, { recursive: true })
      git(scene.top, 'init', '-q', '--bare', mirror)
      away()
    }),
  )
  const goal = await scene.goal([{}])
  const waiting = await scene.waitFor('a retry', async () => {
    const task = await scene.task(goal)
    return task.retry !== null && task.retry.count > 1 ? task : undefined
  })
  expect(waiting.retry).toMatchObject({ reason: 'remote_unreachable', limit: 100 })
  expect((await scene.questions()).length).toBe(0)
  back()
  await scene.until(goal, 'ready')
  expect(starts()).toBe(1)
  const recoveries = await scene.recoveries(goal)
  expect(recoveries.at(-1)).toMatchObject({ playbook: 'remote-backoff', status: 'success', counted: false })
  expect(new Set(recoveries.slice(0, -1).map(({ status }) => status))).toEqual(new Set(['failed']))
})

it('away when a run is pushed: the run waits in its phase and what the agent made is not made again', async () => {
  await open(once('run-push', () => away()))
  const goal = await scene.goal([{}])
  expect(String((await outage()).payload.detail)).toContain('does not respond')
  expect(await scene.runs(goal)).toEqual([expect.objectContaining({ state: 'running', phase: 'commit' })])
  await scene.restart()
  expect((await scene.questions()).length).toBe(0)
  back()
  await scene.until(goal, 'ready')
  expect(starts()).toBe(1)
  expect(await scene.recoveries(goal)).toEqual([])
  expect(line(`unstuck/goal/${goal}`)).toEqual(['Task 1', 'Start'])
})

it('away when a merge is pushed: the entry waits, and is merged once', async () => {
  await open(once('merge-push', () => away()))
  const goal = await scene.goal([{}])
  await outage()
  expect((await scene.task(goal)).nextStep?.owner).toBe('merge queue')
  expect((await scene.questions()).length).toBe(0)
  back()
  await scene.until(goal, 'ready')
  await outage('remote.reachable')
  expect(line(`unstuck/goal/${goal}`)).toEqual(['Task 1', 'Start'])
  expect(git(scene.root, 'for-each-ref', 'refs/unstuck')).toBe('')
})

it('away when the target is pushed: the goal stays ready until the remote is back, and lands', async () => {
  await open(once('goal-push', () => away()))
  const goal = await scene.goal([{}], { autoMerge: true })
  await outage()
  expect(await scene.until(goal, 'ready')).toMatchObject({ reason: expect.stringContaining('unstuck land') })
  back()
  await scene.until(goal, 'done')
  expect(line('main')).toEqual(['Task 1', 'Start'])
})

/** Somebody else's clone, from which commits are pushed. */
const others = (): string => {
  const path = join(scene.top, 'others')
  git(scene.top, 'clone', '-q', scene.root, path)
  return path
}

const commit = (path: string, name: string): void => {
  writeFileSync(join(path, name), name)
  git(path, 'add', '-A')
  git(path, 'commit', '-qm', name)
}

it('published, but not recorded, and others went on from there: it is known again and not published twice', async () => {
  await open(
    once('merge-published', () => {
      const branch = git(scene.root, 'for-each-ref', '--format=%(refname)', 'refs/heads/unstuck')
      const path = others()
      git(path, 'checkout', '-q', branch.replace('refs/heads', 'remotes/origin'))
      commit(path, 'theirs.txt')
      git(path, 'push', '-q', 'origin', `HEAD:${branch}`)
      throw new AppError('REMOTE_UNAVAILABLE', 'the line broke when the push was through')
    }),
  )
  const goal = await scene.goal([{}, { after: ['1'], commands: ['node -e 0'] }])
  await scene.until(goal, 'ready')
  expect(line(`unstuck/goal/${goal}`)).toEqual(['Task 2', 'theirs.txt', 'Task 1', 'Start'])
  expect(await scene.events(goal, 'merge.merged')).toHaveLength(2)
})

it('somebody else pushed onto the goal branch first: their commit stays and ours comes on top, verified again', async () => {
  let branch = ''
  await open(
    once('merge-push', () => {
      branch = git(scene.root, 'for-each-ref', '--format=%(refname)', 'refs/heads/unstuck')
      const path = others()
      commit(path, 'theirs.txt')
      // A trailer proves nothing: this one says that the run is merged already.
      const run = git(scene.root, 'for-each-ref', '--format=%(refname:lstrip=3)', 'refs/unstuck/runs')
      git(path, 'commit', '-q', '--amend', '-m', 'theirs.txt', '-m', `Unstuck-Run: ${run}`)
      git(path, 'push', '-q', 'origin', `HEAD:${branch}`)
    }),
  )
  const goal = await scene.goal([{}])
  await scene.until(goal, 'ready')
  expect(line(branch)).toEqual(['Task 1', 'theirs.txt', 'Start'])
  expect(await scene.events(goal, 'remote.moved')).toHaveLength(1)
  expect(await scene.events(goal, 'merge.reverified')).toMatchObject([{ payload: { passed: true } }])
  expect(await scene.events(goal, 'merge.retried')).toHaveLength(1)
})

it('the goal branch was replaced: it is put back, and what stood there is kept', async () => {
  await open(
    once('judged', () => {
      const branch = git(scene.root, 'for-each-ref', '--format=%(refname)', 'refs/heads/unstuck')
      const path = others()
      git(path, 'checkout', '-q', '--orphan', 'x')
      commit(path, 'theirs.txt')
      git(path, 'push', '-qf', 'origin', `HEAD:${branch}`)
    }),
  )
  const goal = await scene.goal([{}])
  await scene.until(goal, 'ready')
  expect(line(`unstuck/goal/${goal}`)).toEqual(['Task 1', 'Start'])
  const [restored] = await scene.events(goal, 'ref.restored')
  expect(git(scene.root, 'log', '-1', '--format=%s', String(restored?.payload.kept))).toBe('theirs.txt')
})

it.each([
  ['beside it', 'theirs.txt'],
  ['in the file of the work', 'made.txt'],
])(
  'the target went on, %s: the goal is brought onto it, verified again and lands, and main is not forced',
  async (_where, name) => {
    await open(
      once('goal-push', () => {
        const path = others()
        commit(path, name)
        git(path, 'push', '-q', 'origin', 'HEAD:main')
      }),
    )
    const goal = await scene.goal([{}], { autoMerge: true })
    const ended = await scene.until(goal, 'done', 'awaiting_human')
    expect(line('main')).toEqual(['Task 1', name, 'Start'])
    expect(git(scene.root, 'rev-parse', 'main')).toBe(ended.headCommit)
    expect(await scene.questions()).toEqual([])
    // What conflicts is done again there; what does not is only verified again.
    expect((await scene.recoveries(goal)).map(({ playbook, status }) => [playbook, status])).toEqual(
      name === 'made.txt' ? [['newer-base-run', 'success']] : [],
    )
    expect(starts()).toBe(name === 'made.txt' ? 2 : 1)
    expect(git(scene.root, 'for-each-ref', 'refs/unstuck')).toBe('')
  },
)

const hook = (text: string): void => {
  mkdirSync(join(scene.root, 'hooks'), { recursive: true })
  writeFileSync(join(scene.root, 'hooks', 'update'), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
}

it.each([
  ['the commit of a run', 'refs/unstuck/runs/*'],
  ['the goal branch', 'refs/heads/unstuck/goal/*'],
])('a hook refuses %s: three tries, one question with the words of the hook', async (_what, pattern) => {
  await open(
    once('commit-made', () =>
      hook(
        `case $1 in ${pattern}) printf 'Not \\033[31mtoday\\033]0;x\\007 <b>, see https://u:geheim@host/x\\n' >&2; exit 1;; esac`,
      ),
    ),
  )
  const goal = await scene.goal([{}])
  await scene.until(goal, 'awaiting_human')
  const refusals = await scene.events(goal, 'remote.refused')
  expect(refusals).toHaveLength(3)
  const questions = await scene.questions()
  expect(questions).toHaveLength(1)
  const told = JSON.stringify([questions, refusals])
  expect(told).toContain('Not today')
  expect(told).toContain('hook declined')
  expect(told).not.toMatch(/geheim|\\u001b|\\u0007/)
  hook('exit 0')
  await scene.post(`/tasks/${(await scene.task(goal)).id}/retry`)
  await scene.until(goal, 'ready')
  expect(line(`unstuck/goal/${goal}`)).toEqual(['Task 1', 'Start'])
})

const forget = (root: string): void => {
  const refs = git(root, 'for-each-ref', '--format=%(refname)', 'refs/unstuck', 'refs/heads/unstuck')
  for (const ref of refs.split('\n').filter((each) => each !== '')) git(root, 'update-ref', '-d', ref)
  git(root, 'gc', '--quiet', '--prune=now')
}

/** The branch and its commits are gone over there and in the mirror. */
const lose = (): void => {
  forget(scene.root)
  for (const mirror of globSync(`${scene.top}/home/*/repository/.git`)) forget(mirror)
}

it('a goal branch that was deleted, and its commits pruned here and there, comes from the shadow and lands', async () => {
  await open(() => undefined)
  const goal = await scene.goal([{}])
  await scene.until(goal, 'ready')
  await scene.restart(lose)
  await scene.post(`/goals/${goal}/land`)
  await scene.until(goal, 'done', 'paused', 'awaiting_human')
  expect(await scene.questions()).toEqual([])
  expect(line('main')).toEqual(['Task 1', 'Start'])
  expect(starts()).toBe(1)
})

it('where the shadow lacks them too it asks once, resumes when somebody pushed them, else does the work again', async () => {
  await open(() => undefined)
  const goal = await scene.goal([{}])
  await scene.until(goal, 'ready')
  const kept = join(scene.top, 'kept.git')
  const loseAll = (): void => {
    lose()
    for (const folder of globSync(`${scene.top}/home/*/shadow.git/objects/??`)) rmSync(folder, { recursive: true })
  }
  await scene.restart(() => {
    git(scene.top, 'clone', '-q', '--mirror', scene.root, kept)
    loseAll()
  })
  await scene.until(goal, 'paused')
  await scene.restart()
  const questions = await scene.questions()
  expect(questions).toMatchObject([
    { goalId: goal, kind: 'blocker', choices: [{ kind: 'retry' }, { kind: 'resume' }, { kind: 'cancel' }] },
  ])
  expect(questions[0]?.details).toContain(`git push ${scene.root} `)
  git(kept, 'push', '-q', scene.root, `unstuck/goal/${goal}`)
  await scene.post('/resume', { goal })
  await scene.until(goal, 'ready')
  expect(await scene.questions()).toEqual([])
  await scene.restart(loseAll)
  await scene.until(goal, 'paused')
  await scene.post(`/goals/${goal}/retry`)
  await scene.until(goal, 'ready')
  expect(await scene.questions()).toEqual([])
  expect(line(`unstuck/goal/${goal}`)).toEqual(['Task 1', 'Start'])
  expect(starts()).toBe(2)
})

it('a goal of a folder is refused, with what to give instead', async () => {
  await open(() => undefined)
  await expect(scene.goal([{}], { repoMode: 'local' })).rejects.toThrow(/use \\"remote\\"/)
})
