/**
 * What happens after work has landed on the branch of the user: its checks run there once, the task that made one fail is named, and
 * only a person undoes it.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExplainView, GoalView, ReportView, StatusView } from '../../src/api/contract.ts'
import { runHere } from '../cli/in-process.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

const git = (root: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: root, encoding: 'utf8' }).trim()

/** The command line, beside the engine of the scene. */
const cli = async (scene: Scene, ...args: string[]): Promise<{ code: number; output: string }> => {
  const { PATH, HOME, XDG_CACHE_HOME } = process.env
  const environment = { PATH, HOME, XDG_CACHE_HOME, UNSTUCK_HOME: join(scene.top, 'home') }
  const { exitCode, stdout, stderr } = await runHere(args, { cwd: scene.root, environment })
  return { code: exitCode, output: `${stdout}${stderr}` }
}

const writes = (path: string, text: string): FaultAgent => ({
  driver: 'command',
  program: `put('${path}', existsSync('${path}') ? readFileSync('${path}', 'utf8') + '${text}\\n' : '${text}\\n')`,
})

let scene: Scene
let goal: string
/** Ids of the tasks, by number. */
let ids: string[]

const viewOf = (): Promise<GoalView> => scene.get<GoalView>(`/goals/${goal}`)
const onMain = (path: string): string => git(scene.root, 'show', `main:${path}`)
const checked = (count: number): Promise<GoalView> =>
  scene.waitFor(`the target was checked ${count} times`, async () =>
    (await scene.events(goal, 'goal.target_checked')).length === count ? viewOf() : undefined,
  )

beforeAll(async () => {
  scene = await openScene(
    {
      first: writes('log.txt', 'first'),
      bad: writes('bad.txt', 'bad'),
      last: writes('log.txt', 'last'),
    },
    { verify: { commands: ['node whole.js'] } },
    {
      files: {
        'check.js': 'process.exit(0)',
        'whole.js':
          "if (require('node:fs').existsSync('bad.txt')) { console.error('bad.txt is here'); process.exit(1) }",
      },
    },
  )
  const tasks = ['first', 'bad', 'last'].map((harness, index) => ({
    ...{ harness, title: `Write ${harness}`, commands: ['node check.js'] },
    after: index === 0 ? [] : [String(index)],
  }))
  goal = await scene.goal(tasks, { autoMerge: true })
  await scene.until(goal, 'done', 'awaiting_human', 'failed')
  ids = (await viewOf()).tasks.map(({ id }) => id)
}, 200_000)
afterAll(() => scene.clear())

describe('a check of the repository that fails since a landing', { timeout: 200_000 }, () => {
  it('is reported with the task that made it fail, and the branch stays as it is', async () => {
    const tip = git(scene.root, 'rev-parse', 'main')
    const { landing } = await checked(1)
    expect(landing.target).toMatchObject({ state: 'failed', commit: tip, command: 'node whole.js', taskId: ids[1] })
    const said = `after the landing "node whole.js" fails on main since task 2 "Write bad"`
    expect((await scene.get<StatusView>('/status')).notices.join()).toContain(said)
    const since = encodeURIComponent(new Date(Date.now() - 3_600_000).toISOString())
    const { failing } = await scene.get<ReportView>(`/report?since=${since}`)
    expect(failing).toMatchObject([{ goal, command: `unstuck revert ${ids[1]}` }])
    expect((await cli(scene, 'status')).output).toContain(`unstuck revert ${ids[1]}`)
    expect(git(scene.root, 'rev-parse', 'main')).toBe(tip)
  })

  it('needs a person who confirms it', async () => {
    const refused = await cli(scene, 'revert', ids[1] ?? '')
    expect(refused.code).toBe(2)
    expect(refused.output).toContain('add --yes')
    expect(await cli(scene, 'revert', 'nonsense', '--yes')).toMatchObject({ code: 2 })
  })

  it('touches no uncommitted work of the user', async () => {
    writeFileSync(join(scene.root, 'bad.txt'), 'mine')
    const tip = git(scene.root, 'rev-parse', 'main')
    const refused = await cli(scene, 'revert', ids[1] ?? '', '--yes')
    expect(refused.output).toMatch(/main was not changed: .*bad\.txt; commit or stash these changes/)
    expect(refused.code).not.toBe(0)
    expect(git(scene.root, 'rev-parse', 'main')).toBe(tip)
    git(scene.root, 'checkout', '-q', 'bad.txt')
  })

  it('is undone by one commit on the tip, after which the checks run again', async () => {
    const tip = git(scene.root, 'rev-parse', 'main')
    expect(await cli(scene, 'revert', ids[1] ?? '', '--yes')).toMatchObject({ code: 0 })
    expect(git(scene.root, 'rev-parse', 'main^')).toBe(tip)
    expect(git(scene.root, 'diff', '--name-status', 'main^', 'main')).toBe('D\tbad.txt')
    expect(git(scene.root, 'log', '-1', '--format=%B', 'main')).toMatch(
      /^Revert "Write bad"\n[^]*Unstuck-Reverts: [0-9a-f]{40}$/,
    )
    expect(git(scene.root, 'status', '--porcelain', '--untracked-files=no')).toBe('')
    expect((await checked(2)).landing.target).toMatchObject({ state: 'passed', taskId: null })
    expect((await scene.get<StatusView>('/status')).notices).toEqual([])
    const { lines } = await scene.get<ExplainView>(`/explain/${ids[1]}`)
    const story = lines.map(({ text }) => text).join('\n')
    expect(story).toMatch(/after the landing "node whole\.js" fails on main[^]*a person reverted the work on main/)
    expect((await cli(scene, 'revert', ids[1] ?? '', '--yes')).output).toMatch(
      /is reverted already, by [0-9a-f]{12} on main/,
    )
  })

  it('is refused where later work changed the same lines, which is named', async () => {
    const { code, output } = await cli(scene, 'revert', ids[0] ?? '', '--yes')
    expect(code).toBe(5)
    expect(output).toContain('log.txt was changed later in the same lines')
    expect(output).toContain(`"Write last" (unstuck revert ${ids[2]})`)
    expect(onMain('log.txt')).toBe('first\nlast')
  })

  it('needs landed work', async () => {
    const open = await scene.goal([{ harness: 'first' }])
    await scene.until(open, 'ready')
    const { id } = await scene.task(open)
    const { code, output } = await cli(scene, 'revert', id, '--yes')
    expect(code).toBe(5)
    expect(output).toContain(`has not landed yet; to drop it: unstuck cancel ${open}`)
  })
})
