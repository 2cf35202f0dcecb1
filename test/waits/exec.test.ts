/** The clocks of `unstuck exec`: the same as a run of the engine has, around fault agents that stand still. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { isGone, openExecScene, shortClocks } from '../cli/exec-scene.ts'
import { isLongForm, shortened } from '../support/form.ts'

const { root, work, memory, program, plays, start, events, clear } = openExecScene()
afterAll(clear)

describe('an agent that stands still', () => {
  test.each(shortened(['hang', 'deaf', 'stopped'], 1))(
    '%s: is ended on two signals and goes on in its session',
    async (agent) => {
      plays(agent, 'once')
      const { code, of, result, stderr } = await events([...shortClocks, '--', 'claude', '-p', 'x'])
      expect(code, stderr).toBe(0)
      expect(of('stalled')).toMatchObject([{ payload: { stall: 'silence', quietSeconds: 1, processes: 1 } }])
      expect(of('launch')).toMatchObject([{ resumed: false }, { resumed: true }])
      expect(JSON.stringify(of('launch')[1])).toContain('for 1 s it printed nothing and used no processor time')
      expect(of('recovery')).toMatchObject([{ payload: { action_taken: 'RESTART_WITH_HINT', status: 'success' } }])
      expect(result).toMatchObject({ outcome: 'done', launches: 2, text: 'Made it.' })
      expect(readFileSync(join(work, 'made.txt'), 'utf8')).toBe('made\n')
      expect(isGone(readFileSync(memory, 'utf8'))).toBe(true)
    },
  )

  test.runIf(isLongForm)('every restart is another one, and then it has failed', async () => {
    plays('hang', 'always')
    const { code, of, result } = await events([...shortClocks, '--', 'claude', '-p', 'x'])
    expect(code).toBeGreaterThan(0)
    const { text, launches, label, outcome } = result
    expect({ launches, label, outcome }).toEqual({ launches: 6, label: 'silence', outcome: 'failed' })
    expect(text).toBe('for 1 s it printed nothing and used no processor time')
    const lines = of('launch').map((event) => JSON.stringify((event as { argv?: string[] }).argv))
    expect(new Set(lines).size).toBe(6)
  })

  test('one that computes is left alone, however silent', async () => {
    const burn = 'const until = performance.now() + 4000; while (performance.now() < until);'
    const silent = await events([...shortClocks, '--', process.execPath, '-e', burn])
    expect([silent.code, silent.of('stalled'), silent.result.launches]).toEqual([0, [], 1])
  })
})

describe('launches that end at once', () => {
  const dies = (): string => {
    const times = join(root, 'times')
    rmSync(times, { force: true })
    program('claude', `date +%s%N >> ${times}; kill -9 $$`)
    return times
  }
  const timesIn = (path: string): number[] =>
    readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((text) => Number(text) / 1e6)
  const normal = { FAILED_TASK_RETRY_COOLDOWN_MS: '60000' }

  test.runIf(isLongForm)('do not follow each other at once: each pause is longer', async () => {
    const times = dies()
    const { result } = await events(['--', 'claude', '-p', 'x'], normal)
    expect(result).toMatchObject({ outcome: 'failed', label: 'agent_died', launches: 3 })
    const [first = 0, second = 0, third = 0] = timesIn(times)
    expect(second - first).toBeGreaterThan(1000)
    expect(third - second).toBeGreaterThan(2000)
  })

  test.runIf(isLongForm)('name the proxy of the environment that does not answer', async () => {
    program('claude', `echo 'API Error: Unable to connect to API (ECONNREFUSED)' >&2; exit 1`)
    const closed = { HTTPS_PROXY: 'http://someone:hidden@127.0.0.1:9' }
    const { of, stderr } = await events([...shortClocks, '--', 'claude', '-p', 'x'], closed)
    const [first] = of('recovery')
    expect(JSON.stringify(first), stderr).toContain('the proxy of HTTPS_PROXY, 127.0.0.1:9, does not answer')
    expect(JSON.stringify(of('recovery'))).not.toContain('hidden')
  })

  test('SIGINT ends the pause', async () => {
    const times = dies()
    const { child, ended } = start(['--', 'claude', '-p', 'x'], normal)
    while (!existsSync(times)) await new Promise((resolve) => setTimeout(resolve, 20))
    child.kill('SIGINT')
    expect(await ended).toMatchObject({ code: 130 })
    expect(timesIn(times)).toHaveLength(1)
  })
})
