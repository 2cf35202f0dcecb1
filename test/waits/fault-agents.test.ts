/**
 * The fault agents of the simulation that need no clock, through the whole engine: each ends recovered or in one clear
 * question, and leaves nothing running. Those that stand still are in stalls.test.ts, what floods in test/hostile.
 */
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { processesWithEnvironment, startTimeOf } from '../../src/platform/process.ts'
import { allLines } from '../process/bench.ts'
import { faultProgram, openScene, type Scene } from '../recovery/scene.ts'

const agents = {
  'idle-once': { driver: 'claude' as const, program: faultProgram('idle', '--once', 'TOP/idle') },
  silent: { driver: 'claude' as const, program: faultProgram('idle', '--silent') },
  midline: { driver: 'claude' as const, program: faultProgram('midline', '--once', 'TOP/midline') },
  killed: { driver: 'claude' as const, program: faultProgram('midline') },
  // It says why it ended, in words that nobody knows.
  crashed: {
    driver: 'claude' as const,
    program: `begin(); if (count('TOP/crashed') === 1) { put('part.txt', 'part'); throw new TypeError('x is not a function') }
      put('made.txt', existsSync('part.txt') ? 'after part' : 'alone'); end()`,
  },
  // The same end, in words that a rule knows.
  refused: {
    driver: 'claude' as const,
    program: `begin(); if (count('TOP/refused') === 1) { console.error('Error: 529 Overloaded'); process.exit(1) }
      put('made.txt', 'made'); end()`,
  },
  // Its work is right, or becomes right by what the checks say, and its process dies each time.
  'dies-right': {
    driver: 'claude' as const,
    program: `begin(); count('TOP/dies-right'); put('made.txt', 'made'); process.kill(process.pid, 'SIGSEGV')`,
  },
  'dies-wrong': {
    driver: 'claude' as const,
    program: `begin(); put(count('TOP/dies-wrong') < 3 ? 'other.txt' : 'made.txt', 'made'); process.kill(process.pid, 'SIGSEGV')`,
  },
  // The same, and its program says each time that it failed.
  'fails-right': {
    driver: 'command' as const,
    program: `count('TOP/fails-right'); put('made.txt', 'made'); process.exitCode = 1`,
  },
  'fails-wrong': {
    driver: 'command' as const,
    program: `count('TOP/fails-wrong'); put('other.txt', 'made'); process.exitCode = 1`,
  },
  // It removes the folder in which it works.
  'gone-once': {
    driver: 'command' as const,
    program: `const { rmSync } = await import('node:fs')
      if (count('TOP/gone-once') === 1) rmSync(process.cwd(), { recursive: true }); else put('made.txt', 'made')`,
  },
  replaced: {
    driver: 'command' as const,
    program: `const { rmSync } = await import('node:fs'); const here = process.cwd()
      if (count('TOP/replaced') > 1) put('made.txt', 'made'); else { rmSync(here, { recursive: true }); put(here, 'a file') }`,
  },
  'gone-always': {
    driver: 'command' as const,
    program: `const { rmSync } = await import('node:fs'); rmSync(process.cwd(), { recursive: true }); process.exitCode = 1`,
  },
  detach: { driver: 'command' as const, program: faultProgram('detach', '--hold-pipe') },
}

let scene: Scene
const goals = new Map<string, string>()
beforeAll(async () => {
  const port = "require('node:net').createServer().listen(Number(process.argv[2]), '127.0.0.1', () => process.exit(0))"
  const config = { maxParallel: 4, retry: { transientBaseSeconds: 1, transientMaxSeconds: 2 } }
  scene = await openScene(agents, config, { files: { 'port.js': port } })
  for (const name of Object.keys(agents)) goals.set(name, await scene.goal([{ harness: name }]))
})
afterAll(async () => scene.clear())

const goalOf = (name: string): string => goals.get(name) as string
const ended = async (name: string) => {
  const goal = await scene.until(goalOf(name), 'ready', 'awaiting_human', 'paused')
  for (const { id } of await scene.runs(goal.id)) expect(processesWithEnvironment('UNSTUCK_RUN', id)).toEqual([])
  return goal.state
}
const questionsOf = async (name: string) => (await scene.questions()).filter(({ goalId }) => goalId === goalOf(name))

test('one that ends with 0 and did nothing is asked once more and does it', async () => {
  expect(await ended('idle-once')).toBe('ready')
  expect(scene.show('made.txt', goalOf('idle-once'))).toBe('made')
  expect(await scene.recoveries(goalOf('idle-once'))).toMatchObject([
    { playbook: 'no-change-restart', status: 'success' },
  ])
})

describe('is one clear question', () => {
  test.each([
    ['silent', /claude exited with 0 without its final event/],
    ['killed', /claude died of SIGKILL without having been stopped by us/],
  ])('%s', async (name, why) => {
    expect(await ended(name)).toBe('awaiting_human')
    const [question, ...more] = await questionsOf(name)
    expect(more).toEqual([])
    expect(question).toMatchObject({
      choices: [{ kind: 'hint' }, { kind: 'take_over' }, { kind: 'cancel' }],
      details: expect.stringMatching(why) as string,
    })
    const [run] = await scene.runs(goalOf(name))
    expect(run).toMatchObject({ state: 'failed', commit: null })
    // Twice started again, each time differently.
    expect((await scene.recoveries(goalOf(name))).map(({ playbook, status }) => [playbook, status])).toEqual([
      ['death-restart', 'failed'],
      ['death-restart', 'failed'],
    ])
    expect(run?.launches.map(({ hint }) => hint).filter((hint, at, all) => all.indexOf(hint) === at)).toHaveLength(3)
  })
})

test('one that is killed in the middle of a line is started again in its session and does the work', async () => {
  expect(await ended('midline')).toBe('ready')
  expect(scene.show('made.txt', goalOf('midline'))).toBe('made')
  expect(await scene.recoveries(goalOf('midline'))).toMatchObject([
    { playbook: 'death-restart', label: 'agent_died', rung: 3, status: 'success', attempt: 1, counted: true },
  ])
  const [run] = await scene.runs(goalOf('midline'))
  expect(run?.launches.map(({ resumeSession }) => resumeSession)).toEqual([null, run?.sessionId])
})

test('one that crashed with words of its own is started again in its session, on its own work', async () => {
  expect(await ended('crashed')).toBe('ready')
  expect(scene.show('made.txt', goalOf('crashed'))).toBe('after part')
  expect(await scene.recoveries(goalOf('crashed'))).toMatchObject([
    {
      ...{ playbook: 'death-restart', label: 'agent_died', status: 'success' },
      issueDetected: expect.stringMatching(/without its final event.*[^]*TypeError: x is not a function/) as string,
    },
  ])
  const [run] = await scene.runs(goalOf('crashed'))
  expect(run?.launches.map(({ resumeSession }) => resumeSession)).toEqual([null, 'session-1'])
})

test('one that dies after the work each time: a second death on the same files lets the checks decide, with a note', async () => {
  expect(await ended('dies-right')).toBe('ready')
  expect(scene.show('made.txt', goalOf('dies-right'))).toBe('made')
  const [run] = await scene.runs(goalOf('dies-right'))
  expect(run?.launches).toHaveLength(2)
  expect(run?.verdict).toMatchObject({
    outcome: 'verified',
    notes: [expect.stringMatching(/did not end its turn.*SIGSEGV/)],
  })
})

test('where the checks fail on what a dead agent left, their output is its feedback', async () => {
  expect(await ended('dies-wrong')).toBe('ready')
  const [run] = await scene.runs(goalOf('dies-wrong'))
  expect(run?.launches.length).toBeLessThanOrEqual(4)
  expect((await scene.recoveries(goalOf('dies-wrong'))).map(({ playbook }) => playbook)).toContain('check-feedback')
})

test('one that reports a failure after the work each time: what passes its checks waits for a person', async () => {
  expect(await ended('fails-right')).toBe('awaiting_human')
  const runs = await scene.runs(goalOf('fails-right'))
  expect(runs.flatMap(({ launches }) => launches)).toHaveLength(3)
  expect(runs.at(-1)?.verdict).toMatchObject({ outcome: 'verified' })
  const [question, ...more] = await questionsOf('fails-right')
  expect([question?.choices[0]?.kind, more]).toEqual(['approve', []])
  const { id } = question ?? {}
  await scene.post(`/escalations/${id}/answer`, { choice: 'approve', by: 'ada' })
  await scene.until(goalOf('fails-right'), 'ready')
  expect(scene.show('made.txt', goalOf('fails-right'))).toBe('made')
})

test('also where its checks had to wait for this machine, and pass in an attempt without an agent', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const goal = await scene.goal([{ harness: 'fails-right', commands: [`node port.js ${port}`] }])
  await scene.waitFor('the wait', async () =>
    (await scene.recoveries(goal)).some(({ playbook }) => playbook === 'machine-wait') ? true : undefined,
  )
  server.close()
  expect((await scene.until(goal, 'ready', 'awaiting_human')).state).toBe('awaiting_human')
  expect((await scene.questions()).find(({ goalId }) => goalId === goal)?.choices[0]?.kind).toBe('approve')
})

test('where the checks fail on what it left, that is what it is told before a person is asked', async () => {
  expect(await ended('fails-wrong')).toBe('awaiting_human')
  const launches = (await scene.runs(goalOf('fails-wrong'))).flatMap((run) => run.launches)
  expect(launches.length).toBeLessThanOrEqual(5)
  expect((await scene.recoveries(goalOf('fails-wrong'))).map(({ playbook }) => playbook)).toContain('check-feedback')
  expect(
    (await questionsOf('fails-wrong')).map(({ choices }) => choices.some(({ kind }) => kind === 'approve')),
  ).toEqual([false])
})

test.each(['gone-once', 'replaced'])(
  'one that removes the folder in which it works begins again in a new one: %s',
  async (name) => {
    expect(await ended(name)).toBe('ready')
    expect(scene.show('made.txt', goalOf(name))).toBe('made')
    expect(await scene.recoveries(goalOf(name))).toMatchObject([{ playbook: 'workspace-renewal', status: 'success' }])
  },
)

test('one that does so each time is one question, and a person who takes over gets a folder', async () => {
  expect(await ended('gone-always')).toBe('awaiting_human')
  const [question, ...more] = await questionsOf('gone-always')
  expect([question?.choices.map(({ kind }) => kind), more]).toEqual([['hint', 'take_over', 'cancel'], []])
  expect(await scene.recoveries(goalOf('gone-always'))).toContainEqual(
    expect.objectContaining({ playbook: 'workspace-renewal', status: 'failed' }),
  )
  await scene.post(`/tasks/${question?.taskId}/take-over`, { by: 'ada' })
  expect(existsSync((await scene.task(goalOf('gone-always'))).takenOver?.folder ?? '')).toBe(true)
})

test('an agent whose last lines match a rule does not count as dead', async () => {
  expect(await ended('refused')).toBe('ready')
  expect((await scene.recoveries(goalOf('refused'))).map(({ label, status }) => [label, status])).toEqual([
    ['provider_overloaded', 'success'],
  ])
})

test('one that leaves a process in a session of its own behind is done, and that process is ended', async () => {
  expect(await ended('detach')).toBe('ready')
  expect(scene.show('made.txt', goalOf('detach'))).toBe('made')
  const [run] = await scene.runs(goalOf('detach'))
  const launch = readdirSync(scene.top, { recursive: true, encoding: 'utf8' }).find((path) =>
    path.endsWith(`${run?.id}/launches/1`),
  )
  const pid = Number(allLines(join(scene.top, launch ?? '')).lines[0])
  expect(pid).toBeGreaterThan(1)
  expect(startTimeOf(pid)).toBeUndefined()
})
