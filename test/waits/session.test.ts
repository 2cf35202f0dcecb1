/**
 * A session as a user would have it: ten tasks, each with a fault of its own, and an agent that mends its work when it is told. All of
 * them land without a question. Three that no agent can mend are one question each.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { AgentFault, Job } from '../../bench/autonomy/job.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

let scene: Scene
afterEach(async () => scene.clear())

const agentFile = join(import.meta.dirname, '..', '..', 'bench', 'autonomy', 'agent.ts')

const scripted: FaultAgent = {
  driver: 'command',
  program: [process.execPath, agentFile, '--jobs', 'TOP/repo/jobs.json', '--memory', 'TOP/outside'],
}

const moduleOf = (value: number): string => `export const answer = ${value}\n`

/** Red on the base, where there is no such module. */
const testOf = (name: string, more = ''): string =>
  `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { appendFileSync, readFileSync } from 'node:fs'
${more}
test('the answer of ${name}', async () => {
  assert.equal((await import('../src/${name}.mjs')).answer, 42)
})
`

/** Fails at the first and then at every third time. */
const flake = `test('the clock', () => {
  appendFileSync('TOP/outside/flaky', '.')
  assert.notEqual(readFileSync('TOP/outside/flaky', 'utf8').length % 3, 1)
})`

const faults = {
  plain: 'none',
  red: 'wrong first',
  unknown: 'unknown exit once',
  crash: 'crash once',
  hang: 'hang once',
  overload: 'overload',
  limit: 'limit',
  later: 'not now once',
  idle: 'nothing once',
  flaky: 'none',
} as const satisfies Record<string, AgentFault>

/** Left again at every start, whatever the agent is told. */
const leftFile: Record<string, string> = { stray: 'scratch.md', secret: '.env' }

const hopeless = { stray: 'stray file', secret: 'stray file', never: 'never right' } as const satisfies Record<
  string,
  AgentFault
>

const titleOf = (name: string): string => `Write the module ${name} now`

const jobOf = ([name, fault]: [string, AgentFault]): Job => ({
  ...{
    match: titleOf(name),
    fault,
    seconds: 5,
    told: fault === 'wrong first' ? `the answer of ${name}` : 'no such words',
  },
  right: [{ path: `src/${name}.mjs`, after: moduleOf(42) }],
  wrong: [{ path: `src/${name}.mjs`, after: moduleOf(41) }],
  ...(leftFile[name] === undefined ? {} : { file: leftFile[name] }),
})

const clocks = {
  maxParallel: 3,
  retry: { transientBaseSeconds: 1, transientMaxSeconds: 4, quotaBaseSeconds: 5, quotaMaxSeconds: 20 },
  stall: { silenceSeconds: 5, afterToolResultSeconds: 5, promptSeconds: 5, lingerSeconds: 5 },
}

const tasksOf = (names: string[]) =>
  names.map((name) => ({
    ...{
      title: titleOf(name),
      instructions: titleOf(name),
      allowedPaths: [`src/${name}.mjs`, ...(name === 'secret' ? ['.env'] : [])],
    },
    commands: [`node --test test/${name}.test.mjs`],
  }))

const openSession = (all: Record<string, AgentFault>): Promise<Scene> => {
  const names = Object.keys(all)
  const tests = names.map((name) => [`test/${name}.test.mjs`, testOf(name, name === 'flaky' ? flake : '')] as const)
  const jobs = JSON.stringify(Object.entries(all).map(jobOf))
  return openScene({ scripted }, clocks, { files: { ...Object.fromEntries(tests), 'jobs.json': jobs } })
}

const onMain = (name: string): string =>
  execFileSync('git', ['show', `main:src/${name}.mjs`], { cwd: scene.root, encoding: 'utf8' })

const launchesOf = (name: string): number => {
  const file = readdirSync(join(scene.top, 'outside')).find(
    (each) => each.startsWith(`Write-the-module-${name}-`) && each.endsWith('launches'),
  )
  return readFileSync(join(scene.top, 'outside', file ?? ''), 'utf8')
    .trim()
    .split('\n').length
}

test('ten tasks with a fault each land without a question', async () => {
  scene = await openSession(faults)
  const names = Object.keys(faults)
  const goal = await scene.goal(tasksOf(names), { autoMerge: true })
  const ended = await scene.until(goal, 'done', 'awaiting_human', 'paused', 'failed')
  const opened = await scene.events(goal, 'escalation.opened')
  expect(opened.map(({ payload }) => payload)).toEqual([])
  expect(ended.state).toBe('done')
  for (const name of names) expect(onMain(name)).toBe(moduleOf(42))
  expect(launchesOf('plain')).toBe(1)
  for (const name of names.filter((each) => each !== 'plain' && each !== 'flaky'))
    expect(launchesOf(name), name).toBeGreaterThan(1)
})

test('a stray file, a secret and a check that can never pass are one question each, and nothing of them lands', async () => {
  scene = await openSession(hopeless)
  const names = Object.keys(hopeless)
  const goal = await scene.goal(tasksOf(names), { autoMerge: true })
  await scene.until(goal, 'awaiting_human', 'done', 'failed', 'paused')
  const opened = await scene.events(goal, 'escalation.opened')
  const tasks = opened.map(({ taskId }) => taskId)
  expect(opened).toHaveLength(names.length)
  expect(new Set(tasks).size).toBe(names.length)
  expect(
    execFileSync('git', ['ls-tree', '-r', '--name-only', 'main', 'src'], { cwd: scene.root, encoding: 'utf8' }),
  ).toBe('')
})
