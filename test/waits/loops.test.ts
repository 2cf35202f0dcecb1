/** Agents that go in circles, through the whole engine, and agents whose calls only look like it. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

const claude = (program: string): FaultAgent => ({ driver: 'claude', program })

/** The arguments of every start. */
const first = (name: string): string => `
  const start = count('TOP/${name}.starts')
  put('TOP/${name}.args.' + start, JSON.stringify(args));`
const thenDone = `if (hinted) { put('made.txt', existsSync('part.txt') ? 'after part' : 'alone'); end(); process.exit(0) }`

/** The same call with the same answer, one a line, for as long as it lives. */
const again = (calls: string): string => `let made = 0
  const next = () => { made += 1; ${calls} if (made < 5_000) setTimeout(next, 20) }
  next()`
const ask = (command: string, answer: string): string =>
  `call('c' + made, 'Bash', { command: ${command} }); answered('c' + made, ${answer});`

const circles: Record<string, FaultAgent> = {
  circling: claude(
    `${first('circling')} begin(); ${thenDone} put('part.txt', 'part'); ${again(ask(`'npm test'`, `'1 failing'`))}`,
  ),
  'ping-pong': claude(`${first('ping-pong')} begin(); ${thenDone} ${again(ask(`made % 2 ? 'ls' : 'pwd'`, `'x'`))}`),
  wandering: claude(
    `${first('wandering')} begin(); ${thenDone} put('part.txt', 'part'); ${again(ask(`'cat ' + (made * made) % 7`, `'x'`))}`,
  ),
  // As many repeated calls, but the work grows.
  growing: claude(`${first('growing')} begin(); let made = 0
    const next = () => {
      made += 1; ${ask(`'cat ' + (made * made) % 7`, `'x'`)} put('log.txt', String(made))
      if (made < 150) setTimeout(next, 20); else { put('made.txt', 'made'); end() }
    }
    next()`),
  waiting: claude(`${first('waiting')} begin(); let made = 0
    const next = () => {
      made += 1; ${ask(`'sleep 1; cat build.log'`, `'still building'`)}
      if (made < 30) setTimeout(next, 120); else { put('made.txt', 'made'); end() }
    }
    next()`),
  'for-ever': claude(`${first('for-ever')} begin(); ${again(ask(`'npm test'`, `'1 failing'`))}`),
  // Its calls of before the engine's restart are all read at once; those behind it are too few to be a circle.
  'read-again': claude(`${first('read-again')} begin(); let made = 0
    const one = () => { made += 1; ${ask(`'cat ' + (made * made) % 7`, `'x'`)} }
    const rest = (more) => { if (more > 0) { one(); setTimeout(() => rest(more - 1), 50) } else { put('made.txt', 'made'); end() } }
    const grow = () => { if (made < 100) { one(); put('log.txt', String(made)); setTimeout(grow, 10) } else { put('TOP/grown', ''); wait() } }
    const wait = () => (existsSync('TOP/go') ? rest(25) : setTimeout(wait, 50))
    grow()`),
  // Each of its own retries is told of, and none is the last.
  'endless-retries': {
    driver: 'opencode',
    program: `${first('endless-retries')} let made = 0
      const next = () => {
        made += 1
        print({ type: 'step_start', part: { messageID: 'm' + made } })
        print({ type: 'step_finish', part: { reason: 'unknown', messageID: 'm' + made } })
        if (made < 5_000) setTimeout(next, 20)
      }
      next()`,
  },
}

let scene: Scene
const goals = new Map<string, string>()
const goalOf = (name: string): string => goals.get(name) as string

beforeAll(async () => {
  scene = await openScene(circles, {
    doomLoop: { callsWithoutChange: 30 },
    retry: { transientBaseSeconds: 900 },
    maxParallel: 4,
  })
  for (const name of Object.keys(circles)) goals.set(name, await scene.goal([{ harness: name }]))
}, 120_000)
afterAll(async () => scene.clear())

const argsOf = (name: string, start: number): string[] =>
  JSON.parse(readFileSync(join(scene.top, `${name}.args.${start}`), 'utf8')) as string[]
const startsOf = (name: string): number => Number(readFileSync(join(scene.top, `${name}.starts`), 'utf8'))
const ended = (name: string) => scene.until(goalOf(name), 'ready', 'awaiting_human', 'paused')

const isLeftAlone = async (name: string): Promise<void> => {
  await ended(name)
  expect(await scene.task(goalOf(name))).toMatchObject({ status: 'done' })
  expect(await scene.recoveries(goalOf(name))).toEqual([])
  expect(startsOf(name)).toBe(1)
}

describe('goes in circles and is started afresh, with the call named', { timeout: 120_000 }, () => {
  test.each([
    ['circling', 'after part', /the same call \d+ times in a row and got the same result: Bash: npm test/],
    ['ping-pong', 'alone', /these 2 calls in turn \d+ times and got the same results: Bash: \w+ and Bash: \w+/],
    [
      'wandering',
      'after part',
      /change nothing in the workspace; the most frequent \(\d+ of the last \d+\): Bash: cat \d/,
    ],
  ])('%s', async (name, made, seen) => {
    await ended(name)
    const goal = goalOf(name)
    expect(await scene.task(goal)).toMatchObject({ status: 'done' })
    expect(scene.show('made.txt', goal)).toBe(made)
    expect(startsOf(name)).toBe(2)
    const [recovery, ...more] = await scene.recoveries(goal)
    expect(more).toEqual([])
    expect(recovery).toMatchObject({ playbook: 'doom-loop-restart', label: 'doom_loop', status: 'success' })
    expect(recovery?.issueDetected).toMatch(seen)
    const args = argsOf(name, 2)
    expect(args).not.toContain('--resume')
    expect(args.join(' ')).toMatch(seen)
    expect(args.join(' ')).toContain('Do not make that call again')
  })

  test('twice, and then one question', async () => {
    await ended('for-ever')
    const goal = goalOf('for-ever')
    expect(await scene.task(goal)).toMatchObject({ status: 'blocked(awaiting_human)' })
    expect(startsOf('for-ever')).toBe(3)
    expect((await scene.recoveries(goal)).map(({ status }) => status)).toEqual(['failed', 'failed'])
    const [run] = await scene.runs(goal)
    expect(run?.errorMeta).toMatchObject({ failureCode: 'model_doom_loop' })
    expect((await scene.questions()).filter(({ goalId }) => goalId === goal)).toMatchObject([{ kind: 'exhausted' }])
  })

  test('of its own retries, and then its provider is what failed', async () => {
    const task = await scene.waitFor('a wait', async () => {
      const found = await scene.task(goalOf('endless-retries'))
      return found.place === 'failed' ? found : undefined
    })
    expect(task.retry?.reason).toBe('provider_overloaded')
  })
})

describe('is left alone', { timeout: 120_000 }, () => {
  test.each(['growing', 'waiting'])('%s', isLeftAlone)

  test('by an engine that reads all of its calls again', async () => {
    await scene.waitFor('its growth', () => Promise.resolve(existsSync(join(scene.top, 'grown')) || undefined))
    await scene.restart()
    writeFileSync(join(scene.top, 'go'), '')
    await isLeftAlone('read-again')
  })
})
