/** `unstuck quota` beside a limit: the owner sees in one look what waits, until when, and what was used. */
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import type { QuotaView } from '../../src/api/contract.ts'
import { runHere } from '../cli/in-process.ts'
import { limited } from '../recovery/limited.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

const agents: Record<string, FaultAgent> = {
  claude: limited(3600),
  other: { driver: 'command', program: `put('file.txt', 'done\\n')` },
}

const opened: Scene[] = []
afterEach(async () => {
  for (const scene of opened.splice(0)) await scene.clear()
})

it('names the account, the end of its limit, the tasks that wait, and what was used', async () => {
  const files = { 'check.js': `process.exit(require('node:fs').existsSync('file.txt') ? 0 : 1)` }
  const scene = await openScene(agents, { limits: { hourTokens: 1_000_000 } }, { files })
  opened.push(scene)
  const quota = async (...more: string[]) => {
    const environment = { UNSTUCK_HOME: join(scene.top, 'home') }
    const { exitCode, stdout } = await runHere(['quota', ...more], { cwd: scene.root, environment })
    expect(exitCode).toBe(0)
    return stdout
  }
  const read = async (): Promise<QuotaView> => JSON.parse(await quota('--json')) as QuotaView
  expect(await read()).toMatchObject({
    harnesses: [],
    limits: [],
    waiting: 0,
    hourTokens: { limit: 1_000_000, used: 0, until: null },
  })
  const done = await scene.goal([{ title: 'Write it', instructions: 'write', harness: 'other' }])
  await scene.until(done, 'ready')
  const waiting = await scene.goal([{ title: 'Wait', instructions: 'wait', harness: 'claude' }])
  const view = await scene.waitFor('the limit is known', async () => {
    const now = await read()
    return now.waiting === 1 ? now : undefined
  })
  expect(view.limits.map(({ harnesses }) => harnesses)).toEqual([['claude']])
  const [limit] = view.limits
  expect(new Date(limit?.until ?? 0).getTime()).toBeGreaterThan(new Date(view.at).getTime())
  expect(view.harnesses.map(({ harness }) => harness)).toContain('other')
  expect(view.harnesses.find(({ harness }) => harness === 'other')?.lastHour.seconds).toBeGreaterThan(0)
  const text = await quota()
  for (const fact of ['claude', limit?.account ?? 'no account', '1 task waits', 'limits.hourTokens', 'other:'])
    expect(text).toContain(fact)
  await scene.post(`/goals/${waiting}/cancel`)
})
