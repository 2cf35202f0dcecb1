/**
 * Recovery proposals through a real engine: an agent that finds its environment broken writes recovery.json, and the owner's lists or a
 * person decide about its command.
 */
import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { killable } from '../support/killable.ts'
import {
  cli,
  isDone,
  launches,
  mends,
  open,
  propose,
  question,
  ran,
  recoveryEvents,
  scene,
  tasksOf,
} from '../support/proposals.ts'
import { isLongForm } from '../support/form.ts'

const engines: ChildProcess[] = []
afterEach(() => scene.clear())

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

test.runIf(isLongForm)(
  'AC-2: after a command that helped, feedback and merges go on as usual, and the command is repeated in new clones',
  async () => {
    await open({ auto_approve: ['touch env.ok', 'true && touch env.ok'], cooldown_seconds: 0 }, { maxParallel: 2 })
    propose('one', { command: 'touch env.ok' })
    propose('two', { command: 'true && touch env.ok' })
    // Wrong at first: what its check says then is for the agent, as in any other run.
    const [one, two] = tasksOf('one', 'two').map((task) => ({ ...task, after: [] }))
    writeFileSync(
      join(scene.top, 'trick-one.mjs'),
      `import { existsSync, writeFileSync } from 'node:fs'
if (existsSync('tried.txt')) writeFileSync('twice.txt', 'right'); else writeFileSync('tried.txt', '')`,
    )
    const goal = await scene.goal([
      { ...one, allowedPaths: ['**'], commands: ['node need.js', 'node twice.js'] },
      two ?? {},
    ])
    await isDone(goal, 1)
    await isDone(goal, 2)
    expect(launches('one')).toBe(2)
    expect((await scene.recoveries(goal)).map(({ playbook, status }) => `${playbook} ${status}`).toSorted()).toEqual([
      'check-feedback success',
      'proposed-command success',
      'proposed-command success',
    ])
    // The second of the two was checked again on top of the first, in another clone.
    expect(await scene.events(goal, 'merge.reverified')).toHaveLength(1)
    expect((await scene.events(goal, 'recovery_executed')).length).toBeGreaterThan(3)
  },
)

test.runIf(isLongForm)('without the section nothing is read, and the brief does not ask for it', async () => {
  await open(undefined, { playbooks: { disabled: ['check-feedback', 'fresh-feedback'] } })
  propose('one', { command: mends })
  const goal = await scene.goal(tasksOf('one'))
  await scene.until(goal, 'awaiting_human')
  expect(ran()).toBe(0)
  // It is not read, which an event says.
  expect((await recoveryEvents(goal)).map(([type]) => type)).toEqual(['recovery_resolved'])
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
  expect(asked.choices.map(({ id }) => id)).toEqual([
    'approve',
    'always',
    'edit',
    'reject',
    'resolve',
    'hint',
    'cancel',
  ])
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

test('AC-10: changes to auto_approve take effect in the next iteration', async () => {
  await open({ auto_approve: [] })
  propose('one', { command: mends })
  const goal = await scene.goal(tasksOf('one'))
  await question(goal, 'recovery_approval_required')
  // Each request that is no GET has the settings read: from now on no agent could have changed them.
  await scene.post('/judge', { off: false, by: 'me' })
  const path = join(scene.root, '.unstuck', 'config.json')
  const config = JSON.parse(readFileSync(path, 'utf8')) as object
  const command = mends.replaceAll('TOP', scene.top)
  writeFileSync(path, JSON.stringify({ ...config, recovery: { auto_approve: [command] } }))
  // The next iteration proposes the same command; the other time makes it a new proposal.
  propose('one', { command: mends, more: { timeout_seconds: 60 } })
  expect((await cli('reject-recovery', '--loop', goal)).code).toBe(0)
  await isDone(goal)
  expect([ran(), launches('one')]).toEqual([1, 2])
  expect(await recoveryEvents(goal)).toContainEqual(['recovery_approved', { source: 'auto', command }])
  const [reloaded] = await scene.events(goal, 'config.reloaded')
  expect(reloaded?.payload).toMatchObject({
    keys: ['recovery.auto_approve'],
    changes: [{ key: 'recovery.auto_approve' }],
  })
  const log = join(scene.root, '.unstuck', 'loops', goal, 'events.jsonl')
  await scene.waitFor(
    'the log has it',
    async () => readFileSync(log, 'utf8').includes('"config.reloaded"') || undefined,
  )
})

test.runIf(isLongForm)('a proposal within the cooldown waits for its end, over a restart of the engine', async () => {
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

test.runIf(isLongForm)(
  'a kill between intent and outcome leaves the outcome unknown: the command does not run again by itself',
  async () => {
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
  },
)
