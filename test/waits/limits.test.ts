/** What follows a limit of the account when it resets; the windows are long, so that a slow machine stays inside them. */
import { afterEach, expect, test } from 'vitest'
import { limited, limitedFor } from '../recovery/limited.ts'
import { openScene, type Scene } from '../recovery/scene.ts'

let scene: Scene
afterEach(async () => scene.clear())

const waitingFor = (goal: string, place: string) =>
  scene.waitFor(`a task is ${place}`, async () => {
    const task = await scene.task(goal)
    return task.place === place ? task : undefined
  })

test(
  'an account at its limit gets no launch from any goal, also after a restart, and all go on when it resets',
  { timeout: 240_000 },
  async () => {
    const twin = `begin(); count('TOP/starts-twin'); put('made.txt', 'made'); end()`
    scene = await openScene(
      { limited: limited(45), other: { driver: 'claude', program: twin } },
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
      status: 'queued',
      nextStep: {
        owner: 'dispatcher',
        text: 'the limit of limited resets',
        at: limit?.until,
        waitsFor: 'account_limit',
      },
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

test(
  'the run after a limit goes on from the work of the one before, and is told so',
  { timeout: 240_000 },
  async () => {
    const program = limitedFor(12, 'halfway').replace(
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
    expect(brief).toContain('The attempt before this one (harness halfway) ended by a limit of its account')
    expect(brief).toContain('- added: half.txt\n- added: sub/more.txt')
    expect(brief).toContain('Its last words: The first half is there.')
  },
)
