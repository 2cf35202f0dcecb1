/** `unstuck policy`: the whole command line, without an engine where the files are enough, and on a store where they are not. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runHere } from '../cli/in-process.ts'
import { openScene, type Scene } from '../recovery/scene.ts'

let scene: Scene
let goal = ''
let task = ''
beforeAll(async () => {
  const program = `put('made.txt', 'made'); put('other/file.txt', 'x'); put('ops/a.txt', 'x')`
  const config = { deniedPaths: ['ops'], policyRecovery: { useLlm: false } }
  const files = { 'tracked.log': 'x\n', '.gitignore': '*.cache\n' }
  scene = await openScene({ made: { driver: 'command', program } }, config, { files })
  goal = await scene.goal([{ allowedPaths: ['made.txt'] }])
  await scene.waitFor('the run has failed', async () =>
    (await scene.runs(goal)).find(({ state }) => state === 'failed') === undefined ? undefined : true,
  )
  task = (await scene.task(goal)).id
})
afterAll(() => scene.clear())

const unstuck = async (args: string[], environment: Record<string, string> = {}) => {
  const { PATH = '', HOME = '', XDG_CACHE_HOME } = process.env
  const cache = XDG_CACHE_HOME === undefined ? {} : { XDG_CACHE_HOME }
  const env = { PATH, HOME, ...cache, UNSTUCK_HOME: join(scene.top, 'home'), ...environment }
  const { exitCode, stdout, stderr } = await runHere(args, { cwd: scene.root, environment: env })
  return { status: exitCode, stdout: stdout.trimEnd(), stderr }
}
const json = async (args: string[], environment: Record<string, string> = {}): Promise<unknown> => {
  const { status, stdout, stderr } = await unstuck([...args, '--json'], environment)
  expect([status, stderr]).toEqual([0, ''])
  return JSON.parse(stdout)
}
/** A repository in which nothing has been run: another state folder. */
const fresh = { UNSTUCK_HOME: '/nonexistent/unstuck-home' }

describe('policy explain', () => {
  test.each<[string, string, string]>([
    ['ops/a.txt', 'refused', 'denied'],
    ['.unstuck/config.json', 'refused', 'denied'],
    ['deploy/.env', 'refused', 'secret'],
    ['coverage/index.html', 'tested', 'likely_generated'],
    ['a.cache', 'left out', 'ignored'],
    ['tracked.log', 'refused', 'no_rule'],
    ['./other/file.txt', 'refused', 'no_rule'],
  ])('%s without a task: %s by %s, and nothing but files is read', async (path, decision, rule) => {
    expect(await json(['policy', 'explain', path], fresh)).toMatchObject({ decision, rule, mode: 'aggressive' })
  })

  test.each<[string, string]>([
    ['tracked.log', 'subject'],
    ['src/new.ts', 'subject'],
    ['test/new.test.ts', 'instrument'],
    ['Makefile', 'instrument'],
    ['docs/new.md', 'documentation'],
  ])('%s would be in a proof: %s', async (path, proof) => {
    expect(await json(['policy', 'explain', path], fresh)).toMatchObject({ proof })
  })

  test('says in words what decides, in which order, and where the mode comes from', async () => {
    const { status, stdout } = await unstuck(['policy', 'explain', 'ops/a.txt'], { POLICY_RECOVERY_MODE: 'balanced' })
    expect(status).toBe(0)
    expect(stdout).toMatch(
      /^ops\/a\.txt: refused \(rule denied\)\nops\/a\.txt is covered by the denied path ops \(deniedPaths of the configuration\)/,
    )
    expect(stdout).toContain('  Is it a denied path? This decides.')
    expect(stdout).toContain('Mode: balanced.')
    expect(stdout).toContain('  mode: POLICY_RECOVERY_MODE')
  })

  test('reads the paths of a task', async () => {
    expect(await json(['policy', 'explain', 'made.txt', '--task', task])).toMatchObject({
      decision: 'allowed',
      rule: 'task',
    })
    expect(await json(['policy', 'explain', 'other/file.txt', '--task', task])).toMatchObject({
      decision: 'refused',
      rule: 'no_rule',
    })
  })

  test('reads grants and learned paths, and says who, why, until when, and what would change it', async () => {
    const why = 'the report is kept there'
    const grant = await scene.post<{ id: string }>('/grants', { path: 'other/kept.txt', task, why, by: 'Ada' })
    const answer = await json(['policy', 'explain', 'other/kept.txt', '--task', task])
    expect(answer).toMatchObject({ decision: 'allowed', rule: 'grant', change: `unstuck grants revoke ${grant.id}` })
    const { from } = answer as { from: string }
    expect(from).toMatch(new RegExp(`^grant ${grant.id} to task ${task}, by Ada .* on \\d{4}-.*: ${why}; it ends on`))
    const { stdout } = await unstuck(['policy', 'explain', 'other/kept.txt', '--task', task])
    expect(stdout).toContain(`From: ${from}\nTo change it: unstuck grants revoke ${grant.id}\n`)
    await scene.post('/grants/revoke', { grant: grant.id })
    expect(await json(['policy', 'explain', 'other/kept.txt', '--task', task])).toMatchObject({ rule: 'no_rule' })
  })

  test('names the file and key of a command rule, and the variable of a generated path', async () => {
    const rule = { commandDrivenAllowedPathRules: [{ pattern: 'node', paths: ['other/'] }] }
    const environment = { POLICY_RECOVERY_CONFIG_JSON: JSON.stringify(rule), WORKER_EXTRA_GENERATED_PATHS: 'gen' }
    const byCommand = await json(['policy', 'explain', 'other/file.txt', '--task', task], environment)
    expect(byCommand).toMatchObject({
      ...{ decision: 'allowed', rule: 'command_rule' },
      because: 'other/file.txt is needed by the command "node check.js" (rule node).',
      from: 'commandDrivenAllowedPathRules (built-in + POLICY_RECOVERY_CONFIG_JSON)',
    })
    expect(await json(['policy', 'explain', 'gen/a.c'], environment)).toMatchObject({
      ...{ decision: 'left out', rule: 'generated' },
      from: 'policyRecovery.extraGeneratedPaths, set by WORKER_EXTRA_GENERATED_PATHS',
    })
  })

  test.each<[string[], number, RegExp]>([
    [['policy', 'explain', '../outside'], 2, /"\.\.\/outside" is not a file inside .*; give its path relative/],
    [['policy', 'explain'], 2, /missing required argument 'path'/],
    [['policy', 'explian', 'a'], 2, /unknown command 'explian'[^]*Did you mean explain\?/],
    [['policy', 'explain', 'a', '--task', 't-nope'], 4, /t-nope/],
    [['polic'], 2, /did you mean "unstuck policy"\?/],
    [['polic', '--json'], 2, /did you mean/],
  ])('%j ends with %d', async (args, status, text) => {
    const found = await unstuck(args)
    expect(found.stderr).toMatch(text)
    expect(found.status).toBe(status)
  })

  test('a wrong rule file is named with its key', async () => {
    const found = await unstuck(['policy', 'explain', 'a'], { POLICY_RECOVERY_CONFIG_JSON: '{"mode":"wild"}' })
    expect([found.status, found.stderr]).toEqual([
      78,
      expect.stringMatching(/POLICY_RECOVERY_CONFIG_JSON: .*mode.*"aggressive"/),
    ])
  })
})

describe('policy test', () => {
  const rules = (name: string, value: unknown): string => {
    mkdirSync(join(scene.top, 'rules'), { recursive: true })
    const path = join(scene.top, 'rules', name)
    writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))
    return path
  }
  const wider = { commandDrivenAllowedPathRules: [{ pattern: 'node', paths: ['other/'] }] }

  const own = { deniedPaths: ['ops'], policyRecovery: { useLlm: false }, requeue: { inPlaceLimit: 0, reworkDepth: 0 } }
  const counts = { paths: 2, failures: 1, checks: 0 }

  test('shows what other rules would decide otherwise, and changes nothing', async () => {
    const path = rules('wider.json', wider)
    const before = await scene.get<unknown[]>('/events?limit=1000')
    expect(await json(['policy', 'test', '--config', path])).toMatchObject({
      ...counts,
      changed: [
        {
          ...{ kind: 'path', taskId: task, title: 'Task 1', subject: 'other/file.txt' },
          before: { decision: 'refused', rule: 'no_rule' },
          after: { decision: 'allowed', rule: 'command_rule' },
          keys: ['commandDrivenAllowedPathRules'],
        },
      ],
    })
    const { status, stdout } = await unstuck(['policy', 'test', '--config', path])
    expect(status).toBe(0)
    expect(stdout).toMatch(/^1 would change .*2 changed paths and 1 failure \(0 of checks\) were decided again\.\n/)
    expect(stdout).toContain('Changed paths: refused -> allowed (1)\n')
    expect(stdout).toContain(
      `other/file.txt in task "Task 1" (${task}): refused (no_rule) -> allowed (command_rule), by commandDrivenAllowedPathRules`,
    )
    expect((await scene.task(goal)).allowedPaths).toEqual(['made.txt'])
    expect(await scene.get('/events?limit=1000')).toEqual(before)
  })

  test('shows how a failed task would have continued with other settings, and by which key', async () => {
    const path = rules('requeue.json', { ...own, requeue: { reworkDepth: 0 } })
    expect(await json(['policy', 'test', '--config', path])).toMatchObject({
      ...counts,
      changed: [
        {
          ...{ kind: 'failure', taskId: task, subject: 'policy_violation', keys: ['requeue.inPlaceLimit'] },
          before: { decision: 'a question to you', rule: 'policy_violation' },
          after: { decision: 'waits', rule: 'policy_violation_rework_suppressed_no_safe_path' },
        },
      ],
    })
    const { stdout } = await unstuck(['policy', 'test', '--config', path])
    expect(stdout).toContain('Failed runs: a question to you -> waits (1)\n')
  })

  test('says plainly that nothing would change, with how much was decided again', async () => {
    const { status, stdout } = await unstuck(['policy', 'test', '--config', rules('same.json', own)])
    expect([status, stdout]).toEqual([
      0,
      expect.stringMatching(/^0 would change .*2 changed paths and 1 failure \(0 of checks\) were decided again\.$/),
    ])
  })

  test('without a file the present settings are compared with the built-in ones', async () => {
    expect(await json(['policy', 'test'])).toMatchObject({
      ...counts,
      changed: expect.arrayContaining([
        expect.objectContaining({ subject: 'ops/a.txt', keys: ['deniedPaths'] }),
        expect.objectContaining({
          kind: 'failure',
          after: { decision: 'a question to you', rule: 'policy_violation' },
        }),
      ]) as unknown,
    })
  })

  test.each<[string, unknown, RegExp]>([
    ['key.json', { mod: 'balanced' }, /key\.json: .*mod.*mode/],
    ['value.json', { mode: 'wild' }, /value\.json: .*mode.*"conservative"/],
    ['text.json', '{', /text\.json: it is not JSON/],
    ['limit.json', { requeue: { inPlaceLimit: 'many' } }, /rules\/limit\.json: requeue\.inPlaceLimit is "many"/],
    ['name.json', { requeue: { inPlaceLimits: 1 } }, /rules\/name\.json: unknown key requeue\.inPlaceLimits/],
  ])('%s ends with 2 and names the key', async (name, value, text) => {
    const found = await unstuck(['policy', 'test', '--config', rules(name, value)])
    expect([found.status, found.stderr]).toEqual([2, expect.stringMatching(text)])
  })

  test('a file that does not exist ends with 2', async () => {
    const found = await unstuck(['policy', 'test', '--config', 'nowhere.json'])
    expect([found.status, found.stderr]).toEqual([2, expect.stringMatching(/--config: .*nowhere\.json cannot be read/)])
  })
})

// Last, because its goal is one more that the tests of `policy test` would count.
test('policy explain follows a file of the task that a commit of its goal moved', async () => {
  const made = await scene.goal([{ allowedPaths: ['tracked.log'] }])
  const { id } = await scene.task(made)
  const worktree = join(scene.top, 'beside')
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd, stdio: 'ignore' })
  git(scene.root, 'worktree', 'add', worktree, `unstuck/goal/${made}`)
  git(worktree, 'mv', 'tracked.log', 'moved.log')
  git(worktree, 'commit', '-m', 'move it')
  const explain = (path: string) => json(['policy', 'explain', path, '--task', id])
  expect(await explain('moved.log')).toMatchObject({ decision: 'allowed', rule: 'task' })
  expect(await explain('other.c')).toMatchObject({ decision: 'refused', rule: 'no_rule' })
})
