/**
 * Work that passed alone and fails on top of other work, for a cause of the machine: the probes see it in the merge queue as
 * they do in a run, and what follows is what the ladder says, not a question about the work.
 */
import { once } from 'node:events'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openScene, type Scene } from '../recovery/scene.ts'
import { isLongForm } from '../support/form.ts'

const listening = async (port = 0): Promise<Server> => {
  const made = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1')
  await once(made, 'listening')
  return made
}
const portOf = (of: Server): number => (of.address() as { port: number }).port

/** Neither ends before both have begun on the same base, so that the second to be merged is rebased. */
const pair = (name: string) => ({
  driver: 'claude' as const,
  program: `begin(); let number = 1
    try { writeFileSync('TOP/${name}-1', '', { flag: 'wx' }) } catch { number = 2; writeFileSync('TOP/${name}-2', '') }
    put('${name}-' + number + '.txt', 'made')
    const timer = setInterval(() => { if (existsSync('TOP/${name}-2')) { clearInterval(timer); end() } }, 20)`,
})

/** Passes, except where the work of both is. */
const together = (name: string, then: string): string =>
  `const { existsSync, writeFileSync } = require('node:fs')
if (existsSync('${name}-1.txt') && existsSync('${name}-2.txt')) { ${then} }`

const names = ['taken', 'away', 'stopped']
let taken: Server
let registry: Server | undefined
let registryPort: number
let scene: Scene
const goals = new Map<string, string>()
const goalOf = (name: string): string => goals.get(name) as string

const begin = async (harness: string): Promise<void> => {
  const task = { harness, commands: [`node ${harness}.js`] }
  goals.set(harness, await scene.goal([task, task]))
}

beforeAll(async () => {
  taken = await listening()
  const away = await listening()
  registryPort = portOf(away)
  away.close()
  const address = `http://127.0.0.1:${registryPort}/`
  const files = {
    '.npmrc': `registry=${address}\n`,
    'taken.js': together(
      'taken',
      `require('node:net').createServer().listen(${portOf(taken)}, '127.0.0.1', () => process.exit(0))`,
    ),
    'away.js': together(
      'away',
      `require('node:net').connect(${registryPort}, '127.0.0.1', () => process.exit(0)).on('error', () => {
        console.error('npm error code ECONNRESET\\nnpm error network request to ${address}x failed, reason: read ECONNRESET')
        process.exit(1)
      })`,
    ),
    'stopped.js': together(
      'stopped',
      `writeFileSync('TOP/checking', ''); setInterval(() => { if (existsSync('TOP/go')) process.exit(0) }, 20)`,
    ),
  }
  scene = await openScene(
    Object.fromEntries(names.map((name) => [name, pair(name)])),
    // One slot for each task: the two of a goal wait for each other.
    { maxParallel: 4, retry: { transientBaseSeconds: 1, transientMaxSeconds: 1 } },
    { files },
  )
  await begin('taken')
  await begin('away')
}, 120_000)
afterAll(async () => {
  await scene.clear()
  taken.close()
  registry?.close()
})

const placesOf = async (name: string): Promise<string[]> =>
  [(await scene.task(goalOf(name), 1)).place, (await scene.task(goalOf(name), 2)).place].toSorted()
const passes = async (name: string) =>
  (await scene.events(goalOf(name), 'merge.reverified')).map(({ payload }) => payload['passed'])
/** What probes found, with the run whose work was looked at. */
const probed = async (name: string) =>
  (await scene.events(goalOf(name), 'verify.probed')).map(({ taskId, payload }) => ({ taskId, ...payload }))

test(
  'a port that another program has: the merge waits three times, then a question about this machine',
  { timeout: 400_000 },
  async () => {
    await scene.until(goalOf('taken'), 'ready', 'awaiting_human')
    expect(await placesOf('taken')).toEqual(['blocked(awaiting_human)', 'done'])
    expect(await passes('taken')).toEqual([false, false, false, false])
    const question = (await scene.questions()).find(({ goalId }) => goalId === goalOf('taken'))
    const text = expect.stringMatching(
      new RegExp(`port ${portOf(taken)} is in use by \\S+ \\(pid ${process.pid}, not started by Unstuck\\)`),
    )
    const finding = {
      ...{ taskId: question?.taskId, command: 'node taken.js' },
      found: [{ probe: 'port', points: 'environment', text }],
    }
    expect(await probed('taken')).toEqual([finding, finding, finding, finding])
    expect(question).toMatchObject({
      question: expect.stringMatching(/is held up by this machine: port \d+ is in use by/),
    })
    const waited = { playbook: 'machine-wait', status: 'failed' }
    expect(await scene.recoveries(goalOf('taken'))).toMatchObject([waited, waited, waited])
    // Its own run had no fault.
    expect((await scene.runs(goalOf('taken'))).map(({ state }) => state)).toEqual(['success', 'success'])
  },
)

test('a registry out of reach: the merge waits, and no agent does its work again', { timeout: 400_000 }, async () => {
  const goal = goalOf('away')
  await scene.waitFor(
    'the wait, or a question',
    async () => (await scene.recoveries(goal)).at(0) ?? (await scene.questions()).find(({ goalId }) => goalId === goal),
  )
  expect(await placesOf('away')).toEqual(['blocked(awaiting_judge)', 'done'])
  // Until the registry answers, it is tried again and again: between two tries it waits.
  const step = await scene.waitFor('the merge waits', async () => {
    const steps = await Promise.all([1, 2].map(async (number) => (await scene.task(goal, number)).nextStep))
    return steps.find((next) => next?.text.startsWith('waiting to be merged')) ?? undefined
  })
  expect(step).toEqual({
    owner: 'merge queue',
    text: expect.stringMatching(/^waiting to be merged: its checks run again after "/),
    at: expect.stringMatching(/^\d{4}-/),
  })
  registry = await listening(registryPort)
  await scene.until(goal, 'ready', 'awaiting_human')
  expect(await placesOf('away')).toEqual(['done', 'done'])
  const recoveries = await scene.recoveries(goal)
  const last = recoveries.at(-1)
  expect(last).toMatchObject({
    ...{ playbook: 'transient-backoff', label: 'network_unreachable', status: 'success', counted: false },
    detail: '1 remaining check(s) ran and passed',
  })
  // Each wait but the last one was in vain, and stood between two looks.
  expect(await passes('away')).toEqual([...recoveries.map(() => false), true])
  expect(recoveries.slice(0, -1).filter(({ status }) => status !== 'failed')).toEqual([])
  const begins = (await scene.events(goal, 'merge.processing'))
    .filter(({ taskId }) => taskId === last?.taskId)
    .map(({ at }) => Date.parse(at))
  const dues = recoveries.map(({ startedAt, action }) => Date.parse(startedAt) + Number(action['delayMs']))
  expect(begins.slice(1).map((at, index) => at >= (dues[index] ?? Infinity))).toEqual(dues.map(() => true))
  const found = [{ probe: 'network', points: 'environment', text: expect.stringContaining('cannot be reached') }]
  expect(await probed('away')).toEqual(recoveries.map(() => ({ taskId: last?.taskId, command: 'node away.js', found })))
  expect((await scene.runs(goal)).map(({ state, launches }) => [state, launches.length])).toEqual([
    ['success', 1],
    ['success', 1],
  ])
  expect(scene.show('away-1.txt', goal) + scene.show('away-2.txt', goal)).toBe('mademade')
})

// The last one, because it holds the queue and ends the engine.
test.runIf(isLongForm)('a stop in the middle of the checks is no failure of them', { timeout: 400_000 }, async () => {
  await begin('stopped')
  await scene.waitFor('the checks', async () => existsSync(join(scene.top, 'checking')) || undefined)
  await scene.restart()
  writeFileSync(join(scene.top, 'go'), '')
  await scene.until(goalOf('stopped'), 'ready', 'awaiting_human')
  expect(await placesOf('stopped')).toEqual(['done', 'done'])
  expect(await passes('stopped')).toEqual([true])
  expect(await probed('stopped')).toEqual([])
  // Nothing is kept of a merge that is over.
  const merges = readdirSync(join(scene.top, 'home'), { recursive: true, encoding: 'utf8' }).filter((path) =>
    /\/merges\/./.test(path),
  )
  expect(merges).toEqual([])
})
