/**
 * Adds up the JSON reports of vitest into the line "N passed, N failed". Vitest counts tests only: a file that does not
 * load and a set-up that throws have no failed test in its report, and a run that died has no report. Each counts as one
 * failed here, so that nothing that did not run looks green. An error outside of every test stands in no report at all:
 * `--status <exit code of vitest>` makes it count.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { messageOf } from '../src/errors.ts'

export interface Count {
  passed: number
  failed: number
  /** What was counted as failed, for people. */
  failures: string[]
}

interface TestCase {
  status: string
  fullName?: string
  failureMessages?: string[]
}

interface TestFile {
  name?: string
  status: string
  message?: string
  assertionResults?: TestCase[]
}

export interface Report {
  success?: boolean
  numFailedTestSuites?: number
  testResults?: TestFile[]
}

/** The first lines of what a test said when it failed. */
const why = (test: TestCase): string =>
  (test.failureMessages ?? [])
    .map((message) => `\n    ${message.slice(0, 600).split('\n').slice(0, 12).join('\n    ')}`)
    .join('')

const fileCount = (file: TestFile): Count => {
  const cases = file.assertionResults ?? []
  const failed = cases.filter((test) => test.status === 'failed')
  const failures = failed.map((test) => `${file.name ?? '?'}: ${test.fullName ?? '?'}${why(test)}`)
  // A file that failed without a failed test did not load, or its set-up or clean-up threw.
  if (file.status === 'failed' && failed.length === 0) {
    failures.push(`${file.name ?? '?'}: ${(file.message ?? '').split('\n')[0] || 'did not run'}`)
  }
  return { passed: cases.filter((test) => test.status === 'passed').length, failed: failures.length, failures }
}

const add = (a: Count, b: Count): Count => ({
  passed: a.passed + b.passed,
  failed: a.failed + b.failed,
  failures: [...a.failures, ...b.failures],
})

const nothing: Count = { passed: 0, failed: 0, failures: [] }

const oneFailed = (what: string): Count => ({ passed: 0, failed: 1, failures: [what] })

export const countReport = (report: Report, name: string): Count => {
  const files = report.testResults ?? []
  if (files.length === 0) return oneFailed(`${name}: no test file ran`)
  const counted = files.map(fileCount).reduce(add, nothing)
  // A whole run may fail outside of every file, by an unhandled error for one.
  if (report.success === false && counted.failed === 0) return add(counted, oneFailed(`${name}: the run failed`))
  if (counted.passed + counted.failed === 0) return oneFailed(`${name}: no test ran`)
  return counted
}

export const countFile = (path: string): Count => {
  try {
    return countReport(JSON.parse(readFileSync(path, 'utf8')) as Report, path)
  } catch (error) {
    return oneFailed(`${path}: ${messageOf(error)}`)
  }
}

export const countFiles = (paths: readonly string[], status = 0): Count => {
  if (paths.length === 0) return oneFailed('no report was named')
  const counted = paths.map(countFile).reduce(add, nothing)
  const unexplained = status !== 0 && counted.failed === 0
  return unexplained ? add(counted, oneFailed(`the run ended with ${status} and no report says why`)) : counted
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({ options: { status: { type: 'string' } }, allowPositionals: true })
  const count = countFiles(positionals, Number(values.status ?? 0))
  for (const failure of count.failures) console.log(`failed: ${failure}`)
  console.log(`${count.passed} passed, ${count.failed} failed`)
  process.exitCode = count.failed === 0 ? 0 : 1
}
