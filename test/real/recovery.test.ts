/** The four playbooks where they really occur: with the real Codex and the real Claude, through the command line. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { ScriptInput } from '../../sim/script.ts'
import { openUser, until, type EndedCommand, type Printed, type User } from './user.ts'
import { isLongForm, shortened } from '../support/form.ts'

type Steps = ScriptInput['conversations'][number]['steps']

let user: User | undefined
afterEach(async () => {
  await user?.close()
  user = undefined
})

/** The file that decides: `made.txt` in the project, or in the folder outside of it. */
const check = "node -e \"process.exit(require('fs').existsSync('made.txt') ? 0 : 1)\""

const outsideOf = (root: string): string => join(root, 'outside')

const open = async (steps: (root: string) => Steps, environment?: Record<string, string>): Promise<User> => {
  user = await openUser((root) => [{ name: 'job', match: 'Make the file', steps: steps(root) }], environment)
  mkdirSync(outsideOf(user.root))
  return user
}

const putUnderGit = ({ project, git }: User): void => {
  writeFileSync(join(project, 'package.json'), '{ "scripts": { "check": "node check.js" } }\n')
  writeFileSync(join(project, 'check.js'), "process.exit(require('fs').existsSync('made.txt') ? 0 : 1)\n")
  git('init', '-q', '-b', 'main')
  git('add', '-A')
  git('commit', '-qm', 'Start')
}

const writeTasks = (harness: string, commands: string[]): string => {
  const file = join(user!.root, 'tasks.json')
  const task = { title: 'Make the file', instructions: 'Make the file.', harness, commands }
  writeFileSync(file, JSON.stringify({ version: 1, goal: 'Make the file', tasks: [task] }))
  return file
}

const goalOf = (ended: EndedCommand): Printed => {
  const last = ended.stdout.trim().split('\n').at(-1) ?? ''
  expect(last, ended.stderr).toMatch(/^\{"type":"result"/)
  return (JSON.parse(last) as Printed).goal as Printed
}

const runsOf = async (): Promise<Printed[]> => (await user!.lines('runs'))[0] as Printed[]
const ofType = (events: Printed[], type: string): Printed[] => events.filter((event) => event.type === type)

interface Expected {
  worker: string
  issue: RegExp
  action: string
}

/** The seed's schema of a recovery event, and that there was exactly this one. */
const expectRecovery = (events: Printed[], { worker, issue, action }: Expected): void => {
  const [event, ...more] = ofType(events, 'recovery')
  expect(more).toEqual([])
  expect(new Date(event?.at).getTime()).toBeGreaterThan(Date.parse('2020-01-01'))
  expect(event?.payload).toMatchObject({
    id: expect.stringMatching(/^rec_\w+$/),
    worker,
    issue_detected: expect.stringMatching(issue),
    action_taken: action,
    status: 'success',
    retry_count: 1,
  })
}

test('Codex refuses a plain folder, is relaunched without its repository check and does the work in place', async () => {
  await open(() => [{ write: { path: 'made.txt', content: 'made\n' } }, { text: 'Made.' }])
  const goal = goalOf(await user!.unstuck('run', writeTasks('codex', [check]), '--direct', '--json'))
  expect(goal).toMatchObject({ state: 'done', repoMode: 'direct' })
  const [run] = await runsOf()
  expect(run).toMatchObject({
    state: 'success',
    commit: null,
    verdict: { outcome: 'verified', changedPaths: ['made.txt'] },
  })
  expect(run?.launches.map((launch: Printed) => launch.corrections.skipGitCheck)).toEqual([false, true])
  expectRecovery(await user!.events(goal.id), {
    worker: 'codex',
    issue: /Not inside a trusted directory/,
    action: 'RELAUNCH_WITH_SKIP_GIT_CHECK',
  })
  expect(readFileSync(join(user!.project, 'made.txt'), 'utf8')).toBe('made\n')
  expect(existsSync(join(user!.project, '.git'))).toBe(false)
  expect(await user!.leave()).toEqual([])
})

describe('Claude writes to a directory outside its workspace', () => {
  const steps = (root: string): Steps => [
    { write: { path: join(outsideOf(root), 'made.txt'), content: 'made\n' } },
    { text: 'I may not write there.' },
    { write: { path: join(outsideOf(root), 'made.txt'), content: 'made\n' } },
    { write: { path: 'made.txt', content: 'made\n' } },
    { text: 'Made.' },
  ]
  const expected = {
    worker: 'claude',
    issue: /Claude requested permissions to write to .*outside/,
    action: 'RELAUNCH_WITH_ADD_DIR',
  }

  test('allowed: held to the end of the turn, then the same session goes on with the directory', async () => {
    await open(steps)
    putUnderGit(user!)
    const outside = outsideOf(user!.root)
    const goal = goalOf(
      await user!.unstuck('run', writeTasks('claude', ['npm run check']), '--allow-dir', outside, '--json'),
    )
    expect(goal.state).toBe('ready')
    expect(readFileSync(join(outside, 'made.txt'), 'utf8')).toBe('made\n')
    const [run] = await runsOf()
    expect(run?.launches.map((launch: Printed) => launch.corrections.addDirs)).toEqual([[], [outside]])
    expect(run?.launches.map((launch: Printed) => launch.resumeSession)).toEqual([null, run?.sessionId])
    // The first turn was not cut short: its last words were asked for, and the second went on behind them.
    expect(user!.sim.requests().flatMap(({ step }) => step ?? [])).toEqual([0, 1, 2, 3, 4])
    expectRecovery(await user!.events(goal.id), expected)
    expect(await user!.leave()).toEqual([])
  })

  test.runIf(isLongForm)(
    'not allowed: the goal is paused with one blocker, and goes on when the directory was allowed',
    async () => {
      await open(steps)
      putUnderGit(user!)
      const outside = outsideOf(user!.root)
      const ended = await user!.unstuck('run', writeTasks('claude', ['npm run check']), '--json')
      expect(ended.code).toBe(3)
      const goal = goalOf(ended)
      expect(goal).toMatchObject({ state: 'paused', tasks: [{ status: 'blocked(awaiting_human)' }] })
      const before = await user!.events(goal.id)
      const text = `Persistent permission error for Claude on ${outside}. Manual intervention required.`
      expect(ofType(before, 'blocker').map(({ payload }) => payload)).toEqual([
        { text, details: expect.stringContaining(`add "${outside}" to allowedDirs`) },
      ])
      expect(ofType(before, 'recovery')).toEqual([])
      expect(existsSync(join(outside, 'made.txt'))).toBe(false)

      user!.configure({ allowedDirs: [outside] })
      expect(await user!.unstuck('resume', goal.id)).toMatchObject({ code: 0 })
      await until('the goal is ready', async () => {
        const [status] = await user!.lines('status')
        return status?.goals[0].state === 'ready'
      })
      expect(existsSync(join(outside, 'made.txt'))).toBe(true)
      expect(ofType(await user!.events(goal.id), 'blocker')).toHaveLength(1)
    },
  )
})

test.each(shortened(['claude', 'codex'] as const, 1))(
  '%s, which its owner left unrestricted, writes there at once',
  async (cli) => {
    const steps = (root: string): Steps => [
      { write: { path: join(outsideOf(root), 'made.txt'), content: 'made\n' } },
      { write: { path: 'made.txt', content: 'made\n' } },
      { text: 'Made.' },
    ]
    // Claude refuses this mode to root unless it is told that it runs in a sandbox.
    await open(steps, { IS_SANDBOX: '1' })
    putUnderGit(user!)
    user!.configureHarness(cli, { unrestricted: true })
    const goal = goalOf(await user!.unstuck('run', writeTasks(cli, ['npm run check']), '--json'))
    expect(goal.state).toBe('ready')
    expect(readFileSync(join(outsideOf(user!.root), 'made.txt'), 'utf8')).toBe('made\n')
    const [run] = await runsOf()
    expect(run?.launches).toHaveLength(1)
    expect(await user!.leave()).toEqual([])
  },
)

test.runIf(isLongForm)('Claude is refused a check of the contract, and goes on with a rule for it alone', async () => {
  await open(() => [
    { shell: 'npm run check' },
    { text: 'I may not run it.' },
    { shell: 'npm run check && npm --version' },
    { shell: 'npm run check' },
    { write: { path: 'made.txt', content: 'made\n' } },
    { text: 'Made.' },
  ])
  const config = JSON.parse(readFileSync(join(user!.project, '.unstuck', 'config.json'), 'utf8')) as Printed
  user!.configure({ harness: { ...config.harness, claude: { ...config.harness.claude, args: [] } } })
  writeFileSync(join(user!.project, '.unstuck', 'verify.contract.json'), '{ "commands": ["npm run check"] }\n')
  putUnderGit(user!)
  const goal = goalOf(await user!.unstuck('run', writeTasks('claude', ['node --version']), '--json'))
  expect(goal.state).toBe('ready')
  const [run] = await runsOf()
  expect(run?.launches.map((launch: Printed) => launch.corrections.toolRules)).toEqual([
    undefined,
    ['Bash(npm run check:*)'],
  ])
  expect(run?.verdict.notes).toEqual([expect.stringContaining('requires approval: npm --version')])
  expectRecovery(await user!.events(goal.id), {
    worker: 'claude',
    issue: /^This command requires approval/,
    action: 'RELAUNCH_WITH_TOOL_RULE',
  })
  const launched = ofType(await user!.events(goal.id), 'run.launched')
  expect(launched.map(({ payload }) => [payload.version, payload.exact, payload.resumed])).toEqual([
    ['2.1.197', true, false],
    ['2.1.197', true, true],
  ])
})

test('Claude fails with 529, waits for its persisted time across a crash, and is done', async () => {
  const made: Steps = [{ write: { path: 'made.txt', content: 'made\n' } }, { text: 'Made.' }]
  await open(() => [{ error: { status: 529, times: 2 } }, ...made], { CLAUDE_CODE_MAX_RETRIES: '1' })
  putUnderGit(user!)
  user!.configure({ retry: { transientBaseSeconds: 20, transientMaxSeconds: 20 } })
  const accepted = await user!.unstuck('run', writeTasks('claude', ['npm run check']), '--detach', '--json')
  expect(accepted, accepted.stderr).toMatchObject({ code: 0 })
  const taskNow = async (): Promise<Printed> => (await user!.lines('tasks'))[0]?.[0] as Printed
  const failed = await until('the task waits', async () => {
    const task = await taskNow()
    return task?.place === 'failed' ? task : undefined
  })
  expect(failed.retry).toMatchObject({ reason: 'provider_overloaded', count: 1 })

  // The engine and its parent are killed; the next command starts another.
  expect(user!.crash()).toBeGreaterThan(0)
  const goal = (JSON.parse(accepted.stdout) as Printed).id as string
  await user!.unstuck('clean')
  const waiting = await taskNow()
  expect([waiting.place, waiting.retry?.at]).toEqual(['failed', failed.retry.at])

  await until('the task is done', async () => (await taskNow()).place === 'done')
  const events = await user!.events(goal)
  expectRecovery(events, { worker: 'claude', issue: /^API Error: 529 /, action: 'WAIT_AND_REQUEUE' })
  const [requeued] = ofType(events, 'task.requeued')
  expect(Date.parse(requeued?.at)).toBeGreaterThanOrEqual(Date.parse(failed.retry.at))
  expect((await runsOf()).map(({ state }) => state)).toEqual(['failed', 'success'])
})

test.runIf(isLongForm)('a check whose script does not exist is dropped after the work of Codex', async () => {
  await open(() => [{ write: { path: 'made.txt', content: 'made\n' } }, { text: 'Made.' }])
  putUnderGit(user!)
  const goal = goalOf(await user!.unstuck('run', writeTasks('codex', ['npm run lint', 'npm run check']), '--json'))
  expect(goal).toMatchObject({ state: 'ready', tasks: [{ status: 'done', commands: ['npm run check'] }] })
  const [run] = await runsOf()
  expect(run?.verdict).toMatchObject({
    outcome: 'verified',
    checks: [{ command: 'npm run check', exitCode: 0 }],
    dropped: [{ command: 'npm run lint' }],
  })
  expectRecovery(await user!.events(goal.id), {
    worker: 'codex',
    issue: /package\.json has no script "lint"/,
    action: 'DROP_COMMAND',
  })
})
