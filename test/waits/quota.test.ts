/** A limit of the account, from the words of the CLI to the task that goes on by itself, over a restart of the engine. */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { createPaint, goalLines } from '../../src/cli/render.ts'
import { limited, limitedFor } from '../recovery/limited.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'
import { isLongForm } from '../support/form.ts'

let scene: Scene
afterEach(async () => scene.clear())

test(
  'quota: the task is blocked(quota_wait) with its time, outlives the engine, and goes on when the limit resets',
  { timeout: 120_000 },
  async () => {
    scene = await openScene({ limited: limited(25) })
    const goal = await scene.goal([{}])
    const parked = await scene.waitFor('the task is parked', async () => {
      const task = await scene.task(goal)
      return task.place === 'blocked(quota_wait)' ? task : undefined
    })
    expect(parked).toMatchObject({
      retry: { reason: 'quota_wait', count: 1 },
      nextStep: { owner: 'cycle manager', text: expect.stringContaining("You've hit your limit") as string },
    })
    const at = new Date(parked.retry?.at ?? 0)
    const [view] = (await scene.get<{ goals: Parameters<typeof goalLines>[1][] }>('/status')).goals
    const now = new Date(at.getTime() - 79_000).toISOString()
    expect(goalLines(createPaint(false), view!, now).join('\n')).toMatch(
      /blocked\(quota_wait\).*\n.*quota 79s, (?:on \w{3} \d+ \w{3} )?at \d\d:/,
    )

    await scene.restart()
    expect((await scene.task(goal)).retry?.at).toEqual(parked.retry?.at)
    await scene.until(goal, 'ready')
    const runs = await scene.runs(goal)
    expect(runs.map(({ state }) => state)).toEqual(['failed', 'success'])
    expect(runs[0]).toMatchObject({ errorMeta: { failureCode: 'quota_failure', evidence: "You've hit your limit" } })
    expect(new Date(runs[1]!.startedAt).getTime()).toBeGreaterThanOrEqual(at.getTime())
    expect(await scene.recoveries(goal)).toMatchObject([
      { playbook: 'quota-wait', label: 'llm_quota', status: 'success', counted: false, rung: 2 },
    ])
    expect(await scene.questions()).toEqual([])
    const requeued = await scene.events(goal, 'task.requeued')
    expect(requeued.map(({ payload }) => payload['reason'])).toEqual(['quota_wait_retry'])
  },
)

test('a person may have a parked task tried again at once', { timeout: 60_000 }, async () => {
  const broke = `
    begin()
    if (count('TOP/starts') === 1) { end({ is_error: true, api_error_status: 400, result: 'Credit balance is too low' }); process.exit(1) }
    put('made.txt', 'made')
    end()`
  const billing = broke.replace(
    'end({ is_error',
    "print({ type: 'assistant', error: 'billing_error', message: { content: [{ type: 'text', text: 'Credit balance is too low' }] } }); end({ is_error",
  )
  scene = await openScene({ broke: { driver: 'claude', program: billing } })
  const goal = await scene.goal([{}])
  const parked = await scene.waitFor('the task is parked', async () => {
    const task = await scene.task(goal)
    return task.place === 'blocked(quota_wait)' ? task : undefined
  })
  // Nothing says when there will be credit again: the configured wait, two minutes and up to a fifth more.
  expect(parked.retry?.inSeconds).toBeGreaterThan(100)
  expect(parked.retry?.inSeconds).toBeLessThanOrEqual(144)
  await scene.post(`/tasks/${parked.id}/retry`)
  await scene.until(goal, 'ready')
})

const openFailover = (agents: Record<string, FaultAgent>, failover: string[]) =>
  openScene(agents, {}, { harness: { failover } })

const waitingFor = (goal: string, place: string) =>
  scene.waitFor(`a task is ${place}`, async () => {
    const task = await scene.task(goal)
    return task.place === place ? task : undefined
  })

const apiRetry = (code: string, status: number, attempt: number): string =>
  `print({ type: 'system', subtype: 'api_retry', attempt: ${attempt}, max_retries: 10, retry_delay_ms: 600, error_status: ${status}, error: '${code}' })`

test(
  'a wrong key and a missing model are one clear question each, without a retry that cannot help',
  { timeout: 60_000 },
  async () => {
    const missing =
      "begin(); print({ type: 'assistant', error: 'model_not_found', message: { content: [{ type: 'text', text: 'There is an issue with the selected model' }] } }); end({ is_error: true, result: 'There is an issue with the selected model' }); process.exit(1)"
    scene = await openScene(
      {
        // Would go on trying for minutes, as the real one does.
        locked: {
          driver: 'claude',
          program: `begin(); ${[1, 2, 3].map((attempt) => apiRetry('authentication_failed', 401, attempt)).join(';')}; forever()`,
        },
        unknown: { driver: 'claude', program: missing },
      },
      { maxParallel: 2 },
    )
    const [locked, unknown] = [
      await scene.goal([{ harness: 'locked' }]),
      await scene.goal([{ harness: 'unknown', model: 'm-9' }]),
    ]
    await scene.until(locked, 'awaiting_human')
    await scene.until(unknown, 'awaiting_human')
    const questions = await scene.questions()
    expect(questions).toHaveLength(2)
    const of = (goal: string) => questions.find(({ goalId }) => goalId === goal)
    expect(of(locked)?.question).toMatch(/^Task 1 ".*" stopped: harness "locked" cannot log in/)
    expect(of(locked)?.details).toMatch(/Next step: fix the login .*harness\.locked\.command.*unstuck retry t-/)
    expect(of(unknown)?.question).toMatch(/stopped: the provider of harness "unknown" does not offer the model "m-9"/)
    for (const goal of [locked, unknown]) {
      expect(await scene.recoveries(goal)).toEqual([])
      expect(await scene.runs(goal)).toHaveLength(1)
    }
  },
)

/** Another run spends the refresh token that both hold, and writes what it got; `helps`: with that login it goes well. */
const outrun = (helps: boolean, login = "'renewed'"): FaultAgent => ({
  driver: 'claude',
  program: `
    begin()
    const login = join(process.env.CLAUDE_CONFIG_DIR, '.credentials.json')
    if (${helps} && args.includes('--resume')) { put('made.txt', readFileSync(login, 'utf8')); end(); process.exit(0) }
    put(login, ${login})
    print({ type: 'assistant', error: 'authentication_failed', message: { content: [{ type: 'text', text: 'Login expired · Please run /login' }] } })
    end({ is_error: true, api_error_status: 401, result: 'Login expired · Please run /login' })
    process.exit(1)`,
})

test.runIf(isLongForm)(
  'a login that another run renewed meanwhile is taken up once, in the same session',
  { timeout: 60_000 },
  async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-login-')))
    writeFileSync(join(folder, '.credentials.json'), 'old')
    scene = await openScene(
      {
        outrun: outrun(true),
        again: outrun(false, "'renewed once more'"),
        touched: outrun(true, "readFileSync(login, 'utf8')"),
      },
      {},
      { environment: { CLAUDE_CONFIG_DIR: folder } },
    )
    const goal = await scene.goal([{ harness: 'outrun' }])
    await scene.until(goal, 'ready')
    expect(scene.show('made.txt', goal)).toBe('renewed')
    expect(await scene.recoveries(goal)).toMatchObject([
      { playbook: 'login-relaunch', label: 'auth_failure', rung: 2, status: 'success', counted: true },
    ])
    const refused = await scene.goal([{ harness: 'again' }])
    await scene.until(refused, 'awaiting_human')
    expect(await scene.recoveries(refused)).toMatchObject([{ playbook: 'login-relaunch', status: 'failed' }])
    expect((await scene.questions()).map(({ question }) => question)).toEqual([
      expect.stringMatching(
        /stopped: harness "again" cannot log in .* Tried: restarted the agent with the renewed login once/,
      ),
    ])
    // Its file was written as well, with the login that was refused.
    const touched = await scene.goal([{ harness: 'touched' }])
    await scene.until(touched, 'awaiting_human')
    expect(await scene.recoveries(touched)).toEqual([])
    rmSync(folder, { recursive: true })
  },
)

test(
  'with harness.failover another harness goes on with the work, and the first is left alone',
  { timeout: 90_000 },
  async () => {
    const worn = limitedFor(3600, 'worn').replace(
      'if (Date.now() < resets) {',
      "if (Date.now() < resets) {\n      put('half.txt', 'half')",
    )
    const helper: FaultAgent = {
      driver: 'codex',
      program: `
    print({ type: 'thread.started', thread_id: 'thread-1' })
    print({ type: 'turn.started' })
    put('made.txt', args.join(' ') + readFileSync('half.txt', 'utf8'))
    print({ type: 'turn.completed', usage: { input_tokens: 10, output_tokens: 1, cached_input_tokens: 0 } })`,
    }
    scene = await openFailover({ worn: { driver: 'claude', program: worn }, helper }, ['gemini', 'worn', 'helper'])
    const goal = await scene.goal([{ harness: 'worn' }])
    await scene.until(goal, 'ready')
    expect((await scene.runs(goal)).map(({ harness, state }) => [harness, state])).toEqual([
      ['worn', 'failed'],
      ['helper', 'success'],
    ])
    expect(await scene.recoveries(goal)).toMatchObject([
      { playbook: 'harness-failover', status: 'success', counted: false },
    ])
    expect(scene.show('made.txt', goal)).toContain('(harness worn) ended by a limit of its account')
    expect(await scene.questions()).toEqual([])
    const { limits } = await scene.get<{ limits: { harnesses: string[] }[] }>('/status')
    expect(limits).toMatchObject([{ harnesses: ['worn'] }])
  },
)

test.runIf(isLongForm)(
  'work that one harness does not get right goes on with the next one, which is told what fails',
  { timeout: 120_000 },
  async () => {
    const able: FaultAgent = {
      driver: 'command',
      program: `put('told.txt', args.join(' ')); if (existsSync('wrong.txt')) put('made.txt', 'made')`,
    }
    scene = await openFailover({ unable: { driver: 'command', program: `put('wrong.txt', 'wrong')` }, able }, [
      'unable',
      'able',
    ])
    const goal = await scene.goal([{ harness: 'unable' }])
    await scene.until(goal, 'ready')
    expect((await scene.recoveries(goal)).map(({ playbook, status }) => [playbook, status])).toEqual([
      ['check-feedback', 'failed'],
      ['fresh-feedback', 'failed'],
      ['feedback-elsewhere', 'success'],
    ])
    expect(scene.show('told.txt', goal)).toContain('node check.js')
    expect(scene.show('wrong.txt', goal)).toBe('wrong')
    expect(await scene.questions()).toEqual([])
    // Its account is not at its limit: other tasks may go on with it.
    const { limits } = await scene.get<{ limits: unknown[] }>('/status')
    expect(limits).toEqual([])
  },
)

test.runIf(isLongForm)(
  'a task that is queued for a limited account begins under the harness of harness.failover',
  { timeout: 90_000 },
  async () => {
    const helper: FaultAgent = {
      driver: 'claude',
      program: "begin(); put(args.length + '.txt', args.join(' ')); put('made.txt', 'made'); end()",
    }
    const worn: FaultAgent = { driver: 'claude', program: limitedFor(3600, 'worn') }
    scene = await openFailover({ worn, helper }, ['helper'])
    const first = await scene.goal([{ harness: 'worn' }])
    await scene.until(first, 'ready')
    const later = await scene.goal([{ harness: 'worn' }])
    await scene.until(later, 'ready')
    expect((await scene.runs(later)).map(({ harness, state }) => [harness, state])).toEqual([['helper', 'success']])
    const [started] = await scene.events(later, 'run.started')
    expect(started?.payload).toMatchObject({ harness: 'helper', insteadOf: 'worn' })
    expect(await scene.recoveries(later)).toEqual([])
  },
)

test.runIf(isLongForm)(
  'where every account is at its limit the task waits for the one that it uses now',
  { timeout: 90_000 },
  async () => {
    const agents = {
      one: { driver: 'claude', program: limitedFor(3600, 'one') },
      two: { driver: 'claude', program: limitedFor(1800, 'two') },
    } as const
    scene = await openFailover(agents, ['two'])
    const goal = await scene.goal([{ harness: 'one' }])
    const parked = await waitingFor(goal, 'blocked(quota_wait)')
    expect(parked.harness).toBe('two')
    expect(parked.retry?.inSeconds).toBeGreaterThan(1700)
    expect(parked.retry?.inSeconds).toBeLessThanOrEqual(1860)
    expect(await scene.recoveries(goal)).toMatchObject([
      { playbook: 'harness-failover', status: 'failed' },
      { playbook: 'quota-wait', status: 'acting' },
    ])
    // A model is known to one harness alone.
    const chosen = await scene.goal([{ harness: 'one', model: 'm-1' }])
    expect((await waitingFor(chosen, 'queued')).nextStep).toMatchObject({ text: 'the limit of one resets' })
  },
)
