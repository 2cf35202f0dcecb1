import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Run } from '../../domain/run.ts'
import { claude } from '../../harness/claude.ts'
import { identityOf } from '../../platform/process.ts'
import { runPaths, type Context } from '../core/context.ts'
import { realPorts } from '../core/ports.ts'
import { createActivities } from './run-activity.ts'

const stateDir = mkdtempSync(join(tmpdir(), 'unstuck-activity-'))
afterAll(() => rmSync(stateDir, { recursive: true, force: true }))

const context = { stateDir, ports: realPorts, environment: { API_TOKEN: 'hunter2-hunter2' } } as unknown as Context
const paths = runPaths(context, 'r-1')
const launch = (number: number, tokens: number | null) => ({
  ...{ number, resumeSession: null },
  spend: tokens === null ? null : { tokens, costUsd: 0, seconds: 1 },
})
const run = (more: object): Run => ({ id: 'r-1', state: 'running', phase: 'supervise', ...more }) as unknown as Run

const say = (number: number, id: string, text: string): void => {
  mkdirSync(paths.launch(number), { recursive: true })
  const message = { id, content: [{ type: 'text', text }], usage: { input_tokens: 10, output_tokens: 5 } }
  const line = JSON.stringify({ type: 'assistant', session_id: 's', message })
  appendFileSync(join(paths.launch(number), 'stdout-000000000000'), `${line}\n`)
}

test('the last line and the tokens so far, over all launches of the run', () => {
  const activityOf = createActivities(context)
  const first = run({ launches: [launch(1, null)] })
  expect(activityOf(first, claude)).toEqual({ tokens: 0, last: null, check: null })
  say(1, 'm1', 'one')
  expect(activityOf(first, claude)).toEqual({ tokens: 15, last: 'one', check: null })
  say(1, 'm2', 'two')
  expect(activityOf(first, claude)).toEqual({ tokens: 30, last: 'two', check: null })
  const second = run({ launches: [launch(1, 30), launch(2, null)] })
  expect(activityOf(second, claude)).toEqual({ tokens: 30, last: 'two', check: null })
  say(2, 'm3', 'three')
  expect(activityOf(second, claude)).toEqual({ tokens: 45, last: 'three', check: null })
  // A new engine reads it all again.
  expect(createActivities(context)(second, claude)).toEqual({ tokens: 45, last: 'three', check: null })
})

test('the check that runs, without secrets and without its folder', () => {
  const dir = paths.check(1)
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'spec.json'), JSON.stringify({ argv: ['/usr/bin/npm', 'test', '--', 'hunter2-hunter2'] }))
  const verifying = run({ phase: 'verify', launches: [launch(1, 30)] })
  const checkOf = (): string | null => createActivities(context)(verifying, claude).check
  expect(checkOf()).toBeNull()
  writeFileSync(join(dir, 'identity.json'), JSON.stringify(identityOf(process.pid)))
  writeFileSync(join(dir, 'gate'), '')
  expect(checkOf()).toMatch(/^npm test -- (?!hunter2)\S+/)
})
