/** Work on a repository by URL that is put right: a conflict that a task of its own solves, and landed work that a person reverts. */
import { execFileSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import type { ExplainView, GoalView, TaskView } from '../../src/api/contract.ts'
import type { CrashPoint } from '../../src/runtime/core/context.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

let scene: Scene
afterEach(() => scene?.clear())

const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()

const line = (ref: string): string[] => git(scene.root, 'log', '--first-parent', '--format=%s', ref).split('\n')

const onMain = (path: string): string => git(scene.root, 'show', `main:${path}`)

/** Adds its line when both have begun. Where it finds conflict markers, it removes them and keeps both sides. */
const editor = (name: string): FaultAgent => ({
  driver: 'command',
  program: `
    const text = readFileSync('list.txt', 'utf8')
    const prompt = args.at(-1)
    if (prompt.includes('## Conflict')) {
      put('TOP/found-${name}', text + prompt)
      const solved = text.replace(/^(<{7}|={7}|>{7}).*\\n/gm, '')
      put('list.txt', solved.includes('${name}') ? solved : solved + '${name}\\n')
    } else {
      put('TOP/begun-${name}', '')
      const ends = Date.now() + 100_000
      while (!(existsSync('TOP/begun-a') && existsSync('TOP/begun-b')) && Date.now() < ends) await new Promise((next) => setTimeout(next, 20))
      put('list.txt', text + '${name}\\n')
    }`,
})

const check = `if (!require('node:fs').readFileSync('list.txt', 'utf8').startsWith('list\\n')) process.exit(1)`
const settings = { requeue: { inPlaceLimit: 0, reworkDepth: 1 }, maxParallel: 2 }

const conflict = async (at: (point: CrashPoint) => void): Promise<string> => {
  const files = { 'list.txt': 'list\n', 'check.js': check }
  scene = await openScene({ a: editor('a'), b: editor('b') }, settings, { remote: true, files, at })
  const tasks = ['a', 'b'].map((harness) => ({ harness, title: `Add ${harness}` }))
  return scene.goal(tasks, { autoMerge: true })
}

/** Another host has neither the mirror of this one nor its shadow repository. */
const forgetLocally = (): void => {
  for (const mirror of globSync(`${scene.top}/home/*/repository/.git`)) {
    rmSync(mirror, { recursive: true })
    git(scene.top, 'init', '-q', '--bare', mirror)
  }
  for (const folder of globSync(`${scene.top}/home/*/shadow.git/objects/??`)) rmSync(folder, { recursive: true })
}

const forgetEverywhere = (): void => {
  forgetLocally()
  const refs = git(scene.root, 'for-each-ref', '--format=%(refname)', 'refs/unstuck/runs')
  for (const ref of refs.split('\n')) git(scene.root, 'update-ref', '-d', ref)
}

const markers = /^<{7}.*\n.*\n={7}\n.*\n>{7}/m

it.each([
  ['on this host', (): void => undefined, markers],
  ['on a host that has none of its commits', forgetLocally, markers],
  ['where the work is gone', forgetEverywhere, /the finished work is not in the workspace/i],
])('a conflict that a task of its own solves %s lands on the remote', async (_where, meanwhile, found) => {
  let done = false
  const goal = await conflict((point) => {
    if (done || point !== 'recovery-intended') return
    done = true
    meanwhile()
  })
  await scene.until(goal, 'done', 'awaiting_human', 'failed')
  expect(await scene.questions()).toEqual([])
  const { tasks } = await scene.get<GoalView>(`/goals/${goal}`)
  const left = tasks.find(({ status }) => status === 'cancelled') as TaskView
  const fix = tasks.find(({ id }) => id === left.supersededBy) as TaskView
  expect(fix.title).toMatch(/^\[AutoFix-Conflict\] PR #\d+: Add [ab]$/)
  const name = left.title.slice(-1)
  const first = name === 'a' ? 'b' : 'a'
  expect(readFileSync(join(scene.top, `found-${name}`), 'utf8')).toMatch(found)
  expect(onMain('list.txt')).toBe(`list\n${first}\n${name}`)
  expect(line('main')).toEqual([left.title, `Add ${first}`, 'Start'])
  expect((await scene.recoveries(goal)).map(({ playbook, status }) => [playbook, status])).toEqual([
    ['conflict-auto-fix', 'success'],
  ])
  const story = (await scene.get<ExplainView>(`/explain/${left.id}`)).lines.map(({ text }) => text).join('\n')
  expect(story).toMatch(/conflicting paths: list\.txt[^]*task \d+ corrected the work/)
  expect(git(scene.root, 'for-each-ref', 'refs/unstuck')).toBe('')
})

/** Somebody else's commit on the target. */
const pushedByOthers = (name: string, text = name): void => {
  const path = join(scene.top, `others-${name}`)
  git(scene.top, 'clone', '-q', scene.root, path)
  writeFileSync(join(path, name), text)
  git(path, 'add', '-A')
  git(path, 'commit', '-qm', name)
  git(path, 'push', '-q', 'origin', 'HEAD:main')
}

it('merged work that conflicts with a target that went on is taken back, solved by a task of its own, and lands', async () => {
  const files = { 'list.txt': 'list\n', 'check.js': check }
  let done = false
  const at = (point: CrashPoint): void => {
    if (done || point !== 'goal-push') return
    done = true
    pushedByOthers('list.txt', 'list\ntheirs\n')
  }
  scene = await openScene({ a: editor('a') }, settings, { remote: true, files, at })
  writeFileSync(join(scene.top, 'begun-b'), '')
  const goal = await scene.goal([{ harness: 'a', title: 'Add a' }], { autoMerge: true })
  const ended = await scene.until(goal, 'done', 'awaiting_human', 'failed')
  expect(await scene.questions()).toEqual([])
  expect(readFileSync(join(scene.top, 'found-a'), 'utf8')).toMatch(markers)
  expect(onMain('list.txt')).toBe('list\ntheirs\na')
  expect(line('main')).toEqual(['Add a', 'list.txt', 'Start'])
  expect(git(scene.root, 'rev-parse', 'main')).toBe(ended.headCommit)
  expect(git(scene.root, 'for-each-ref', 'refs/unstuck')).toBe('')
})

const hook = (text: string): void => {
  mkdirSync(join(scene.root, 'hooks'), { recursive: true })
  writeFileSync(join(scene.root, 'hooks', 'update'), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
}

it('landed work is reverted by one commit on the tip of the remote, once, and not while the remote refuses or is away', async () => {
  const maker: FaultAgent = { driver: 'command', program: `put('made.txt', 'made')` }
  const broken = `if (require('node:fs').existsSync('made.txt')) { console.error('made.txt is here'); process.exit(1) }`
  const files = { 'check.js': 'process.exit(0)', 'whole.js': broken }
  scene = await openScene({ maker }, { verify: { commands: ['node whole.js'] } }, { remote: true, files })
  const goal = await scene.goal([{ title: 'Make it' }], { autoMerge: true })
  await scene.until(goal, 'done')
  const { id } = await scene.task(goal)
  const checked = (count: number): Promise<GoalView> =>
    scene.waitFor(`the target was checked ${count} times`, async () =>
      (await scene.events(goal, 'goal.target_checked')).length === count ? scene.get(`/goals/${goal}`) : undefined,
    )
  expect((await checked(1)).landing.target).toMatchObject({ state: 'failed', command: 'node whole.js', taskId: id })
  pushedByOthers('theirs.txt')
  const tip = git(scene.root, 'rev-parse', 'main')
  const revert = () => scene.post<{ branch: string; commit: string }>(`/tasks/${id}/revert`)

  hook("echo 'Not today' >&2; exit 1")
  await expect(revert()).rejects.toThrow(/409.*main was not changed: .*Not today.*try again when the remote accepts/)
  hook('exit 0')
  renameSync(scene.root, `${scene.root}.away`)
  await expect(revert()).rejects.toThrow(/503.*does not respond/)
  renameSync(`${scene.root}.away`, scene.root)
  expect(git(scene.root, 'rev-parse', 'main')).toBe(tip)

  const { branch, commit } = await revert()
  expect([branch, commit]).toEqual(['main', git(scene.root, 'rev-parse', 'main')])
  expect(line('main')).toEqual(['Revert "Make it"', 'theirs.txt', 'Make it', 'Start'])
  expect(git(scene.root, 'diff', '--name-status', 'main^', 'main')).toBe('D\tmade.txt')
  expect((await checked(2)).landing.target).toMatchObject({ state: 'passed', commit, taskId: null })
  pushedByOthers('more.txt')
  await expect(revert()).rejects.toThrow(/is reverted already, by [0-9a-f]{12} on main/)
  const story = (await scene.get<ExplainView>(`/explain/${id}`)).lines.map(({ text }) => text).join('\n')
  expect(story).toMatch(/after the landing "node whole\.js" fails on main[^]*a person reverted the work on main/)
})
