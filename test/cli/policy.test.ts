/** `unstuck policy`: a real command line, without an engine where the files are enough, and on a store where they are not. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openScene, type Scene } from '../recovery/scene.ts'

const entry = fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))

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

/** Not `spawnSync`: the engine of the scene runs in this process and has to respond meanwhile. */
const unstuck = async (args: string[], environment: Record<string, string> = {}) => {
  const { PATH = '', HOME = '', XDG_CACHE_HOME } = process.env
  const cache = XDG_CACHE_HOME === undefined ? {} : { XDG_CACHE_HOME }
  const env = { PATH, HOME, ...cache, UNSTUCK_HOME: join(scene.top, 'home'), ...environment }
  const { exitCode, stdout, stderr } = await execa(process.execPath, [entry, ...args], {
    ...{ cwd: scene.root, env, extendEnv: false, reject: false },
  })
  return { status: exitCode, stdout, stderr }
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

  test.each<[string[], number, RegExp]>([
    [['policy', 'explain', '../outside'], 2, /"\.\.\/outside" is not a file inside .*; give its path relative/],
    [['policy', 'explain'], 2, /missing required argument 'path'/],
    [['policy', 'explian', 'a'], 2, /unknown command 'explian'[^]*Did you mean explain\?/],
    [['policy', 'explain', 'a', '--task', 't-nope'], 4, /t-nope/],
    [['polic'], 2, /did you mean "unstuck policy"\?/],
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

  test('shows what other rules would decide otherwise, and changes nothing', async () => {
    const path = rules('wider.json', wider)
    expect(await json(['policy', 'test', '--config', path])).toMatchObject({
      cases: 2,
      changed: [
        {
          taskId: task,
          path: 'other/file.txt',
          before: { allowed: false, rule: 'no_rule' },
          after: { allowed: true, rule: 'command_rule' },
        },
      ],
    })
    const { status, stdout } = await unstuck(['policy', 'test', '--config', path])
    expect(status).toBe(0)
    expect(stdout).toContain('1 of 2 stored violations would be decided otherwise')
    expect(stdout).toContain(`other/file.txt  task ${task}: refused (no_rule) -> allowed (command_rule)`)
    expect((await scene.task(goal)).allowedPaths).toEqual(['made.txt'])
  })

  test('finds no difference to the built-in rules where nothing is set', async () => {
    expect(await json(['policy', 'test'])).toEqual({ cases: 2, changed: [] })
    expect(await json(['policy', 'test'], { POLICY_RECOVERY_CONFIG_JSON: JSON.stringify(wider) })).toMatchObject({
      changed: [{}],
    })
  })

  test.each<[string, unknown, RegExp]>([
    ['key.json', { mod: 'balanced' }, /key\.json: .*mod.*mode/],
    ['value.json', { mode: 'wild' }, /value\.json: .*mode.*"conservative"/],
    ['text.json', '{', /text\.json: it is not JSON/],
  ])('%s ends with 2 and names the key', async (name, value, text) => {
    const found = await unstuck(['policy', 'test', '--config', rules(name, value)])
    expect([found.status, found.stderr]).toEqual([2, expect.stringMatching(text)])
  })

  test('a file that does not exist ends with 2', async () => {
    const found = await unstuck(['policy', 'test', '--config', 'nowhere.json'])
    expect([found.status, found.stderr]).toEqual([2, expect.stringMatching(/--config: .*nowhere\.json cannot be read/)])
  })
})
