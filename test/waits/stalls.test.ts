/** Agents that stand still, through the whole engine: which clock ends them, what becomes of their work, and who is left alone. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTimeOf } from '../../src/platform/process.ts'
import { faultProgram, openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

const claude = (program: string): FaultAgent => ({ driver: 'claude', program })

/** Its pid at the first start, the arguments of every start, and how it goes on once it was told of its stop. */
const first = (name: string): string => `
  const start = count('TOP/${name}.starts')
  put('TOP/${name}.args.' + start, JSON.stringify(args))
  if (start === 1) put('TOP/${name}.pid', String(process.pid));`
const thenDone = `if (hinted) { put('made.txt', existsSync('part.txt') ? 'after part' : 'alone'); end(); process.exit(0) }`
const burn = (seconds: number): string => `const until = Date.now() + ${seconds * 1000}; while (Date.now() < until);`

const agents: Record<string, FaultAgent> = {
  silent: claude(`${first('silent')} begin(); ${thenDone} put('part.txt', 'part'); forever()`),
  // A tool that waits for something elsewhere, longer than silence may last; and one that never comes back.
  waiting: claude(`${first('waiting')} begin(); call('c1', 'Bash', { command: 'gh run watch' })
    setTimeout(() => { answered('c1', 'green'); put('made.txt', 'made'); end(); process.exit(0) }, 5000)`),
  'hanging-tool': claude(
    `${first('hanging-tool')} begin(); ${thenDone} put('part.txt', 'part'); call('c1', 'Bash', { command: 'npm ci' }); forever()`,
  ),
  'after-tool': claude(
    `${first('after-tool')} begin(); ${thenDone} call('c1', 'Bash', { command: 'ls' }); answered('c1', 'README'); forever()`,
  ),
  hang: { driver: 'claude', program: faultProgram('hang', '--once', 'TOP/hang.pid') },
  deaf: { driver: 'claude', program: faultProgram('deaf', '--once', 'TOP/deaf.pid') },
  stopped: { driver: 'claude', program: faultProgram('stopped', '--once', 'TOP/stopped.pid') },
  asking: {
    driver: 'command',
    program: `${first('asking')}
      if (hinted) { put('made.txt', 'made'); process.exit(0) }
      process.stdout.write('Overwrite made.txt? [y/N] '); forever()`,
  },
  curious: claude(
    `${first('curious')} begin(); ${thenDone} call('c1', 'AskUserQuestion', { questions: ['Which colour?'] }); forever()`,
  ),
  computing: claude(`${first('computing')} begin(); ${burn(6)} put('made.txt', 'made'); end()`),
  building: claude(`${first('building')} begin(); call('c1', 'Bash', { command: 'make' })
    const { spawn } = await import('node:child_process')
    spawn(process.execPath, ['-e', ${JSON.stringify(burn(6))}], { stdio: 'ignore' }).on('exit', () => {
      answered('c1', 'built'); put('made.txt', 'made'); end()
    })`),
  talking: claude(`${first('talking')} begin(); let said = 0
    const timer = setInterval(() => {
      usage(1)
      if (++said === 20) { clearInterval(timer); put('made.txt', 'made'); end() }
    }, 300)`),
  // Its session is gone when it should be resumed.
  forgetful: claude(`${first('forgetful')}
    if (args.includes('--resume')) { console.error('No conversation found with session ID: session-1'); process.exit(1) }
    begin(); if (start > 1) { put('made.txt', existsSync('part.txt') ? 'after part' : 'alone'); end(); process.exit(0) }
    put('part.txt', 'part'); forever()`),
  // Writes something new before each of its first stops, and then nothing any more.
  hopeless: claude(`${first('hopeless')} begin(); if (start <= 2) put('part' + start + '.txt', 'part'); forever()`),
  // Before it reads its prompt it waits for a server of tools that never answers.
  'hanging-server': claude(`${first('hanging-server')} const { spawn } = await import('node:child_process')
    writeFileSync('TOP/tools.js', 'setInterval(() => {}, 1000)')
    spawn(process.execPath, ['TOP/tools.js', '--token', 'not-for-you'], { stdio: 'ignore' }); forever()`),
  retrying: claude(`${first('retrying')} begin()
    print({ type: 'system', subtype: 'api_retry', attempt: 1, max_retries: 10, retry_delay_ms: 3600000, error_status: 529, error: 'overloaded' })
    forever()`),
}

const stall = {
  silenceSeconds: 3,
  afterToolResultSeconds: 2,
  toolSeconds: 8,
  promptSeconds: 2,
  probeSeconds: 1,
  lingerSeconds: 1,
}

let scene: Scene
const goals = new Map<string, string>()
const goalOf = (name: string): string => goals.get(name) as string

beforeAll(async () => {
  scene = await openScene(agents, { stall, retry: { transientBaseSeconds: 900 }, maxParallel: 4 })
  for (const name of Object.keys(agents)) goals.set(name, await scene.goal([{ harness: name }]))
}, 120_000)
afterAll(async () => scene.clear())

const argsOf = (name: string, start: number): string[] =>
  JSON.parse(readFileSync(join(scene.top, `${name}.args.${start}`), 'utf8')) as string[]
const startsOf = (name: string): number => Number(readFileSync(join(scene.top, `${name}.starts`), 'utf8'))
const ended = (name: string) => scene.until(goalOf(name), 'ready', 'awaiting_human', 'paused')

describe('is ended and started again with a hint', { timeout: 120_000 }, () => {
  test('an agent that is silent, in its session and on its own work', async () => {
    await ended('silent')
    const goal = goalOf('silent')
    expect(await scene.task(goal)).toMatchObject({ status: 'done' })
    expect(scene.show('made.txt', goal)).toBe('after part')
    const [run, ...more] = await scene.runs(goal)
    expect(more).toEqual([])
    expect(run?.launches).toHaveLength(2)
    const args = argsOf('silent', 2)
    expect(args[args.indexOf('--resume') + 1]).toBe('session-1')
    const hint = args.find((text) => text.includes('You were stopped and restarted'))
    expect(hint).toContain('for 3 s it printed nothing and used no processor time')
    expect(hint).toContain('What was written is kept in the workspace: part.txt.')
    expect(await scene.recoveries(goal)).toMatchObject([
      { playbook: 'stall-restart', label: 'silence', rung: 3, status: 'success', attempt: 1, counted: true },
    ])
    const events = await scene.events(goal, 'recovery')
    expect(events.map(({ payload }) => payload['action_taken'])).toEqual(['RESTART_WITH_HINT'])
    // What it had written was kept before the stop.
    const kept = await scene.get<{ id: string }[]>('/snapshots')
    expect(kept.some(({ id }) => id.startsWith(`${run?.id}-`))).toBe(true)
  })

  test('with what was seen told: first the quiet, then the stall', async () => {
    await ended('silent')
    const [quiet] = await scene.events(goalOf('silent'), 'run.quiet')
    const [stalled] = await scene.events(goalOf('silent'), 'run.stalled')
    expect(quiet?.payload).toMatchObject({ processes: 1 })
    expect(stalled?.payload).toMatchObject({ stall: 'silence', quietSeconds: 3, processes: 1 })
    expect(Number(stalled?.payload['cpuPercent'])).toBeLessThan(5)
  })

  test('a tool that never comes back, after its own clock and by its name', async () => {
    await ended('hanging-tool')
    const goal = goalOf('hanging-tool')
    expect(scene.show('made.txt', goal)).toBe('after part')
    expect(await scene.recoveries(goal)).toMatchObject([
      {
        ...{ playbook: 'stall-restart', label: 'hanging_tool', status: 'success' },
        issueDetected: 'the tool Bash: npm ci ran for 8 s without output or processor time',
      },
    ])
    const [stalled] = await scene.events(goal, 'run.stalled')
    expect(stalled?.payload).toMatchObject({ stall: 'hanging_tool', quietSeconds: 8 })
  })

  test('an agent whose next turn never comes after a tool result', async () => {
    await ended('after-tool')
    expect(scene.show('made.txt', goalOf('after-tool'))).toBe('alone')
    expect(await scene.recoveries(goalOf('after-tool'))).toMatchObject([
      { label: 'stuck_after_tool_result', status: 'success' },
    ])
  })

  test.each([
    ['hang', 'hangs from its start'],
    ['deaf', 'does not listen to SIGTERM'],
    ['stopped', 'has stopped itself with SIGSTOP'],
  ])('%s: a fault agent that %s', async (name) => {
    await ended(name)
    expect(scene.show('made.txt', goalOf(name))).toBe('made')
    expect(await scene.recoveries(goalOf(name))).toMatchObject([{ label: 'silence', status: 'success' }])
    const pid = Number(readFileSync(join(scene.top, `${name}.pid`), 'utf8'))
    expect(startTimeOf(pid)).toBeUndefined()
  })

  test('a program at a question that nobody will answer', async () => {
    await ended('asking')
    expect(scene.show('made.txt', goalOf('asking'))).toBe('made')
    const [recovery] = await scene.recoveries(goalOf('asking'))
    expect(recovery).toMatchObject({
      label: 'waiting_for_person',
      status: 'success',
      issueDetected: expect.stringContaining('Overwrite made.txt? [y/N]'),
    })
    expect(argsOf('asking', 2).join(' ')).toContain('Nobody can answer a question')
  })
})

test('a question of the model by a tool is one that nobody will answer', { timeout: 120_000 }, async () => {
  await ended('curious')
  expect(scene.show('made.txt', goalOf('curious'))).toBe('alone')
  expect(await scene.recoveries(goalOf('curious'))).toMatchObject([
    { label: 'waiting_for_person', issueDetected: expect.stringContaining('AskUserQuestion'), status: 'success' },
  ])
})

describe('is left alone', { timeout: 120_000 }, () => {
  test.each(['computing', 'building', 'talking', 'waiting'])('%s', async (name) => {
    await ended(name)
    expect(await scene.task(goalOf(name))).toMatchObject({ status: 'done' })
    expect(await scene.events(goalOf(name), 'run.stalled')).toEqual([])
    expect(await scene.recoveries(goalOf(name))).toEqual([])
    expect(startsOf(name)).toBe(1)
  })
})

test('a session that is not there any more is replaced by a fresh one', { timeout: 120_000 }, async () => {
  await ended('forgetful')
  expect(scene.show('made.txt', goalOf('forgetful'))).toBe('after part')
  expect(startsOf('forgetful')).toBe(3)
  expect(await scene.recoveries(goalOf('forgetful'))).toMatchObject([
    { playbook: 'stall-restart', status: 'success' },
    { playbook: 'session-replay', label: 'session_lost', status: 'success' },
  ])
  expect(argsOf('forgetful', 3).join(' ')).toContain('could not be resumed')
})

test('five calls that bring nothing new, each another one, and then one question', { timeout: 120_000 }, async () => {
  await ended('hopeless')
  const goal = goalOf('hopeless')
  expect(await scene.task(goal)).toMatchObject({ status: 'blocked(awaiting_human)' })
  expect(startsOf('hopeless')).toBe(5)
  const recoveries = await scene.recoveries(goal)
  // The second stop found new work: the first restart helped. Then nothing was added any more.
  expect(recoveries.map(({ status }) => status)).toEqual(['success', 'failed', 'failed', 'failed'])
  expect(new Set(recoveries.map(({ actionKey }) => actionKey)).size).toBe(4)
  const prompts = [1, 2, 3, 4, 5].map((start) => argsOf('hopeless', start).join('\n'))
  expect(new Set(prompts).size).toBe(5)
  expect(prompts.map((text) => text.includes('--resume'))).toEqual([false, true, false, false, false])
  const questions = (await scene.questions()).filter(({ goalId }) => goalId === goal)
  expect(questions).toMatchObject([
    { kind: 'exhausted', choices: [{ kind: 'hint' }, { kind: 'take_over' }, { kind: 'cancel' }] },
  ])
  const [run] = await scene.runs(goal)
  expect(run).toMatchObject({ state: 'failed', errorMeta: { failureCode: 'timeout' } })
})

test(
  'a program that it waits for before its first step is named, after one more try',
  { timeout: 120_000 },
  async () => {
    await ended('hanging-server')
    const goal = goalOf('hanging-server')
    expect(await scene.task(goal)).toMatchObject({ status: 'blocked(awaiting_human)' })
    expect(startsOf('hanging-server')).toBe(2)
    const [question] = (await scene.questions()).filter(({ goalId }) => goalId === goal)
    expect(JSON.stringify(question)).toMatch(/it had started node \/\S+\/tools\.js/)
    expect(JSON.stringify(question)).not.toContain('not-for-you')
  },
)

test('a CLI that said that it is retrying is its provider’s affair', { timeout: 120_000 }, async () => {
  const task = await scene.waitFor('a wait', async () => {
    const found = await scene.task(goalOf('retrying'))
    return found.place === 'failed' ? found : undefined
  })
  expect(task.retry?.reason).toBe('provider_overloaded')
  expect(await scene.recoveries(goalOf('retrying'))).toMatchObject([{ playbook: 'transient-backoff' }])
  expect(existsSync(join(scene.top, 'retrying.args.2'))).toBe(false)
})
