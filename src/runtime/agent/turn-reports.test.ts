import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { LoopRole } from '../../domain/loop.ts'
import { runPaths } from '../core/context.ts'
import { realFiles } from '../core/files.ts'
import type { RunContext } from '../core/run-context.ts'
import {
  bringReports,
  keptPlan,
  keptReport,
  layReports,
  reportsToPutBack,
  takeReports,
  writeOwnReport,
} from './turn-reports.ts'

let top = ''
let given: RunContext
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'reports-'))
  const context = { stateDir: top, ports: { files: realFiles } }
  given = { context, paths: runPaths(context, 'r-1') } as unknown as RunContext
  mkdirSync(given.paths.agentDir, { recursive: true })
})
afterEach(() => rmSync(top, { recursive: true, force: true }))

const at = (name: string): string => join(given.paths.agentDir, name)
const put = (name: string, text: string): void => {
  mkdirSync(join(at(name), '..'), { recursive: true })
  writeFileSync(at(name), text)
}
const read = (name: string): string => readFileSync(at(name), 'utf8')
const putBackAfter = (role: LoopRole): string[] => {
  const names = reportsToPutBack(given, role)
  takeReports(given, role)
  return names
}

describe('the reports of a turn', () => {
  test('are kept from the roles that may write them and put back from the others', () => {
    put('plan.md', 'the plan')
    put('tasks/one.md', '- [ ] one')
    expect(putBackAfter('planner')).toEqual([])
    put('plan.md', 'the plan, ticked')
    put('test-report.md', 'invented')
    expect(putBackAfter('worker')).toEqual(['test-report.md'])
    put('plan.md', 'all done')
    put('tasks/one.md', '- [x] one')
    put('tasks/two.md', '- [x] two')
    put('test-report.md', 'real')
    put('recovery.json', '{}')
    expect(putBackAfter('tester')).toEqual(['plan.md', 'tasks/one.md', 'tasks/two.md'])
    expect(read('plan.md')).toBe('the plan, ticked')
    expect(keptPlan(given)).toEqual([
      { file: 'plan.md', text: 'the plan, ticked' },
      { file: 'tasks/one.md', text: '- [ ] one' },
    ])
    rmSync(at('plan.md'))
    expect(putBackAfter('reviewer')).toEqual(['plan.md'])
    expect(read('plan.md')).toBe('the plan, ticked')
    expect(keptReport(given, 'test-report.md')).toBe('real')
  })

  test('that Unstuck writes are changed by no role', () => {
    for (const role of ['planner', 'worker', 'tester', 'reviewer'] as const) {
      writeOwnReport(given, 'test-results.json', '{"state":"failed"}')
      put('test-results.json', '{"state":"passed"}')
      expect(putBackAfter(role)).toEqual(['test-results.json'])
      expect(read('test-results.json')).toBe('{"state":"failed"}')
    }
  })

  test('that a turn has to make are gone when it begins', () => {
    put('review.json', '{"promise":"LOOP_COMPLETE"}')
    takeReports(given, 'reviewer')
    put('review.md', 'not by the reviewer')
    expect(layReports(given, 'reviewer')).toEqual([])
    expect(readdirSync(given.paths.agentDir)).toEqual([])
    expect(keptReport(given, 'review.json')).toBeUndefined()
  })

  test('are never read or written through a link', () => {
    const secret = join(top, 'secret.txt')
    writeFileSync(secret, 'secret')
    mkdirSync(join(top, 'elsewhere'))
    symlinkSync(secret, at('plan.md'))
    symlinkSync(join(top, 'elsewhere'), at('tasks'))
    writeFileSync(join(top, 'elsewhere', 'one.md'), 'elsewhere')
    takeReports(given, 'planner')
    expect(keptPlan(given)).toEqual([])
    symlinkSync(secret, at('goal.md'))
    writeOwnReport(given, 'goal.md', 'the goal')
    expect(readFileSync(secret, 'utf8')).toBe('secret')
    expect(read('goal.md')).toBe('the goal')
    rmSync(given.paths.agentDir, { recursive: true })
    symlinkSync(join(top, 'elsewhere'), given.paths.agentDir)
    writeOwnReport(given, 'goal.md', 'the goal')
    expect(readdirSync(join(top, 'elsewhere'))).toEqual(['one.md'])
  })

  test('that are too large, or no file, do not count', () => {
    put('plan.md', '')
    truncateSync(at('plan.md'), 2 * 1024 * 1024)
    mkdirSync(at('implementation.md'))
    takeReports(given, 'worker')
    expect(keptPlan(given)).toEqual([])
    expect(keptReport(given, 'implementation.md')).toBeUndefined()
  })

  test('go over to the next run of the task', () => {
    put('plan.md', 'the plan')
    takeReports(given, 'planner')
    const next = { ...given, paths: runPaths(given.context, 'r-2') }
    expect(bringReports(next, 'r-1')).toBe(true)
    layReports(next, 'worker')
    expect(readFileSync(join(next.paths.agentDir, 'plan.md'), 'utf8')).toBe('the plan')
    expect(bringReports(next, 'r-0')).toBe(false)
  })
})
