/** `unstuck run --dry-run` refuses what the run refuses, and words after a goal file are no sentence. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { runHere } from './in-process.ts'

let top = ''
let repo = ''
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-dry-run-')))
  repo = join(top, 'repo')
  mkdirSync(join(top, 'bin'))
  writeFileSync(join(top, 'bin', 'codex'), '#!/bin/sh\n')
  chmodSync(join(top, 'bin', 'codex'), 0o755)
  execFileSync('git', ['init', '-q', repo])
  const who = ['-c', 'user.name=a', '-c', 'user.email=a@b.c']
  execFileSync('git', [...who, 'commit', '-q', '--allow-empty', '-m', 'first'], { cwd: repo })
  mkdirSync(join(repo, '.unstuck'))
  return () => rmSync(top, { recursive: true })
})

const environment = () => ({
  ...{ PATH: [join(top, 'bin'), '/usr/bin', '/bin'].join(delimiter), HOME: join(top, 'home') },
  UNSTUCK_HOME: join(top, 'state'),
})
const dryRun = (...words: string[]) =>
  runHere(['run', '--dry-run', ...words], { cwd: repo, environment: environment() })

const taskFile = (more: object = {}) =>
  writeFileSync(
    join(repo, 'tasks.json'),
    JSON.stringify({ version: 1, goal: 'Do it', tasks: [{ title: 'One', instructions: 'Do it' }], ...more }),
  )

test('a plan that the engine accepts is shown', async () => {
  taskFile()
  expect(await dryRun('tasks.json')).toMatchObject({ exitCode: 0, stderr: '' })
})

test('a contract that cannot be read refuses the plan, as it refuses the goal', async () => {
  writeFileSync(join(repo, '.unstuck', 'verify.contract.json'), '{"command": []}')
  expect((await dryRun('Do it')).exitCode).toBe(78)
})

test('a folder that is too wide refuses the plan, also where the task file names it', async () => {
  taskFile({ allowedDirs: ['/'] })
  expect((await dryRun('tasks.json')).exitCode).toBe(2)
})

test('more than the API takes refuses the plan', async () => {
  const dirs = (count: number) => Array.from({ length: count }, () => ['--allow-dir', join(top, 'bin')]).flat()
  expect((await dryRun('Do it', ...dirs(100))).exitCode).toBe(0)
  expect((await dryRun('Do it', ...dirs(101))).exitCode).toBe(2)
})

test('a word after a goal file is a usage error that names it', async () => {
  taskFile()
  const { exitCode, stderr } = await dryRun('tasks.json', 'extra.json')
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('"extra.json"')])
})

test('several words are one sentence, also where one of them is a file', async () => {
  taskFile()
  expect((await dryRun('Correct', 'tasks.json', 'here')).exitCode).toBe(0)
  expect((await dryRun('missing.json', 'is', 'needed')).exitCode).toBe(0)
})
