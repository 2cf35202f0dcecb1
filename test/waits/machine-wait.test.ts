/** Work whose checks wait for this machine: they run again without a call of the agent, unless a person left a hint meanwhile. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openScene, type Scene } from '../recovery/scene.ts'
import { isLongForm } from '../support/form.ts'

const listening = async (): Promise<Server> => {
  const made = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
  await once(made, 'listening')
  return made
}

const names = ['freed', 'hinted'] as const
type Name = (typeof names)[number]
const held = new Map<Name, Server>()
let scene: Scene

beforeAll(async () => {
  for (const name of names) held.set(name, await listening())
  const portOf = (name: Name): number => ((held.get(name) as Server).address() as AddressInfo).port
  const agent = (name: Name, before = '') => ({
    driver: 'command' as const,
    program: `${before}; put('made.txt', String(count('TOP/${name}')))`,
  })
  const hold = `while (!existsSync('TOP/go')) await new Promise((next) => setTimeout(next, 20))`
  const check = (name: Name): string =>
    `require('node:net').createServer().listen(${portOf(name)}, '127.0.0.1', () => process.exit(0))`
  scene = await openScene(
    { freed: agent('freed'), hinted: agent('hinted', hold) },
    { maxParallel: 2, retry: { transientBaseSeconds: 30, transientMaxSeconds: 30 } },
    { files: { 'freed.js': check('freed'), 'hinted.js': check('hinted') } },
  )
})
afterAll(async () => {
  await scene?.clear()
  for (const server of held.values()) server.close()
})

const begin = (name: Name): Promise<string> => scene.goal([{ harness: name, commands: [`node ${name}.js`] }])
const waits = (goal: string, name: Name): Promise<unknown> =>
  scene.waitFor(`the wait of ${name}`, async () => {
    const running = (await scene.runs(goal)).some(({ state }) => state === 'running')
    return !running && (await scene.recoveries(goal)).length > 0 ? true : undefined
  })
const launchesOf = async (goal: string): Promise<number> =>
  (await scene.runs(goal)).reduce((sum, { launches }) => sum + launches.length, 0)

test('a port that becomes free: the work that is there is checked again', async () => {
  const goal = await begin('freed')
  await waits(goal, 'freed')
  held.get('freed')?.close()
  await scene.until(goal, 'ready', 'awaiting_human')
  expect(await scene.task(goal)).toMatchObject({ status: 'done' })
  expect([await launchesOf(goal), scene.show('made.txt', goal)]).toEqual([1, '1'])
  expect((await scene.recoveries(goal)).at(-1)).toMatchObject({ playbook: 'machine-wait', status: 'success' })
})

test.runIf(isLongForm)(
  'a hint that came during the attempt is read: its agent is called again, although the work is there',
  async () => {
    const goal = await begin('hinted')
    await scene.waitFor('the agent', async () => (await launchesOf(goal)) > 0 || undefined)
    await scene.post(`/tasks/${(await scene.task(goal)).id}/retry`, { hint: 'Do it better', by: 'me' })
    writeFileSync(join(scene.top, 'go'), '')
    await waits(goal, 'hinted')
    held.get('hinted')?.close()
    await scene.until(goal, 'ready', 'awaiting_human')
    expect([await launchesOf(goal), scene.show('made.txt', goal)]).toEqual([2, '2'])
  },
)

test.runIf(isLongForm)(
  'when the waits are over a person is asked, and the question is withdrawn once the port is free',
  async () => {
    const [taken, again] = [await listening(), await listening()]
    const portOf = (server: Server): number => (server.address() as AddressInfo).port
    const check = (server: Server): string =>
      `require('node:net').createServer().listen(${portOf(server)}, '127.0.0.1', () => process.exit(0))`
    const agent = (name: string) => ({
      driver: 'command' as const,
      program: `put('made.txt', String(count('TOP/${name}')))`,
    })
    const short = { transientBaseSeconds: 0.3, transientMaxSeconds: 1 }
    const other = await openScene(
      { withdrawn: agent('withdrawn'), edited: agent('edited') },
      { maxParallel: 2, retry: short },
      { files: { 'taken.js': check(taken), 'again.js': check(again) } },
    )
    try {
      const goals = {
        withdrawn: await other.goal([{ harness: 'withdrawn', commands: ['node taken.js'] }]),
        edited: await other.goal([{ harness: 'edited', commands: ['node again.js'] }]),
      }
      for (const goal of Object.values(goals)) await other.until(goal, 'awaiting_human')
      taken.close()
      await other.until(goals.withdrawn, 'ready', 'done')
      expect([other.show('made.txt', goals.withdrawn), (await other.runs(goals.withdrawn)).at(-1)?.launches]).toEqual([
        '1',
        [],
      ])
      const [expired] = await other.events(goals.withdrawn, 'escalation.expired')
      expect(expired).toBeDefined()
      const requeued = (await other.events(goals.withdrawn, 'task.requeued')).map(({ payload }) => payload['reason'])
      expect(requeued).toContain('machine_fault_passed')
      // The port of the other is still taken, so its question stands; with a hint its agent is called.
      const [question, ...more] = await other.questions()
      expect([question?.goalId, more]).toEqual([goals.edited, []])
      await other.post(`/tasks/${(await other.task(goals.edited)).id}/retry`, { hint: 'Do it better', by: 'me' })
      again.close()
      await other.until(goals.edited, 'ready', 'done')
      expect(other.show('made.txt', goals.edited)).toBe('2')
    } finally {
      await other.clear()
      for (const server of [taken, again]) server.close()
    }
  },
)

test.runIf(isLongForm)(
  'in your own folder, too, unless you changed a file meanwhile: then the agent is called, and yours is not its work',
  async () => {
    const servers = { kept: await listening(), edited: await listening() }
    const other = await openScene(
      { agent: { driver: 'command', program: `put('made.txt', String(count('TOP/launches')))` } },
      { retry: { transientBaseSeconds: 4, transientMaxSeconds: 4 } },
    )
    try {
      for (const [name, server] of Object.entries(servers)) {
        const { port } = server.address() as AddressInfo
        const check = `node -e "require('node:net').createServer().listen(${port}, '127.0.0.1', () => process.exit(0))"`
        const goal = await other.goal([{ commands: [check], allowedPaths: ['made.txt'] }], { repoMode: 'direct' })
        await other.waitFor(`the wait of ${name}`, async () => {
          const running = (await other.runs(goal)).some(({ state }) => state === 'running')
          return !running && (await other.recoveries(goal)).length > 0 ? true : undefined
        })
        if (name === 'edited') writeFileSync(join(other.root, 'mine.txt'), 'mine')
        server.close()
        await other.until(goal, 'ready', 'done', 'awaiting_human')
        expect(await other.task(goal)).toMatchObject({ status: 'done' })
        const launches = (await other.runs(goal)).reduce((sum, run) => sum + run.launches.length, 0)
        expect([name, launches]).toEqual([name, name === 'kept' ? 1 : 2])
      }
    } finally {
      await other.clear()
      for (const server of Object.values(servers)) server.close()
    }
  },
)
