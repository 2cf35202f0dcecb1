/** The oracle of these tests goes red by itself: for each promise, something that breaks it without the engine. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { GoalView, StatusView } from '../../src/api/contract.ts'
import { commitAll, makeRepository, put, user } from '../workspace/scene.ts'
import { commitsOf, processesIn, unclearGoals, unverifiedCommits } from './oracle.ts'

let root = ''
let base = ''
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-oracle-test-')))
  const check = "import { existsSync } from 'node:fs'\nprocess.exitCode = existsSync('work.txt') ? 0 : 1\n"
  base = makeRepository(root, { 'check.mjs': check })
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const look = (given: string[] = []): string[] => {
  const goals = [{ branch: 'unstuck/goal/1', commands: ['node check.mjs'] }]
  return unverifiedCommits({ root, base, known: new Set([base]), goals, given })
}

test.each(['main', 'side', 'unstuck/goal/1'])(
  'work on %s that does not pass the check of its base is found',
  (branch) => {
    if (branch !== 'main') user(root, 'checkout', '--quiet', '-b', branch)
    put(root, { 'check.mjs': '', 'other.txt': 'x\n' })
    const commit = commitAll(root)
    if (branch !== 'main') user(root, 'checkout', '--quiet', 'main')
    expect(look()).toEqual([expect.stringContaining(`${commit.slice(0, 8)}: node check.mjs: 1`)])
    // The change that a task asks for counts.
    expect(look(['check.mjs'])).toEqual([])
  },
)

test('a commit that brings the program of its check is found', () => {
  put(root, {
    'node_modules/.bin/node': '#!/bin/sh\nexit 0\n',
    'package.json': '{"scripts":{"test":"node check.mjs"}}',
  })
  chmodSync(join(root, 'node_modules/.bin/node'), 0o755)
  const commit = commitAll(root)
  const goals = [{ branch: 'main', commands: ['npm test'] }]
  const found = unverifiedCommits({ root, base, known: new Set([base]), goals })
  expect(found).toEqual([expect.stringContaining(`${commit.slice(0, 8)}: npm test: 1`)])
})

test('work that passes is not', () => {
  put(root, { 'work.txt': 'done\n' })
  commitAll(root)
  expect(commitsOf(root)).toHaveLength(2)
  expect(look()).toEqual([])
})

test.runIf(process.platform === 'linux')('a process without a mark that works in the folder is found', async () => {
  const child = spawn('sleep', ['300'], { cwd: root, env: {}, detached: true, stdio: 'ignore' })
  await once(child, 'spawn')
  await expect.poll(() => processesIn(root, [])).toEqual([expect.stringContaining(`${child.pid} sleep 300`)])
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(processesIn(root, [])).toEqual([])
})

test('a goal that waits without a question, or with two, is found', () => {
  const goal = (state: string): GoalView => ({ id: '1', state, reason: 'why' }) as GoalView
  const status = (questions: number): StatusView =>
    ({ escalations: Array.from({ length: questions }, () => ({ goalId: '1' })) }) as StatusView
  expect(unclearGoals(status(0), [goal('awaiting_human')])).toHaveLength(1)
  expect(unclearGoals(status(2), [goal('awaiting_human')])).toHaveLength(1)
  expect(unclearGoals(status(1), [goal('awaiting_human')])).toEqual([])
  expect(unclearGoals(status(0), [goal('failed'), goal('ready')])).toEqual([])
})
