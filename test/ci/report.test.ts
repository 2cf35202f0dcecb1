/** What counts as failed, on reports that a real vitest wrote about files that pass, fail, do not load or cannot be set up. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  countFiles,
  countReport,
  failedFiles,
  withSecondRuns,
  type Report,
  type TestFile,
} from '../../scripts/ci-report.ts'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const root = mkdtempSync(join(tmpdir(), 'unstuck-report-'))

const files: Record<string, string> = {
  'passes.test.ts': `import { it } from 'vitest'; it('a', () => {}); it('b', () => {}); it.skip('c', () => {})`,
  'fails.test.ts': `import { it } from 'vitest'; it('a', () => {}); it('b', () => { throw new Error('no') })`,
  'broken.test.ts': `import { it } from 'vitest'; import './gone.ts'; it('never runs', () => {})`,
  'syntax.test.ts': `this is not a program`,
  'setup.test.ts': `import { beforeAll, it } from 'vitest'; beforeAll(() => { throw new Error('no') }); it('a', () => {})`,
  'cleanup.test.ts': `import { afterAll, it } from 'vitest'; afterAll(() => { throw new Error('no') }); it('a', () => {})`,
  'unhandled.test.ts': `import { it } from 'vitest'
    it('a', () => { setImmediate(() => { throw new Error('late') }); return new Promise((done) => setTimeout(done, 50)) })`,
}

/** A run of all files but this one, or of this one alone. */
const run = (unhandled: boolean): Promise<{ report: string; status: number }> =>
  new Promise((resolve) => {
    const report = join(root, `${unhandled ? 'unhandled' : 'others'}.json`)
    const chosen = unhandled ? ['unhandled.test.ts'] : ['--exclude', 'unhandled.test.ts']
    const program = join(repository, 'node_modules', 'vitest', 'vitest.mjs')
    const args = [
      program,
      'run',
      '--root',
      join(root, 'tests'),
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...chosen,
    ]
    const child = execFile(process.execPath, args, { env: { PATH: process.env.PATH } }, () =>
      resolve({ report, status: child.exitCode ?? 1 }),
    )
  })

beforeAll(() => {
  mkdirSync(join(root, 'tests'))
  symlinkSync(join(repository, 'node_modules'), join(root, 'tests', 'node_modules'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, 'tests', name), text)
  writeFileSync(join(root, 'tests', 'vitest.config.ts'), 'export default { test: { maxWorkers: 1 } }')
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

describe('a report of a real run', () => {
  const expected: Record<string, [passed: number, failed: number]> = {
    'passes.test.ts': [2, 0],
    'fails.test.ts': [1, 1],
    'broken.test.ts': [0, 1],
    'syntax.test.ts': [0, 1],
    'setup.test.ts': [0, 1],
    'cleanup.test.ts': [1, 1],
  }

  it('counts what did not load, was not set up or not cleaned up as failed', async () => {
    const { report } = await run(false)
    const whole = JSON.parse(readFileSync(report, 'utf8')) as Report
    for (const [name, [passed, failed]] of Object.entries(expected)) {
      const testResults = (whole.testResults ?? []).filter((file) => file.name?.endsWith(name) === true)
      const count = countReport({ testResults }, name)
      expect({ passed: count.passed, failed: count.failed }, name).toEqual({ passed, failed })
      expect(count.failures).toHaveLength(failed)
    }
    expect(countFiles([report])).toMatchObject({ passed: 4, failed: 5 })
    // Vitest's own number, which leaves out every file without a failed test.
    expect(whole).toMatchObject({ numFailedTests: 1 })
    expect(countFiles([report], 1)).toMatchObject({ passed: 4, failed: 5 })
  })

  it('an error outside of every test is in no report, but in the exit status', async () => {
    const { report, status } = await run(true)
    expect(status).not.toBe(0)
    expect(countFiles([report])).toMatchObject({ passed: 1, failed: 0 })
    expect(countFiles([report], status)).toMatchObject({ passed: 1, failed: 1 })
  })
})

describe('no report', () => {
  it('a missing, empty or broken one is one failed each', () => {
    writeFileSync(join(root, 'half.json'), '{"testResults": [')
    writeFileSync(join(root, 'none.json'), '{"success": true, "testResults": []}')
    const names = ['gone.json', 'half.json', 'none.json'].map((name) => join(root, name))
    expect(countFiles(names)).toMatchObject({ passed: 0, failed: 3 })
    for (const [index, name] of names.entries()) expect(countFiles(names).failures[index]).toContain(name)
  })

  it('naming none is a failure', () => {
    expect(countFiles([])).toMatchObject({ passed: 0, failed: 1 })
  })

  it('a file in which every test was skipped is no success', () => {
    const skipped = { success: true, testResults: [{ status: 'passed', assertionResults: [{ status: 'skipped' }] }] }
    expect(countReport(skipped, 'x')).toMatchObject({ passed: 0, failed: 1 })
  })

  it('several reports are added up', () => {
    const report = {
      testResults: [{ status: 'passed', assertionResults: [{ status: 'passed' }, { status: 'passed' }] }],
    }
    writeFileSync(join(root, 'one.json'), JSON.stringify(report))
    expect(countFiles([join(root, 'one.json'), join(root, 'one.json')])).toMatchObject({ passed: 4, failed: 0 })
  })
})

describe('second runs', () => {
  const cases = (...statuses: string[]): TestFile['assertionResults'] =>
    statuses.map((status, index) => ({ status, fullName: `test ${index + 1}` }))
  const file = (name: string, ...statuses: string[]): TestFile => ({
    name,
    status: statuses.includes('failed') ? 'failed' : 'passed',
    assertionResults: cases(...statuses) ?? [],
  })
  const unloaded: TestFile = { name: '/b', status: 'failed', message: 'no such module\nat line 1' }
  const passes: Report = { testResults: [file('/b', 'passed', 'passed')] }
  const count = (report: Report) => {
    const { passed, failed } = countReport(report, 'x')
    return { passed, failed, flaky: report.flaky }
  }

  it('are for files with a failed test, that did not load, or that an error outside of every test came from', () => {
    const testResults = [file('/a', 'passed'), unloaded, file('/c', 'passed', 'failed'), file('/d', 'passed')]
    const unhandled = [{ file: '/d', message: 'late' }, { message: 'from nowhere' }]
    expect(failedFiles({ testResults, unhandled })).toEqual(['/b', '/c', '/d'])
    expect(failedFiles(passes)).toEqual([])
    expect(failedFiles({ testResults: [], unhandled: [{ message: 'no report' }] })).toEqual([])
  })

  it('that pass count in place of the first, and the file is flaky', () => {
    const first: Report = { testResults: [file('/a', 'passed'), file('/b', 'failed', 'passed')] }
    expect(count(withSecondRuns(first, new Map([['/b', passes]])))).toEqual({
      passed: 3,
      failed: 0,
      flaky: ['/b: failed among the others, passed alone: test 1'],
    })
    expect(withSecondRuns({ testResults: [unloaded] }, new Map([['/b', passes]])).flaky).toEqual([
      '/b: failed among the others, passed alone: no such module',
    ])
  })

  it('that fail again count as failed, once', () => {
    const first: Report = { testResults: [file('/a', 'passed'), file('/b', 'failed', 'failed')] }
    const again: Report = { testResults: [file('/b', 'passed', 'failed')] }
    expect(count(withSecondRuns(first, new Map([['/b', again]])))).toEqual({ passed: 2, failed: 1, flaky: [] })
  })

  it('that left no report change nothing', () => {
    const first: Report = { testResults: [file('/a', 'passed'), unloaded] }
    const none: Report = { testResults: [], unhandled: [{ message: 'no report' }] }
    expect(count(withSecondRuns(first, new Map([['/b', none]])))).toEqual({ passed: 1, failed: 1, flaky: [] })
  })

  it('make good an error outside of every test only when it does not come again', () => {
    const first: Report = { ...passes, unhandled: [{ file: '/b', message: 'late' }] }
    expect(count(first)).toMatchObject({ passed: 2, failed: 1 })
    expect(count(withSecondRuns(first, new Map([['/b', passes]])))).toEqual({
      passed: 2,
      failed: 0,
      flaky: ['/b: failed among the others, passed alone: outside of every test: late'],
    })
    expect(count(withSecondRuns(first, new Map([['/b', first]])))).toEqual({ passed: 2, failed: 1, flaky: [] })
  })

  it('leave a failure that belongs to no file', () => {
    const first: Report = { testResults: [file('/b', 'failed')], unhandled: [{ message: 'from nowhere' }] }
    expect(count(withSecondRuns(first, new Map([['/b', passes]])))).toMatchObject({ passed: 2, failed: 1 })
  })
})
