/**
 * Recovery proposals through a real engine: an agent that finds its environment broken writes recovery.json, and the owner's lists or a
 * person decide about its command.
 */
import { execFile, type ChildProcess } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import type { EventView, TaskView } from '../../src/api/contract.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'
import { killable } from '../support/killable.ts'

const message = 'Host version "0.21.5" does not match binary version "0.27.2"'

/** Does its work, and proposes what the test put beside the repository. */
const agent: FaultAgent = {
  driver: 'command',
  program: `
const prompt = args.join(' ') + readFileSync(0, 'utf8')
const name = ['one', 'two', 'three'].find((each) => prompt.includes('TASK-' + each))
put('TOP/prompts/' + name + '-' + count('TOP/launches-' + name), prompt)
put(name + '.txt', 'made')
const proposal = 'TOP/propose-' + name + '.json'
if (existsSync(proposal)) put(process.env.UNSTUCK_RUN_DIR + '/recovery.json', readFileSync(proposal, 'utf8'))
`,
}

const files = {
  '.gitignore': 'env.ok\nnode_modules\n',
  // The environment is an ignored file, which only a command in the clone of the checks can make.
  'need.js': `if (!require('node:fs').existsSync('env.ok')) { console.error('Cannot start service: ${message}'); process.exit(1) }`,
  'outside.js': `if (!require('node:fs').existsSync('TOP/fixed')) { console.error('Cannot start service: ${message}'); process.exit(1) }`,
  'package.json': '{"name":"app","version":"1.0.0","dependencies":{"tiny":"file:dep"}}',
  'package-lock.json': JSON.stringify({
    ...{ name: 'app', version: '1.0.0', lockfileVersion: 3, requires: true },
    packages: {
      '': { name: 'app', version: '1.0.0', dependencies: { tiny: 'file:dep' } },
      dep: { name: 'tiny', version: '1.0.0' },
      'node_modules/tiny': { resolved: 'dep', link: true },
    },
  }),
  'dep/package.json': '{"name":"tiny","version":"1.0.0"}',
  'dep/index.js': 'module.exports = 1',
  'suite.js': "process.exit(require('tiny') === 1 ? 0 : 1)",
}

const tasksOf = (...names: string[]) =>
  names.map((name, index) => ({
    ...{ title: `Make ${name}`, instructions: `TASK-${name}: make ${name}.txt.`, commands: ['node need.js'] },
    ...{ allowedPaths: [`${name}.txt`], after: index === 0 ? [] : [String(index)] },
  }))

interface Proposed {
  command: string
  fallback?: string
  more?: object
}

let scene: Scene
const engines: ChildProcess[] = []
afterEach(() => scene.clear())

const text = ({ command, fallback, more = {} }: Proposed): string =>
  JSON.stringify({
    ...{ version: 1, timestamp: '2026-01-23T05:36:33Z', category: 'dependency', severity: 'blocking' },
    diagnosis: {
      error_pattern: 'Cannot (start service|find module)',
      root_cause: 'two versions of one binary',
      evidence: [`test-output.txt:3: ${message}`],
    },
    recovery: { command, expected_outcome: 'the check starts', confidence: 'high', ...more },
    ...(fallback === undefined ? {} : { fallback: { command: fallback, confidence: 'medium' } }),
  })

const propose = (name: string, proposed: Proposed | string): void =>
  writeFileSync(
    join(scene.top, `propose-${name}.json`),
    (typeof proposed === 'string' ? proposed : text(proposed)).replaceAll('TOP', scene.top),
  )

/** Each command leaves a line in a file outside, so that a test can count how often it ran. */
const mends = 'echo ran >> TOP/ran && touch env.ok'

const ran = (): number => {
  const path = join(scene.top, 'ran')
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').length : 0
}

const open = async (recovery: object | undefined, config: object = {}, options: object = {}): Promise<void> => {
  scene = await openScene(
    { agent },
    { ...(recovery === undefined ? {} : { recovery }), ...config },
    { files, ...options },
  )
}

const recoveryEvents = async (goal: string): Promise<[string, Record<string, unknown>][]> => {
  const all: EventView[] = []
  for (const type of ['proposed', 'approved', 'executed', 'failed', 'escalated', 'resolved'])
    all.push(...(await scene.events(goal, `recovery_${type}`)))
  return all.toSorted((one, other) => one.seq - other.seq).map(({ type, payload }) => [type, payload])
}

const question = async (goal: string, kind: string) =>
  scene.waitFor(`the question ${kind}`, async () =>
    (await scene.questions()).find((each) => each.goalId === goal && each.kind === kind),
  )

const isDone = (goal: string, number = 1): Promise<TaskView> =>
  scene.waitFor('the task is done', async () => {
    const task = await scene.task(goal, number)
    return task.status === 'done' ? task : undefined
  })

const cli = async (...args: string[]): Promise<{ code: number; out: string }> => {
  const bin = join(import.meta.dirname, '..', '..', 'bin', 'unstuck.js')
  const env = { ...process.env, UNSTUCK_HOME: join(scene.top, 'home') }
  return promisify(execFile)(process.execPath, [bin, ...args], { cwd: scene.root, env }).then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout + stderr }),
    (error: { code: number; stdout: string; stderr: string }) => ({
      code: error.code,
      out: error.stdout + error.stderr,
    }),
  )
}

const launches = (name: string): number => Number(readFileSync(join(scene.top, `launches-${name}`), 'utf8'))

/** The section of the format's own documentation. */
const documented = {
  enabled: true,
  auto_approve: ['npm install', 'rm -rf node_modules && npm install', 'rm -rf dist && bun run build'],
  require_human: ['rm -rf *', 'git reset --hard', 'git push', 'curl *', 'wget *'],
  max_auto_recoveries_per_run: 3,
  cooldown_seconds: 60,
  on_unknown: 'escalate',
}

test('AC-1 AC-4: a command of auto_approve runs on a broken tree before the built-in install, and one launch is enough', async () => {
  await open(documented)
  propose('one', { command: 'rm -rf node_modules && npm install' })
  const [task] = tasksOf('one')
  const goal = await scene.goal([{ ...task, commands: ['node suite.js'] }])
  await isDone(goal)
  expect(launches('one')).toBe(1)
  const command = 'rm -rf node_modules && npm install'
  expect(await recoveryEvents(goal)).toEqual([
    ['recovery_proposed', { category: 'dependency', command, confidence: 'high' }],
    ['recovery_approved', { source: 'auto', command }],
    ['recovery_executed', { command, exit_code: 0, duration_ms: expect.any(Number) }],
  ])
  const recoveries = await scene.recoveries(goal)
  expect(recoveries.map(({ playbook, status }) => [playbook, status])).toEqual([['proposed-command', 'success']])
  expect(existsSync(join(scene.root, 'node_modules'))).toBe(false)
  expect(readFileSync(join(scene.top, 'prompts', 'one-1'), 'utf8')).toContain('recovery.json')
})

test('without the section nothing is read, and the brief does not ask for it', async () => {
  await open(undefined, { playbooks: { disabled: ['check-feedback', 'fresh-feedback'] } })
  propose('one', { command: mends })
  const goal = await scene.goal(tasksOf('one'))
  await scene.until(goal, 'awaiting_human')
  expect(ran()).toBe(0)
  expect(await recoveryEvents(goal)).toEqual([])
  expect(readFileSync(join(scene.top, 'prompts', 'one-1'), 'utf8')).not.toContain('recovery.json')
})

test('AC-6 AC-7 AC-8: an unknown command asks, other work goes on, and approve-recovery runs it once', async () => {
  await open({ on_unknown: 'escalate' })
  propose('one', { command: mends })
  const [first, second] = tasksOf('one', 'two')
  const goal = await scene.goal([first ?? {}, { ...second, after: [], commands: ['node -e 0'] }])
  const asked = await question(goal, 'recovery_approval_required')
  await isDone(goal, 2)
  await scene.until(goal, 'awaiting_human')
  expect((await scene.task(goal)).status).toBe('blocked(awaiting_human)')
  expect(asked.choices.map(({ id }) => id)).toEqual(['approve', 'edit', 'reject', 'resolve', 'hint', 'cancel'])
  expect(asked.details).toContain('touch env.ok')
  expect(ran()).toBe(0)
  expect((await cli('approve-recovery', '--loop', 'g-nosuch')).code).toBe(4)
  const done = await cli('approve-recovery', '--loop', goal, '--note', 'seen before')
  expect(done).toMatchObject({ code: 0, out: expect.stringContaining('Run it: done') as string })
  expect(await cli('approve-recovery', '--loop', goal)).toMatchObject({
    ...{ code: 5, out: expect.stringContaining('already decided') as string },
  })
  await isDone(goal)
  expect(ran()).toBe(1)
  expect(launches('one')).toBe(1)
  const command = mends.replaceAll('TOP', scene.top)
  expect(await recoveryEvents(goal)).toEqual([
    ['recovery_proposed', { category: 'dependency', command, confidence: 'high' }],
    ['recovery_escalated', { reason: 'command not in auto_approve', awaiting: 'human' }],
    ['recovery_approved', { source: 'human', command }],
    ['recovery_executed', { command, exit_code: 0, duration_ms: expect.any(Number) }],
  ])
})

test('AC-8: reject-recovery skips the command, and an agent continues without it', async () => {
  await open({})
  propose('one', { command: mends })
  const goal = await scene.goal(tasksOf('one'))
  await question(goal, 'recovery_approval_required')
  propose('one', '{"version":1}')
  expect((await cli('reject-recovery', '--loop', goal, '--note', 'not here')).code).toBe(0)
  await question(goal, 'invalid_proposal')
  expect(ran()).toBe(0)
  expect(launches('one')).toBe(2)
  expect(readFileSync(join(scene.top, 'prompts', 'one-2'), 'utf8')).toContain('(not here). Continue without it')
  const events = await recoveryEvents(goal)
  expect(events).toContainEqual(['recovery_resolved', { by: 'human', method: 'rejected', note: 'not here' }])
  expect(events.at(-1)).toEqual([
    'recovery_escalated',
    {
      reason: expect.stringContaining('invalid_proposal: recovery.json: timestamp is missing') as string,
      awaiting: 'human',
    },
  ])
  expect((await cli('approve-recovery', '--loop', goal)).out).toContain('does not offer "approve"')
})

test('AC-8: resolve-recovery checks the work again as it is', async () => {
  await open({})
  propose('one', { command: 'make env' })
  const goal = await scene.goal([{ ...tasksOf('one')[0], commands: ['node outside.js'] }])
  await question(goal, 'recovery_approval_required')
  writeFileSync(join(scene.top, 'fixed'), '')
  const done = await cli('resolve-recovery', '--loop', goal, '--note', 'Ran command manually')
  expect(done.code).toBe(0)
  await isDone(goal)
  expect(launches('one')).toBe(1)
  expect(await recoveryEvents(goal)).toContainEqual([
    'recovery_resolved',
    { by: 'human', method: 'manual', note: 'Ran command manually' },
  ])
})

test('AC-3: a command without effect leads to the fallback, and that to a question', async () => {
  await open({ auto_approve: ['true', 'false'], cooldown_seconds: 0 })
  propose('one', { command: 'true', fallback: 'false' })
  const goal = await scene.goal(tasksOf('one'))
  const asked = await question(goal, 'recovery_failed')
  expect(asked.happened).toContain('`false` did not help')
  expect((await recoveryEvents(goal)).map(([type, { command }]) => [type, command])).toEqual([
    ['recovery_proposed', 'true'],
    ['recovery_approved', 'true'],
    ['recovery_executed', 'true'],
    ['recovery_failed', 'true'],
    ['recovery_approved', 'false'],
    ['recovery_failed', 'false'],
    ['recovery_escalated', undefined],
  ])
  await scene.post(`/escalations/${asked.id}/answer`, { choice: 'edit', input: 'touch env.ok', by: 'me' })
  await isDone(goal)
  expect(launches('one')).toBe(1)
})

test('AC-5: past the limit of the goal a person is asked, and a retry of the goal begins a new count', async () => {
  await open({
    auto_approve: ['touch env.ok', 'true && touch env.ok'],
    max_auto_recoveries_per_run: 1,
    cooldown_seconds: 0,
  })
  propose('one', { command: 'touch env.ok' })
  propose('two', { command: 'true && touch env.ok' })
  const goal = await scene.goal(tasksOf('one', 'two'))
  await isDone(goal)
  const asked = await question(goal, 'recovery_approval_required')
  expect(asked.happened).toContain('the limit of 1 automatic recoveries of this goal')
  propose('two', { command: 'touch env.ok' })
  await scene.post(`/goals/${goal}/retry`)
  await isDone(goal, 2)
})

test('a proposal within the cooldown waits for its end, over a restart of the engine', async () => {
  await open({ auto_approve: ['touch env.ok', 'true && touch env.ok'], cooldown_seconds: 12 })
  propose('one', { command: 'touch env.ok' })
  propose('two', { command: 'true && touch env.ok' })
  const goal = await scene.goal(tasksOf('one', 'two'))
  await isDone(goal)
  const waiting = await scene.waitFor('the task waits', async () => {
    const task = await scene.task(goal, 2)
    return task.retry?.reason === 'recovery_cooldown' ? task : undefined
  })
  expect(waiting.status).toBe('failed')
  await scene.restart()
  await isDone(goal, 2)
  expect(launches('two')).toBe(1)
  const [first, second] = await scene.events(goal, 'recovery_executed')
  expect(Date.parse(String(second?.at)) - Date.parse(String(first?.at))).toBeGreaterThan(11_500)
})

test('a kill between intent and outcome leaves the outcome unknown: the command does not run again by itself', async () => {
  await open({}, {}, { start: killable(engines) })
  const top = scene.top
  const kills = `echo ran >> ${top}/ran; kill -9 $(cat ${top}/pid); sleep 1`
  const path = join(scene.root, '.unstuck', 'config.json')
  const config = JSON.parse(readFileSync(path, 'utf8')) as object
  writeFileSync(path, JSON.stringify({ ...config, recovery: { auto_approve: [kills] } }))
  await scene.restart()
  writeFileSync(join(top, 'pid'), String(engines.at(-1)?.pid))
  propose('one', { command: kills })
  const goal = await scene.goal(tasksOf('one'))
  await scene.waitFor('the engine is gone', async () => (engines.at(-1)?.signalCode === 'SIGKILL' ? true : undefined))
  await scene.restart()
  const asked = await question(goal, 'recovery_unknown_outcome')
  expect(asked.happened).toContain('its outcome is unknown')
  expect(ran()).toBe(1)
})
