/** Two repositories with an engine of their own each, whose agents use one account: a limit that one of them met closes it for both. */
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openScene, type Scene } from '../recovery/scene.ts'
import { prepareEngineHome } from '../support/engine-home.ts'

const top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-account-')))
const home = join(top, 'home')
const program = join(top, 'agent.mjs')

/** At its limit until the file `open` is there; it counts its calls. */
const agent = `
import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
appendFileSync('${top}/calls', process.cwd() + '\\n')
const print = (event) => console.log(JSON.stringify({ session_id: 's', ...event }))
print({ type: 'system', subtype: 'init', cwd: process.cwd(), model: 'm' })
const open = existsSync('${top}/open')
if (open) writeFileSync('made.txt', 'made')
const until = new Date(Date.now() + 3_600_000).toISOString().slice(0, 16)
print({ type: 'result', subtype: 'success', is_error: !open, result: open ? 'done' : "You've hit your limit · resets " + until, total_cost_usd: 0.01 })
if (!open) process.exitCode = 1
`

let met: Scene
let other: Scene

const open = (): Promise<Scene> =>
  openScene(
    { mine: { driver: 'claude', program: [process.execPath, program] } },
    {},
    { environment: { UNSTUCK_HOME: home } },
  )

beforeAll(async () => {
  prepareEngineHome(home)
  writeFileSync(program, agent)
  met = await open()
  other = await open()
})
afterAll(async () => {
  await met?.clear()
  await other?.clear()
  rmSync(top, { recursive: true, force: true, maxRetries: 5 })
})

const calls = (): number => readFileSync(join(top, 'calls'), 'utf8').trim().split('\n').length

test('the other one starts no agent into it, says why, and goes on when a person lifts it where it was met', async () => {
  const first = await met.goal([{}])
  await met.waitFor('the limit is met', async () =>
    (await met.task(first)).status === 'blocked(quota_wait)' ? true : undefined,
  )
  const second = await other.goal([{}])
  const waiting = await other.waitFor('it waits for the account', async () => {
    const task = await other.task(second)
    return task.nextStep?.waitsFor === 'account_limit' ? task : undefined
  })
  expect(waiting.status).toBe('queued')
  const limits = async (scene: Scene) =>
    (await scene.get<{ limits: { harnesses: string[]; until: string }[] }>('/status')).limits
  expect(await limits(other)).toMatchObject(await limits(met).then((all) => all.map(({ until }) => ({ until }))))
  // After a restart too.
  await other.restart()
  await other.waitFor('it still waits', async () =>
    (await other.task(second)).nextStep?.waitsFor === 'account_limit' ? true : undefined,
  )
  expect([calls(), (await other.runs(second)).length]).toEqual([1, 0])

  writeFileSync(join(top, 'open'), '')
  const { id } = await met.task(first)
  await met.post(`/tasks/${id}/retry`)
  await met.until(first, 'ready')
  await other.until(second, 'ready')
  expect(await limits(other)).toEqual([])
  expect(calls()).toBe(3)
})
