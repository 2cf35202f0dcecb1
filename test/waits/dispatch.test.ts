/** What keeps a whole engine from taking work, told where people look: a machine that is short, a harness that is gone, a drain. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { ConfigStateView, StatusView, EventView } from '../../src/api/contract.ts'
import { openScene, type Scene } from '../recovery/scene.ts'

const agents = {
  made: {
    driver: 'command' as const,
    program: `
      count('TOP/starts')
      for (const end = Date.now() + 30_000; existsSync('TOP/hold') && Date.now() < end;) await new Promise((next) => setTimeout(next, 20))
      put('made.txt', 'made')
      put('by-' + Math.random() + '.txt', 'one file per attempt')`,
  },
}

const opened: Scene[] = []
afterEach(async () => {
  for (const scene of opened.splice(0)) await scene.clear()
})

const open = async (config: object = {}): Promise<Scene> => {
  const scene = await openScene(agents, config)
  opened.push(scene)
  return scene
}

const configure = (scene: Scene, change: (config: Record<string, unknown>) => object): void => {
  const path = join(scene.root, '.unstuck', 'config.json')
  writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>)))
}

const all = (scene: Scene, type: string): Promise<EventView[]> =>
  scene.get<EventView[]>('/events?limit=1000').then((events) => events.filter((event) => event.type === type))

describe('a queued task', () => {
  it('waits for disk, says so once, and runs when there is enough', async () => {
    const scene = await open({ admission: { minFreeDiskMb: 99_000_000 } })
    const goal = await scene.goal([{}])
    await scene.waitFor('it says what it waits for', async () =>
      /^waiting for disk: .* of 96679\.7 GB on /.test((await scene.task(goal)).nextStep?.text ?? '') ? true : undefined,
    )
    const { engines } = await scene.get<StatusView>('/status')
    expect(engines).toMatchObject([
      { state: 'online', leads: true, silent: false, harnesses: expect.arrayContaining(['made']) },
    ])
    expect(engines[0]?.waiting).toMatch(/^waiting for disk/)
    expect(await scene.runs(goal)).toEqual([])
    configure(scene, (config) => ({ ...config, admission: {} }))
    await scene.until(goal, 'ready')
    expect(await all(scene, 'dispatcher.waiting')).toHaveLength(1)
    expect(await all(scene, 'dispatcher.admitted')).toHaveLength(1)
    expect((await scene.get<StatusView>('/status')).engines[0]?.waiting).toBeNull()
  })

  it('whose harness is gone says what to do, and runs when it is back', async () => {
    const scene = await open()
    writeFileSync(join(scene.top, 'hold'), '')
    const goal = await scene.goal([{}, { after: ['1'] }])
    await scene.waitFor('the first runs', async () => (existsSync(join(scene.top, 'starts')) ? true : undefined))
    // While the goal is in progress its harness stays as it is.
    await scene.post(`/goals/${goal}/pause`)
    let kept: unknown
    configure(scene, (config) => {
      const { made, ...others } = config.harness as Record<string, unknown>
      kept = made
      return { ...config, harness: { ...others, default: 'codex' } }
    })
    // An agent runs, so a person says that the change is theirs.
    const digest = await scene.waitFor(
      'the change waits',
      async () => (await scene.get<ConfigStateView>('/config')).waiting?.digest,
    )
    await scene.post('/config/confirm', { digest })
    rmSync(join(scene.top, 'hold'))
    await scene.waitFor('the first ends', async () =>
      (await scene.runs(goal)).every(({ state }) => state === 'success') ? true : undefined,
    )
    await scene.post('/resume', { goal })
    await scene.waitFor('the second says what it lacks', async () =>
      /no running engine has harness "made"/.test((await scene.task(goal, 2)).nextStep?.text ?? '') ? true : undefined,
    )
    expect((await scene.get<{ ok: boolean }>('/doctor')).ok).toBe(true)
    configure(scene, (config) => ({ ...config, harness: { ...(config.harness as object), made: kept } }))
    await scene.until(goal, 'ready')
  })

  it('is not taken by an engine that drains; what it has begun comes to its end', async () => {
    const scene = await open()
    writeFileSync(join(scene.top, 'hold'), '')
    const goal = await scene.goal([{}, { after: ['1'] }])
    await scene.waitFor('the first runs', async () => (existsSync(join(scene.top, 'starts')) ? true : undefined))
    expect(await scene.post('/drain')).toEqual({ draining: true, running: 1 })
    await scene.waitFor('it is said', async () =>
      (await scene.get<StatusView>('/status')).engines[0]?.state === 'draining' ? true : undefined,
    )
    expect(await all(scene, 'engine.draining')).toMatchObject([{ payload: { running: 1 } }])
    rmSync(join(scene.top, 'hold'))
    await scene.waitFor('the engine has ended', () =>
      scene.get('/health').then(
        () => undefined,
        () => true,
      ),
    )
    await scene.restart()
    await scene.until(goal, 'ready')
    const runs = await scene.runs(goal)
    expect(runs.map(({ state }) => state)).toEqual(['success', 'success'])
    expect(await scene.events(goal, 'run.reattached')).toEqual([])
    expect(await all(scene, 'engine.registered')).toHaveLength(2)
  })
})
