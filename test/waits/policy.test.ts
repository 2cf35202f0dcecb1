/**
 * A night with tasks that change files outside their paths: a build file that their command needs, a coverage report, a file that a
 * model has to decide about, a secret. Each ends without a person, what is merged is what the rules permit, and the next task with
 * the same report needs no second proof.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

const claude = (program: string): FaultAgent => ({ driver: 'claude', program })

/** A session that was started to answer a question gives this answer. */
const answers = (decisions: object[], then: string): string => `
if (args.some((text) => text.includes('Question: changed paths'))) {
  begin()
  end({ result: JSON.stringify({ decisions: ${JSON.stringify(decisions)}, summary: 'Decided.', confidence: 0.9 }) })
} else { begin(); ${then}; end() }`

const work = (then: string): string => `begin(); ${then}; end()`
const sentBack = "args.some((text) => text.includes('Your work is not accepted'))"

const agents: Record<string, FaultAgent> = {
  builder: claude(work("put('a/made.txt', 'made'); put('tool.json', '{\"changed\":true}')")),
  reporter: claude(
    work("put('b/made.txt', 'made'); put('coverage/lcov.info', 'agent'); put('coverage/deep/index.html', 'agent')"),
  ),
  again: claude(work("put('c/made.txt', 'made'); put('coverage/lcov.info', 'other')")),
  allowed: claude(
    answers(
      [{ path: 'shared/list.txt', action: 'allow', reason: 'the task needs the entry' }],
      "put('d/made.txt', 'made'); put('shared/list.txt', 'entry')",
    ),
  ),
  mixed: claude(
    answers(
      [
        { path: 'base.txt', action: 'discard', reason: 'a slip' },
        { path: 'notes.txt', action: 'deny', reason: 'not part of this task' },
        { path: 'src/**', action: 'allow', reason: 'everything' },
      ],
      `if (${sentBack}) rmSync('notes.txt', { force: true }); else { put('e/made.txt', 'made'); put('base.txt', 'changed'); put('notes.txt', 'mine') }`,
    ).replace('\n', "import { rmSync } from 'node:fs'\n"),
  ),
  leaky: claude(
    `import { rmSync } from 'node:fs'\n${work(`if (${sentBack}) rmSync('.env', { force: true }); else { put('f/made.txt', 'made'); put('.env', 'TOKEN=1') }`)}`,
  ),
  partly: claude(
    `import { rmSync } from 'node:fs'\n${work(`if (${sentBack}) rmSync('dist', { recursive: true }); else { put('h/made.txt', 'made'); put('report/sum.txt', 'agent'); put('dist/app.js', 'mine') }`)}`,
  ),
  // The first file breaks the check from outside of the task; the second one is what it should have changed.
  poisoned: claude(`count('TOP/poisoned'); ${work("put('shared/stale.snap', 'old'); put('i/made.txt', 'made')")}`),
  // It fails with and without that file.
  unfinished: claude(
    `const start = count('TOP/unfinished'); ${work("put('shared/stale.snap', 'old'); if (start > 1) put('j/made.txt', 'made')")}`,
  ),
  mover: claude(`import { rmSync } from 'node:fs'\n${work("put('l/new.txt', 'some text\\n'); rmSync('k/old.txt')")}`),
  follower: claude(work("put('l/new.txt', 'changed')")),
  alone: claude(work("put('g/made.txt', 'made'); put('dist/app.js', 'written by hand')")),
}

const files = {
  'tool.json': '{}\n',
  'base.txt': 'base\n',
  'k/old.txt': 'some text\n',
  'shared/list.txt': '',
  'cover.js': `const fs = require('node:fs')
fs.mkdirSync('coverage/deep', { recursive: true })
fs.writeFileSync('coverage/lcov.info', 'measured')
fs.mkdirSync('report', { recursive: true })
fs.writeFileSync('report/sum.txt', 'measured')
process.exit(fs.existsSync(process.argv[2] + '/made.txt') ? 0 : 1)`,
  'done.js': "process.exit(require('node:fs').existsSync(process.argv[2] + '/made.txt') ? 0 : 1)",
  'snap.js': `const { existsSync } = require('node:fs')
process.exit(existsSync('shared/stale.snap') || !existsSync(process.argv[2] + '/made.txt') ? 1 : 0)`,
  '.unstuck/policy-recovery.json': JSON.stringify({
    commandDrivenAllowedPathRules: [{ pattern: 'node', paths: ['tool.json'] }],
  }),
}

let scene: Scene
const goals = new Map<string, string>()

const goalOf = (name: string): string => goals.get(name) ?? ''

const start = async (name: string, folder: string, script: string, more: object = {}): Promise<void> => {
  const task = { allowedPaths: [`${folder}/**`], commands: [`node ${script} ${folder}`], harness: name, ...more }
  goals.set(name, await scene.goal([task]))
}

beforeAll(async () => {
  scene = await openScene(agents, { maxParallel: 3, policyRecovery: { useLlm: true } }, { files })
  await start('builder', 'a', 'done.js')
  await start('reporter', 'b', 'cover.js')
  await start('allowed', 'd', 'done.js')
  await start('mixed', 'e', 'done.js')
  await start('leaky', 'f', 'done.js')
  await start('alone', 'g', 'done.js')
  await start('partly', 'h', 'cover.js')
  await start('poisoned', 'i', 'snap.js')
  await start('unfinished', 'j', 'snap.js')
  await scene.until(goalOf('reporter'), 'ready', 'awaiting_human')
  await start('again', 'c', 'cover.js')
})
afterAll(() => scene.clear())

const tried = async (name: string): Promise<string[]> =>
  (await scene.recoveries(goalOf(name))).map(({ playbook, status }) => `${playbook}: ${status}`)

const has = (name: string, path: string): boolean => {
  try {
    scene.show(path, goalOf(name))
    return true
  } catch {
    return false
  }
}

test("a build file of the task's command is allowed by its rule, for the task, and merged", async () => {
  await scene.until(goalOf('builder'), 'ready')
  expect(await tried('builder')).toEqual(['policy-allow: success'])
  expect(scene.show('tool.json', goalOf('builder'))).toBe('{"changed":true}')
  const [applied] = await scene.events(goalOf('builder'), 'task.policy_recovery_applied')
  expect(applied?.payload).toMatchObject({
    action: 'allow',
    by: 'rule',
    addedAllowedPaths: ['tool.json'],
    role: 'worker',
  })
  expect((await scene.events(goalOf('builder'), 'policy.granted'))[0]?.payload).toMatchObject({
    path: 'tool.json',
    scope: 'task',
  })
})

test('a coverage report is left out when a check makes it again in a clean clone, and its folder is learned', async () => {
  await scene.until(goalOf('reporter'), 'ready')
  expect(await tried('reporter')).toEqual(['policy-discard: success'])
  expect(has('reporter', 'b/made.txt')).toBe(true)
  expect(has('reporter', 'coverage/lcov.info')).toBe(false)
  expect((await scene.events(goalOf('reporter'), 'policy.learned'))[0]?.payload).toMatchObject({ path: 'coverage' })
  expect(readFileSync(join(scene.root, '.unstuck/generated-paths.auto.txt'), 'utf8')).toContain('\ncoverage\n')
  const [run] = await scene.runs(goalOf('reporter'))
  expect(run?.verdict?.notes.join('\n')).toContain('coverage/ is not part of the work')
})

test('the next task with such a report needs no second proof: the learned path is left out before anything looks', async () => {
  await scene.until(goalOf('again'), 'ready')
  expect(await tried('again')).toEqual([])
  expect(has('again', 'coverage/lcov.info')).toBe(false)
  expect(has('again', 'c/made.txt')).toBe(true)
})

test('a file that only looks generated goes back to the agent, because no check makes it', async () => {
  await scene.until(goalOf('alone'), 'awaiting_human')
  expect(await tried('alone')).toEqual(['policy-discard: failed', 'policy-ask: failed', 'policy-feedback: failed'])
})

test('a report that a check makes is learned although another file is not made, which is not tried twice', async () => {
  await scene.until(goalOf('partly'), 'ready')
  expect(await tried('partly')).toEqual(['policy-discard: failed', 'policy-ask: failed', 'policy-feedback: success'])
  expect((await scene.events(goalOf('partly'), 'policy.learned'))[0]?.payload).toMatchObject({ path: 'report' })
  expect([has('partly', 'report/sum.txt'), has('partly', 'dist/app.js'), has('partly', 'h/made.txt')]).toEqual([
    false,
    false,
    true,
  ])
})

test('what a model allows is merged, and granted to this run only', async () => {
  await scene.until(goalOf('allowed'), 'ready')
  expect(await tried('allowed')).toEqual(['policy-ask: success'])
  expect(scene.show('shared/list.txt', goalOf('allowed'))).toBe('entry')
  const [decided] = await scene.events(goalOf('allowed'), 'task.policy_recovery_decided')
  expect(decided?.payload).toMatchObject({
    summary: 'Decided.',
    confidence: 0.9,
    counts: { allow: 1, discard: 0, deny: 0 },
  })
  expect((await scene.events(goalOf('allowed'), 'policy.granted'))[0]?.payload).toMatchObject({ scope: 'run' })
})

test('a model discards one path, refuses another, and cannot allow what is not a violation', async () => {
  await scene.until(goalOf('mixed'), 'ready')
  expect(await tried('mixed')).toEqual(['policy-ask: success', 'policy-feedback: success'])
  expect(scene.show('base.txt', goalOf('mixed'))).toBe('base')
  expect(has('mixed', 'notes.txt')).toBe(false)
  expect(has('mixed', 'e/made.txt')).toBe(true)
  const [denied] = await scene.events(goalOf('mixed'), 'task.policy_recovery_denied')
  expect(denied?.payload.text).toContain('notes.txt')
  expect(denied?.payload.text).toContain('src/**')
})

test('a secret goes back to the agent at once; no rule and no model is asked', async () => {
  await scene.until(goalOf('leaky'), 'ready')
  expect(await tried('leaky')).toEqual(['policy-feedback: success'])
  expect(has('leaky', '.env')).toBe(false)
  expect(await scene.events(goalOf('leaky'), 'task.policy_recovery_decided')).toEqual([])
  expect(existsSync(join(scene.root, '.env'))).toBe(false)
})

test('a file outside of the task that makes its check fail is left out, and no agent is called for it', async () => {
  await scene.until(goalOf('poisoned'), 'ready')
  expect(await tried('poisoned')).toEqual(['policy-exclude: success'])
  expect([has('poisoned', 'shared/stale.snap'), has('poisoned', 'i/made.txt')]).toEqual([false, true])
  expect(readFileSync(join(scene.top, 'poisoned'), 'utf8')).toBe('1')
  const [run] = await scene.runs(goalOf('poisoned'))
  expect(run?.verdict?.notes.join('\n')).toMatch(/shared\/stale\.snap is not part of the work: .*passes without it/)
})

test('a check that fails without that file as well is a matter for the agent', async () => {
  await scene.until(goalOf('unfinished'), 'ready')
  expect(await tried('unfinished')).toEqual(['check-feedback: success', 'policy-exclude: success'])
  expect(readFileSync(join(scene.top, 'unfinished'), 'utf8')).toBe('2')
})

test('a task follows its file where an earlier task moved it', async () => {
  const check = ['node -e 0']
  const goal = await scene.goal([
    { harness: 'mover', allowedPaths: ['k/**', 'l/**'], commands: check },
    { harness: 'follower', allowedPaths: ['k/old.txt'], commands: check, after: ['1'] },
  ])
  await scene.until(goal, 'ready', 'awaiting_human')
  expect(scene.show('l/new.txt', goal)).toBe('changed')
  expect(await scene.recoveries(goal)).toEqual([])
  const [told] = await scene.events(goal, 'task.paths_carried')
  expect(told?.payload).toEqual({ carried: [{ from: 'k/old.txt', to: 'l/new.txt' }] })
})
