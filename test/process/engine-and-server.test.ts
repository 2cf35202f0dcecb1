/**
 * Engines on a PostgreSQL store: a server that restarts in the middle of work, an engine that is killed, and what wakes one.
 * The server is this file's own, because its tests stop it.
 */
import { execFileSync, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { stateDirOf } from '../../src/api/state-dir.ts'
import { mustSucceed, sql } from '../../src/store/db.ts'
import { getGoal, moveGoal } from '../../src/store/goal.ts'
import { openStore } from '../../src/store/open.ts'
import { openPostgres } from '../../src/store/postgres.ts'
import { parseDatabaseUrl } from '../../src/store/postgres-location.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { openScene, type Scene, type SceneOptions } from '../recovery/scene.ts'
import { killable } from '../support/killable.ts'
import { startLossy } from './lossy.ts'
import { startServer, type Server } from '../support/server.ts'
import { isLongForm } from '../support/form.ts'

let server: Server
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server?.clear())

/** Works for a while when asked to, so that something can happen meanwhile. */
const worker = {
  command: {
    driver: 'command' as const,
    program: `
      count('TOP/starts')
      const deadline = Date.now() + 30_000
      while (existsSync('TOP/hold') && Date.now() < deadline) await new Promise((next) => setTimeout(next, 20))
      put('made.txt', 'made')
      put('by-' + Math.random() + '.txt', 'one file per attempt')`,
  },
}

const environment = (): Record<string, string> => ({ UNSTUCK_DATABASE_URL: server.url })

const opened: Scene[] = []
afterEach(async () => {
  for (const scene of opened.splice(0)) await scene.clear()
})

const open = async (options: SceneOptions = {}): Promise<Scene> => {
  const scene = await openScene(worker, {}, { environment: environment(), ...options })
  opened.push(scene)
  return scene
}

const hold = (scene: Scene): void => writeFileSync(join(scene.top, 'hold'), '')
const letGo = (scene: Scene): void => rmSync(join(scene.top, 'hold'))
const starts = (scene: Scene): number =>
  existsSync(join(scene.top, 'starts')) ? Number(readFileSync(join(scene.top, 'starts'), 'utf8')) : 0

const begun = (scene: Scene, count = 1): Promise<unknown> =>
  scene.waitFor(`the agent began ${count} time(s)`, async () => (starts(scene) >= count ? true : undefined))

const stateDirIn = async (scene: Scene): Promise<string> =>
  stateDirOf({ UNSTUCK_HOME: join(scene.top, 'home') }, (await openRepository(scene.root)).id)

const commits = (scene: Scene, goal: string): string[] =>
  execFileSync('git', ['log', '--format=%H', `main..unstuck/goal/${goal}`], { cwd: scene.root, encoding: 'utf8' })
    .trim()
    .split('\n')

/** A server and an engine at work remove files at any moment. */
const ifThere = (path: string): Buffer | undefined => {
  try {
    return readFileSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Everything that the engine wrote: no file of it may hold the password. */
const leaks = (folder: string): string[] => {
  const secrets = [server.password, encodeURIComponent(server.password)]
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => {
      const bytes = ifThere(path)
      return bytes !== undefined && secrets.some((secret) => bytes.includes(secret))
    })
}

describe('an engine on PostgreSQL', () => {
  it.runIf(isLongForm)('brings a goal to its end and writes the password nowhere', async () => {
    const scene = await open()
    const goal = await scene.goal([{}, {}, { after: ['1', '2'] }])
    await scene.until(goal, 'ready')
    expect(commits(scene, goal)).toHaveLength(3)
    expect(JSON.stringify(await scene.get(`/events?limit=1000`))).not.toContain(server.password)
    expect(leaks(scene.top)).toEqual([])
    expect(existsSync(join(await stateDirIn(scene), 'store'))).toBe(false)
  })

  it('rides out restarts of the server in the middle of work: each task is done once', async () => {
    const scene = await open()
    hold(scene)
    const goal = await scene.goal([{}, {}, {}])
    await begun(scene, 2)
    await server.stop()
    letGo(scene) // the agents end while there is no store
    await delay(1_500)
    await server.start()
    // Again at moments that nobody chose: between the phases of the runs and merges that are under way.
    for (let round = 0; round < 3; round += 1) {
      await delay(200 + 300 * round)
      await server.stop()
      await server.start()
    }
    await scene.until(goal, 'ready')
    expect(commits(scene, goal)).toHaveLength(3)
    const runs = await scene.runs(goal)
    expect(runs.filter((run) => run.state === 'success')).toHaveLength(3)
    expect(runs.filter((run) => run.state === 'failed')).toEqual([])
    expect(await scene.recoveries(goal)).toEqual([])
    expect((await scene.get<{ ok: boolean }>('/doctor')).ok).toBe(true)
  })

  it.runIf(isLongForm)(
    'goes on where an answer was lost: what the statement did is looked up, not repeated',
    async () => {
      const lossy = await startLossy(server.url, [
        { statement: 'insert into lease', answer: 'COMMIT' },
        { statement: 'update run set phase', answer: 'UPDATE 1' },
        { statement: 'delete from lease', answer: 'COMMIT' },
        { statement: 'update run set judged_at', answer: 'COMMIT' },
        { statement: 'update merge_entry', answer: 'COMMIT' },
      ])
      const scene = await open({ environment: { UNSTUCK_DATABASE_URL: lossy.url } })
      const goal = await scene.goal([{}, {}])
      await scene.until(goal, 'ready')
      expect([...lossy.open]).toEqual([])
      expect(commits(scene, goal)).toHaveLength(2)
      expect(starts(scene)).toBe(2)
      expect((await scene.runs(goal)).map((run) => run.state)).toEqual(['success', 'success'])
      expect(await scene.recoveries(goal)).toEqual([])
      await scene.clear()
      opened.length = 0
      lossy.close()
    },
  )

  it('a request during an outage fails by name, and the engine lives on', async () => {
    const scene = await open()
    await server.stop()
    await expect(scene.get('/status')).rejects.toThrow('503')
    await server.start()
    await scene.waitFor('it answers again', () =>
      scene.get('/status').then(
        () => true,
        () => undefined,
      ),
    )
  })

  it('killed in the middle of work, the next one takes the running agent up', async () => {
    const children: ChildProcess[] = []
    const scene = await open({ start: killable(children) })
    hold(scene)
    const goal = await scene.goal([{}])
    await begun(scene)
    await scene.restart()
    letGo(scene)
    await scene.until(goal, 'ready')
    expect(children[0]?.signalCode).toBe('SIGKILL')
    expect(starts(scene)).toBe(1)
    expect(await scene.events(goal, 'run.reattached')).toHaveLength(1)
    expect(commits(scene, goal)).toHaveLength(1)
  })

  it('does not begin an embedded store beside it when the URL is missing', async () => {
    const scene = await open()
    const stateDir = await stateDirIn(scene)
    await scene.clear()
    opened.length = 0
    mkdirSync(stateDir, { recursive: true })
    writeFileSync(join(stateDir, 'store.postgres'), '')
    await expect(openStore({ stateDir, environment: process.env })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    rmSync(scene.top, { recursive: true, force: true })
  })
})

describe('an outage of a store', () => {
  it('shorter than its patience is waited out; a longer one fails with a name and without the password', async () => {
    const openStore = (id: string, patienceMs: number) =>
      openPostgres({ location: parseDatabaseUrl(server.url, id), patienceMs })
    const db = await openStore('repo-patient', 10_000)
    const hasty = await openStore('repo-hasty', 200)
    await server.stop()
    const failed = await hasty.query(sql`select 1`).catch((error: unknown) => error as Error)
    expect(failed).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(String(failed)).toContain('127.0.0.1')
    for (const secret of [server.password, encodeURIComponent(server.password)])
      expect(JSON.stringify([String(failed), (failed as Error).stack, failed])).not.toContain(secret)
    // Broken idle connections are noticed first, so that the waiting statement is not the one that finds them.
    await expect(hasty.query(sql`select 1`)).rejects.toThrow()
    const waiting = db.query(sql`select 1 as one`)
    await server.start()
    expect(await waiting).toEqual([{ one: 1 }])
    await Promise.all([db.close(), hasty.close()])
  })
})

describe('a change by another process', () => {
  /** Resumes a paused goal without this engine's API, and measures until its agent works. */
  const resumeFromOutside = async (scene: Scene): Promise<number> => {
    const goal = await scene.goal([{}])
    await scene.post(`/goals/${goal}/pause`)
    await scene.until(goal, 'paused')
    await scene.waitFor('nothing runs', async () =>
      (await scene.runs(goal)).every((run) => run.state !== 'running') ? true : undefined,
    )
    const place = parseDatabaseUrl(server.url, (await openRepository(scene.root)).id)
    const db = await openPostgres({ location: place })
    const before = (await scene.events(goal, 'task.claimed')).length
    const paused = await getGoal(db, goal)
    if (paused === undefined) throw new Error('the goal is gone')
    const at = performance.now()
    await db.transaction(async (tx) => mustSucceed(await moveGoal(tx, paused, 'resumed')))
    await scene.waitFor('it is claimed', async () =>
      (await scene.events(goal, 'task.claimed')).length > before ? true : undefined,
    )
    const ms = performance.now() - at
    await db.close()
    await scene.until(goal, 'ready')
    return ms
  }

  it('is taken up at once when it notifies', async () => {
    const scene = await open()
    const ms = await resumeFromOutside(scene)
    console.log(`resumed elsewhere to claimed here: ${ms.toFixed(0)} ms with notifications`)
    expect(ms).toBeLessThan(1_000)
  })

  it.runIf(isLongForm)('is taken up by polling without notifications', async () => {
    const scene = await open({ notifications: false })
    const ms = await resumeFromOutside(scene)
    console.log(`resumed elsewhere to claimed here: ${ms.toFixed(0)} ms by polling`)
    expect(ms).toBeLessThan(20_000)
  })
})
