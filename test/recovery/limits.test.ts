/** A limit of the account, from the words of the CLI to the task that goes on by itself, over a restart of the engine. */
import { afterEach, expect, test } from 'vitest'
import { createPaint, goalLines } from '../../src/cli/render.ts'
import { openScene, type Agent, type Scene } from './scene.ts'

let scene: Scene
afterEach(async () => scene.clear())

/** Refuses until `seconds` after it was first asked, in the words of the subscription's limit. Counts its starts. */
const limitedFor = (seconds: number, name: string): string => `
    begin()
    count('TOP/starts-${name}')
    const first = 'TOP/first-${name}'
    if (!existsSync(first)) put(first, String(Date.now()))
    const resets = Number(readFileSync(first, 'utf8')) + ${seconds}000
    if (Date.now() < resets) {
      print({ type: 'rate_limit_event', rate_limit_info: { status: 'rejected', resetsAt: resets / 1000, rateLimitType: 'five_hour' } })
      print({ type: 'assistant', error: 'rate_limit', message: { content: [{ type: 'text', text: "You've hit your limit" }] } })
      end({ is_error: true, api_error_status: 429, result: "You've hit your limit" })
      process.exit(1)
    }
    put('made.txt', 'made')
    end()`

const limited = (seconds: number): Agent => ({ driver: 'claude', program: limitedFor(seconds, 'limited') })

test(
  'quota: the task is blocked(quota_wait) with its time, outlives the engine, and goes on when the limit resets',
  { timeout: 120_000 },
  async () => {
    scene = await openScene({ limited: limited(14) })
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
      /blocked\(quota_wait\).*\n.*quota 79s, at \d\d:/,
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

const openFailover = (agents: Record<string, Agent>, failover: string[]) =>
  openScene(agents, {}, { harness: { failover } })

const waitingFor = (goal: string, place: string) =>
  scene.waitFor(`a task is ${place}`, async () => {
    const task = await scene.task(goal)
    return task.place === place ? task : undefined
  })

test(
  'an account at its limit gets no launch from any goal, also after a restart, and all go on when it resets',
  { timeout: 120_000 },
  async () => {
    const twin = `begin(); count('TOP/starts-twin'); put('made.txt', 'made'); end()`
    scene = await openScene(
      { limited: limited(16), other: { driver: 'claude', program: twin } },
      { maxParallel: 3, limits: { runSeconds: 100 } },
    )
    const first = await scene.goal([{ harness: 'limited' }])
    await waitingFor(first, 'blocked(quota_wait)')
    const second = await scene.goal([{ harness: 'limited' }])
    const third = await scene.goal([{ harness: 'other' }])
    const [limit] = (await scene.get<{ limits: { account: string; harnesses: string[]; until: string }[] }>('/status'))
      .limits
    expect(limit).toMatchObject({
      account: expect.stringMatching(/^claude:[0-9a-f]{12}$/) as string,
      harnesses: ['limited'],
    })
    // Another account is not in its way.
    await scene.until(third, 'ready')
    const held = await scene.task(second)
    expect(held).toMatchObject({
      place: 'queued',
      nextStep: { owner: 'dispatcher', text: 'the account of limited is free again', at: limit?.until },
    })
    await scene.restart()
    await scene.until(first, 'ready')
    await scene.until(second, 'ready')
    // Its only run began after the limit had reset: nothing was started to be refused.
    const [run, ...more] = await scene.runs(second)
    expect(more).toEqual([])
    expect(new Date(run!.startedAt).getTime()).toBeGreaterThanOrEqual(Date.parse(limit!.until))
    expect(await scene.questions()).toEqual([])
    expect((await scene.events(first, 'account.limited')).length).toBe(1)
  },
)

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
    expect(of(locked)?.question).toMatch(/^Harness "locked" cannot log in/)
    expect(of(locked)?.details).toMatch(/Next step: mend the login .*harness\.locked\.command.*unstuck retry t-/)
    expect(of(unknown)?.question).toMatch(/^The provider of harness "unknown" does not have the model "m-9"/)
    for (const goal of [locked, unknown]) {
      expect(await scene.recoveries(goal)).toEqual([])
      expect(await scene.runs(goal)).toHaveLength(1)
    }
  },
)

test('the run after a limit goes on from the work of the one before, and is told so', { timeout: 90_000 }, async () => {
  const program = limitedFor(8, 'halfway').replace(
    'if (Date.now() < resets) {',
    `if (Date.now() < resets) {
      put('half.txt', 'half'); put('sub/more.txt', 'more')
      print({ type: 'assistant', message: { content: [{ type: 'text', text: 'The first half is there.' }] } })`,
  )
  const asked = program.replace(
    "put('made.txt', 'made')",
    "put('made.txt', args.join(' ') + readFileSync('half.txt', 'utf8'))",
  )
  scene = await openScene({ halfway: { driver: 'claude', program: asked } })
  const goal = await scene.goal([{}])
  await scene.until(goal, 'ready')
  expect(scene.show('half.txt', goal)).toBe('half')
  expect(scene.show('sub/more.txt', goal)).toBe('more')
  const brief = scene.show('made.txt', goal)
  expect(brief).toContain('The attempt before this one (harness halfway) was ended by a limit of its account')
  expect(brief).toContain('- added: half.txt\n- added: sub/more.txt')
  expect(brief).toContain('Its last words: The first half is there.')
})

test(
  'with harness.failover another harness goes on with the work, and the first is left alone',
  { timeout: 90_000 },
  async () => {
    const worn = limitedFor(3600, 'worn').replace(
      'if (Date.now() < resets) {',
      "if (Date.now() < resets) {\n      put('half.txt', 'half')",
    )
    const helper: Agent = {
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
    expect(scene.show('made.txt', goal)).toContain('(harness worn) was ended by a limit of its account')
    expect(await scene.questions()).toEqual([])
    const { limits } = await scene.get<{ limits: { harnesses: string[] }[] }>('/status')
    expect(limits).toMatchObject([{ harnesses: ['worn'] }])
  },
)

test(
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
    expect((await waitingFor(chosen, 'queued')).nextStep).toMatchObject({ text: 'the account of one is free again' })
  },
)
