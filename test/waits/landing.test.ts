/**
 * Several goals and the user's own commits on one branch: everything lands, by fast-forward only, whatever moved meanwhile.
 * A commit that does not fit is made again on the newer base, once, before anybody is asked.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { GoalView } from '../../src/api/contract.ts'
import { runHere } from '../cli/in-process.ts'
import { openScene, type FaultAgent, type Scene, type SceneOptions } from '../recovery/scene.ts'
import { isLongForm, shortened } from '../support/form.ts'

const git = (root: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: root, encoding: 'utf8' }).trim()

/** Changes one line of a file by what it finds there; none ends before the test lets all go. */
const editor = (name: string, path: string, line: number): FaultAgent => ({
  driver: 'command',
  program: `
    put('TOP/begun-${name}', '')
    const start = count('TOP/starts-${name}')
    put('TOP/prompt-${name}-' + start, args.at(-1))
    const lines = readFileSync('${path}', 'utf8').split('\\n')
    lines[${line}] += ' ${name}'
    const mayEnd = () => existsSync('TOP/go') || existsSync('TOP/go-' + start)
    for (const end = Date.now() + 60_000; !mayEnd() && Date.now() < end;) await new Promise((next) => setTimeout(next, 20))
    writeFileSync('${path}', lines.join('\\n'))`,
})

const list = Array.from({ length: 9 }, (_value, index) => `line ${index}`).join('\n')
/** Green where the files have all of their lines and nothing says otherwise. */
const check = `const { existsSync, readFileSync } = require('node:fs')
for (const name of ['list.txt', 'same.txt'])
  if (readFileSync(name, 'utf8').split('\\n').length !== 9) process.exit(1)
if (existsSync('forbids.txt') && readFileSync('list.txt', 'utf8').includes(readFileSync('forbids.txt', 'utf8'))) process.exit(1)`
const files = { 'list.txt': list, 'same.txt': list, 'check.js': check }

const opened: Scene[] = []
afterEach(async () => {
  for (const scene of opened.splice(0)) await scene.clear()
})

const open = async (agents: Record<string, FaultAgent>, options: SceneOptions = {}): Promise<Scene> => {
  const scene = await openScene(agents, { maxParallel: 4 }, { files, ...options })
  opened.push(scene)
  return scene
}

const begun = (scene: Scene, ...names: string[]): Promise<true> =>
  scene.waitFor(`${names.join()} have begun`, async () =>
    names.every((name) => existsSync(join(scene.top, `begun-${name}`))) ? true : undefined,
  )

const letGo = (scene: Scene): void => writeFileSync(join(scene.top, 'go'), '')

const commitByHand = (scene: Scene, path: string, text: string): string => {
  writeFileSync(join(scene.root, path), text)
  git(scene.root, 'add', path)
  git(scene.root, 'commit', '-qm', `By hand: ${path}`)
  return git(scene.root, 'rev-parse', 'HEAD')
}

const goalOf = (scene: Scene, id: string): Promise<GoalView> => scene.get<GoalView>(`/goals/${id}`)
const on = (scene: Scene, path: string): string => git(scene.root, 'show', `main:${path}`)
const checkIsGreen = (scene: Scene): string => execFileSync('node', ['check.js'], { cwd: scene.root, encoding: 'utf8' })

describe('four goals at once and a commit of the user', () => {
  it('all land, by fast-forward only, and no question is asked', async () => {
    const agents = {
      a: editor('a', 'list.txt', 1),
      b: editor('b', 'list.txt', 7),
      c: editor('c', 'same.txt', 4),
      d: editor('d', 'same.txt', 4),
    }
    const scene = await open(agents)
    const goals: string[] = []
    for (const harness of Object.keys(agents)) goals.push(await scene.goal([{ harness }], { autoMerge: true }))
    await begun(scene, ...Object.keys(agents))
    const byHand = commitByHand(scene, 'by-hand.txt', 'mine')
    letGo(scene)
    for (const goal of goals) await scene.until(goal, 'done', 'awaiting_human', 'failed')
    expect(await scene.questions()).toEqual([])
    expect((await Promise.all(goals.map((goal) => goalOf(scene, goal)))).map(({ state }) => state)).toEqual(
      goals.map(() => 'done'),
    )
    expect(on(scene, 'list.txt').split('\n').slice(1, 8)).toEqual([
      ...['line 1 a', 'line 2', 'line 3', 'line 4', 'line 5', 'line 6', 'line 7 b'],
    ])
    expect(on(scene, 'same.txt').split('\n')[4]).toMatch(/^line 4( c d| d c)$/)
    expect(on(scene, 'by-hand.txt')).toBe('mine')
    expect(git(scene.root, 'merge-base', '--is-ancestor', byHand, 'main')).toBe('')
    expect(git(scene.root, 'rev-list', '--merges', 'main')).toBe('')
    expect(git(scene.root, 'rev-list', '--count', 'main')).toBe('6')
    expect(git(scene.root, 'status', '--porcelain', '--untracked-files=no')).toBe('')
    expect(checkIsGreen(scene)).toBe('')
    // The one of the pair that came second ran again, was told why, and had its own diff at hand.
    const recoveries = (await Promise.all(goals.map((goal) => scene.recoveries(goal)))).flat()
    expect(recoveries).toMatchObject([{ playbook: 'newer-base-run', label: 'git_conflict', status: 'success' }])
    const again = goals.indexOf(recoveries[0]?.goalId ?? '') === 2 ? 'c' : 'd'
    const prompt = readFileSync(join(scene.top, `prompt-${again}-2`), 'utf8')
    expect(prompt).toContain('same.txt')
    const diff = /\S+earlier\.diff/.exec(prompt)?.[0] ?? ''
    expect(readFileSync(diff, 'utf8')).toContain(`+line 4 ${again}`)
  })
})

describe('a commit that its owner takes back from the branch while the agent works', () => {
  it.each(
    shortened(
      [
        ['the only task', 1],
        ['the first of two tasks', 2],
      ],
      1,
    ),
  )('does not return with the work: %s', async (_what, count) => {
    const scene = await open({ a: editor('a', 'list.txt', 1), b: editor('b', 'list.txt', 7) })
    commitByHand(scene, 'taken-back.txt', 'a key')
    const tasks = [{ harness: 'a' }, { harness: 'b', after: ['1'] }].slice(0, count)
    const goal = await scene.goal(tasks, { autoMerge: true })
    await begun(scene, 'a')
    git(scene.root, 'reset', '-q', '--hard', 'HEAD~1')
    const before = git(scene.root, 'rev-parse', 'HEAD')
    letGo(scene)
    await scene.until(goal, 'done', 'awaiting_human', 'failed')
    expect((await goalOf(scene, goal)).state).toBe('done')
    expect(git(scene.root, 'log', '--format=%H', 'main', '--', 'taken-back.txt')).toBe('')
    expect(git(scene.root, 'rev-list', '--count', `${before}..main`)).toBe(String(count))
    expect(on(scene, 'list.txt').split('\n')[1]).toBe('line 1 a')
  })
})

/** The command line, beside the engine of the scene. */
const cli = async (scene: Scene, ...args: string[]): Promise<{ code: number; output: string }> => {
  const { PATH, HOME, XDG_CACHE_HOME } = process.env
  const environment = { PATH, HOME, XDG_CACHE_HOME, UNSTUCK_HOME: join(scene.top, 'home') }
  const { exitCode, stdout, stderr } = await runHere(args, { cwd: scene.root, environment })
  return { code: exitCode, output: `${stdout}${stderr}` }
}

const tipOf = (scene: Scene, branch = 'main'): string => git(scene.root, 'rev-parse', branch)

describe('unstuck land', () => {
  it('needs a person for a dirty checkout, says what and why, and then brings the goal onto what was committed', async () => {
    const scene = await open({ a: editor('a', 'list.txt', 1) })
    letGo(scene)
    const goal = await scene.goal([{}])
    const ready = await scene.until(goal, 'ready')
    expect(ready.mergeCommand).toBe(`unstuck land ${goal}`)
    const before = await cli(scene, 'report')
    expect(before.output).toMatch(/Landed: 0\n[^]*Ready to land on your branch: 1\n.*unstuck land g-/)
    writeFileSync(join(scene.root, 'list.txt'), `${list} mine`)
    const dirty = await cli(scene, 'land', goal)
    expect(dirty.output).toMatch(
      /has uncommitted changes.*list\.txt.*commit or stash these changes, then: unstuck land g-/,
    )
    expect(dirty.code).toBe(3)
    expect((await goalOf(scene, goal)).state).toBe('ready')
    git(scene.root, 'commit', '-qam', 'Mine')
    const mine = tipOf(scene)
    const landed = await cli(scene, 'land', goal)
    expect(landed.output).toContain('landed on main')
    expect(landed.code).toBe(0)
    expect(git(scene.root, 'rev-parse', 'main^')).toBe(mine)
    expect(on(scene, 'list.txt').split('\n')[1]).toBe('line 1 a')
    expect((await scene.events(goal, 'goal.reverified')).map(({ payload }) => payload['passed'])).toEqual([true])
    expect((await cli(scene, 'report')).output).toMatch(/Landed: 1\n[^]*Ready to land on your branch: 0\n/)
    // What is there already is no error.
    expect((await cli(scene, 'land', goal)).code).toBe(0)
  })

  it.runIf(isLongForm)('ends with 5 where the work conflicts each time that it was done again', async () => {
    const scene = await open({ a: editor('a', 'list.txt', 1) })
    letGo(scene)
    const goal = await scene.goal([{}])
    await scene.until(goal, 'ready')
    commitByHand(scene, 'list.txt', list.replace('line 1', 'line one'))
    const head = (await goalOf(scene, goal)).headCommit ?? ''
    // The next conflict comes while the one before is being cured.
    rmSync(join(scene.top, 'go'))
    const landing = cli(scene, 'land', goal)
    for (const [index, word] of ['uno', 'un', 'eins'].entries()) {
      const start = index + 2
      await scene.waitFor('the task is done again', async () =>
        existsSync(join(scene.top, `prompt-a-${start}`)) ? true : undefined,
      )
      commitByHand(scene, 'list.txt', list.replace('line 1', `line ${word}`))
      writeFileSync(join(scene.top, `go-${start}`), '')
    }
    const { code, output } = await landing
    expect(output).toMatch(/conflicting paths: list\.txt/)
    expect(code).toBe(5)
    expect(await scene.questions()).toMatchObject([
      { kind: 'merge_conflict', choices: [{ kind: 'retry' }, { kind: 'hint' }, { kind: 'cancel' }] },
    ])
    expect((await goalOf(scene, goal)).state).toBe('awaiting_human')
    expect(on(scene, 'list.txt').split('\n')[1]).toBe('line eins')
    // Nothing is lost: the first work is kept as its commit.
    expect(git(join(scene.top, 'repo'), 'cat-file', '-t', head)).toBe('commit')
    const task = await scene.task(goal)
    letGo(scene)
    await scene.post(`/tasks/${task.id}/retry`)
    await scene.until(goal, 'ready', 'awaiting_human')
    expect((await cli(scene, 'land', goal)).code).toBe(0)
    expect(on(scene, 'list.txt').split('\n')[1]).toBe('line eins a')
  })

  it.runIf(isLongForm)(
    'sends work back whose checks fail on what is there, and lands what was made of it',
    async () => {
      const scene = await open({
        a: {
          driver: 'command',
          program: `
          const lines = readFileSync('list.txt', 'utf8').split('\\n')
          lines[1] = count('TOP/starts') === 1 ? 'line 1 a' : 'line 1 better'
          put('list.txt', lines.join('\\n'))`,
        },
      })
      const goal = await scene.goal([{}])
      await scene.until(goal, 'ready')
      const byHand = commitByHand(scene, 'forbids.txt', 'line 1 a')
      expect(await cli(scene, 'land', goal)).toMatchObject({ code: 0 })
      expect(on(scene, 'list.txt').split('\n')[1]).toBe('line 1 better')
      expect(git(scene.root, 'rev-parse', 'main^')).toBe(byHand)
      expect(await scene.recoveries(goal)).toMatchObject([{ playbook: 'newer-base-run', status: 'success' }])
      expect(await scene.questions()).toEqual([])
    },
  )

  it('refuses what is no goal, one that does not exist, and one that is not ready', async () => {
    const scene = await open({ a: editor('a', 'list.txt', 1) })
    const goal = await scene.goal([{}])
    expect(await cli(scene, 'land', 'nonsense')).toMatchObject({
      code: 2,
      output: expect.stringMatching(/not the id of a goal/),
    })
    expect(await cli(scene, 'land', 'g-zzzzzzzz')).toMatchObject({
      code: 4,
      output: expect.stringContaining('there is no goal g-zzzzzzzz'),
    })
    expect(await cli(scene, 'land', goal)).toMatchObject({
      code: 5,
      output: expect.stringMatching(/is not done; .*unstuck status|are not done; .*unstuck status/),
    })
  })

  it.runIf(isLongForm)(
    'run --merge ends with 3 for a dirty checkout as well, and the goal lands once that is clean',
    async () => {
      const scene = await open({ a: editor('a', 'list.txt', 1) })
      letGo(scene)
      writeFileSync(join(scene.root, 'list.txt'), `${list} mine`)
      const { code, output } = await cli(scene, 'run', '--merge', 'Do it')
      expect(output).toMatch(/has uncommitted changes.*list\.txt/)
      expect(code).toBe(3)
      git(scene.root, 'checkout', '-q', 'list.txt')
      const [goal] = await scene.get<GoalView[]>('/goals')
      await scene.until(goal?.id ?? '', 'done')
      expect(on(scene, 'list.txt').split('\n')[1]).toBe('line 1 a')
    },
  )
})

describe('what begins', () => {
  it.runIf(isLongForm)('begins on what its target is now', async () => {
    const scene = await open({ a: editor('a', 'list.txt', 1), b: editor('b', 'list.txt', 7) })
    letGo(scene)
    rmSync(join(scene.top, 'go'))
    const goal = await scene.goal([{ harness: 'a' }, { harness: 'b', after: ['1'] }])
    await begun(scene, 'a')
    const mended = commitByHand(scene, 'mended.txt', 'mended')
    letGo(scene)
    await scene.until(goal, 'ready')
    const [, second] = await scene.runs(goal)
    expect(git(scene.root, 'merge-base', '--is-ancestor', mended, second?.baseCommit ?? '')).toBe('')
    expect(git(scene.root, 'show', `${second?.baseCommit}:list.txt`)).toContain('line 1 a')
    expect((await goalOf(scene, goal)).baseCommit).toBe(mended)
    // Each check ran on what it is ready with, once.
    expect(await scene.events(goal, 'goal.reverified')).toHaveLength(1)
  })

  it.runIf(isLongForm)('leaves alone what its user merged early and went on from', async () => {
    const scene = await open({ a: editor('a', 'list.txt', 1), b: editor('b', 'list.txt', 7) })
    const goal = await scene.goal([{ harness: 'a' }, { harness: 'b', after: ['1'] }], { autoMerge: true })
    await begun(scene, 'a')
    letGo(scene)
    await scene.waitFor('the first is on the goal branch', async () =>
      (await scene.events(goal, 'merge.merged')).length === 1 ? true : undefined,
    )
    git(scene.root, 'merge', '-q', '--ff-only', `unstuck/goal/${goal}`)
    const mine = commitByHand(scene, 'list.txt', on(scene, 'list.txt').replace('line 1 a', 'line 1 a, as I like it'))
    await scene.until(goal, 'done', 'awaiting_human')
    expect(await scene.recoveries(goal)).toEqual([])
    expect(on(scene, 'list.txt').split('\n').slice(1, 8)).toEqual([
      ...['line 1 a, as I like it', 'line 2', 'line 3', 'line 4', 'line 5', 'line 6', 'line 7 b'],
    ])
    expect(git(scene.root, 'merge-base', '--is-ancestor', mine, 'main')).toBe('')
  })
})

describe('an agent that puts its own commit onto the branch of the user', () => {
  it.runIf(isLongForm)('takes nothing from it that was committed or landed there meanwhile', async () => {
    const overwrites = `
      const { execFileSync } = await import('node:child_process')
      put('TOP/begun-bad', '')
      for (const end = Date.now() + 60_000; !existsSync('TOP/go-bad') && Date.now() < end;) await new Promise((next) => setTimeout(next, 20))
      const run = (cwd, ...args) => execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@a', ...args], { cwd })
      put('list.txt', readFileSync('list.txt', 'utf8').replace('line 7', 'line 7 bad'))
      run('.', 'commit', '-qam', 'Mine')
      run('TOP/repo', 'fetch', '-q', process.cwd(), 'HEAD')
      run('TOP/repo', 'update-ref', 'refs/heads/main', 'FETCH_HEAD')`
    const scene = await open({ a: editor('a', 'list.txt', 1), bad: { driver: 'command', program: overwrites } })
    letGo(scene)
    const bad = await scene.goal([{ harness: 'bad' }])
    await begun(scene, 'bad')
    const good = await scene.goal([{ harness: 'a' }], { autoMerge: true })
    await scene.until(good, 'done')
    const mine = commitByHand(scene, 'by-hand.txt', 'mine')
    writeFileSync(join(scene.top, 'go-bad'), '')
    await scene.until(bad, 'ready')
    expect(tipOf(scene)).toBe(mine)
    expect(on(scene, 'list.txt').split('\n')[1]).toBe('line 1 a')
    expect((await scene.events(bad, 'ref.restored')).map(({ payload }) => payload['restored'])).toEqual([mine])
  })
})
