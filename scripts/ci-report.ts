/**
 * Adds up the JSON reports of vitest into the line "N passed, N failed". Vitest counts only tests: a file that does not load
 * and a set-up that throws have no failed test in its report, and a run that crashed has no report. Each counts as one
 * failure here, so that tests that did not run never look green. An error outside of every test is missing in the JSON report:
 * ci-reporter.ts writes it to a file of its own, and `--status <exit code of vitest>` counts it if that file is missing.
 */
import { existsSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { messageOf } from '../src/errors.ts'

export interface Count {
  passed: number
  failed: number
  /** One text for each failure. */
  failures: string[]
}

interface TestCase {
  status: string
  fullName?: string
  failureMessages?: string[]
}

export interface TestFile {
  name?: string
  status: string
  message?: string
  assertionResults?: TestCase[]
}

/** An error outside of every test, with the file that its worker was running. */
interface Unhandled {
  file?: string
  message: string
}

export interface Report {
  success?: boolean
  testResults?: TestFile[]
  unhandled?: Unhandled[]
  /** One line for each file that failed and then passed alone, with the tests that failed. */
  flaky?: string[]
}

/** Returns the first lines of the messages of a failed test. */
const why = (test: TestCase): string =>
  (test.failureMessages ?? [])
    .map((message) => `\n    ${message.slice(0, 600).split('\n').slice(0, 12).join('\n    ')}`)
    .join('')

const firstLine = (text: string | undefined): string => (text ?? '').split('\n')[0] ?? ''

const fileCount = (file: TestFile): Count => {
  const cases = file.assertionResults ?? []
  const failed = cases.filter((test) => test.status === 'failed')
  const failures = failed.map((test) => `${file.name ?? '?'}: ${test.fullName ?? '?'}${why(test)}`)
  // A failed file without a failed test did not load, or its set-up or clean-up threw.
  if (file.status === 'failed' && failed.length === 0) {
    failures.push(`${file.name ?? '?'}: ${firstLine(file.message) || 'did not run'}`)
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

const unhandledCount = (report: Report): Count =>
  (report.unhandled ?? [])
    .map(({ file, message }) =>
      oneFailed(`${file === undefined ? '' : `${file}: `}outside of every test: ${firstLine(message)}`),
    )
    .reduce(add, nothing)

export const countReport = (report: Report, name: string): Count => {
  const files = report.testResults ?? []
  const outside = unhandledCount(report)
  if (files.length === 0) return outside.failed > 0 ? outside : oneFailed(`${name}: no test file ran`)
  const counted = add(files.map(fileCount).reduce(add, nothing), outside)
  // A run may fail outside of every file.
  if (report.success === false && counted.failed === 0) return add(counted, oneFailed(`${name}: the run failed`))
  if (counted.passed + counted.failed === 0) return oneFailed(`${name}: no test ran`)
  return counted
}

const unhandledBeside = (path: string): Unhandled[] =>
  existsSync(`${path}.unhandled`) ? (JSON.parse(readFileSync(`${path}.unhandled`, 'utf8')) as Unhandled[]) : []

const readReport = (path: string): Report => {
  const report = JSON.parse(readFileSync(path, 'utf8')) as Report
  return { ...report, unhandled: [...(report.unhandled ?? []), ...unhandledBeside(path)] }
}

/** Returns the report of a run that exited with `status`. A missing report, or one without the reason of the failure, becomes an error in it. */
export const reportOf = (path: string, status: number): Report => {
  try {
    const report = readReport(path)
    if (status === 0 || countReport(report, path).failed > 0) return report
    const message = `the run ended with ${status} and no report says why`
    return { ...report, unhandled: [...(report.unhandled ?? []), { message }] }
  } catch (error) {
    return { testResults: [], unhandled: [{ message: `${path}: ${messageOf(error)}` }] }
  }
}

/** Adds up reports; `status` is the exit code of the run that wrote them. */
export const countFiles = (paths: readonly string[], status = 0): Count => {
  if (paths.length === 0) return oneFailed('no report was named')
  const counted = paths.map((path) => countReport(reportOf(path, 0), path)).reduce(add, nothing)
  const unexplained = status !== 0 && counted.failed === 0
  return unexplained ? add(counted, oneFailed(`the run ended with ${status} and no report says why`)) : counted
}

/** Returns the part of a report about one file. */
const partOf = (report: Report, name: string): Report => ({
  testResults: (report.testResults ?? []).filter((file) => file.name === name),
  unhandled: (report.unhandled ?? []).filter(({ file }) => file === name),
})

/** Returns the files with a failure. A failure outside of every file cannot be run again alone. */
export const failedFiles = (report: Report): string[] => {
  const named = [
    ...(report.testResults ?? []).map(({ name }) => name),
    ...(report.unhandled ?? []).map(({ file }) => file),
  ]
  return [...new Set(named)]
    .filter((name) => name !== undefined)
    .filter((name) => {
      const part = partOf(report, name)
      return (part.testResults ?? []).some((file) => fileCount(file).failed > 0) || (part.unhandled ?? []).length > 0
    })
}

const failedNames = (report: Report, file: string): string => {
  const part = partOf(report, file)
  const tests = (part.testResults ?? []).flatMap(({ assertionResults }) => assertionResults ?? [])
  const names = tests.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName ?? '?')
  return names.length > 0 ? names.join('; ') : firstLine(countReport(part, file).failures[0]).replace(`${file}: `, '')
}

/**
 * Returns the report of a suite after each of its failed files ran once more, alone. The second result of a file replaces the
 * first if it contains tests of that file. A file that passed in its second run is flaky.
 */
export const withSecondRuns = (first: Report, second: ReadonlyMap<string, Report>): Report => {
  const ran = [...second].filter(([file, report]) => (partOf(report, file).testResults ?? []).length > 0)
  const replaced = new Map(ran)
  const rest = { testResults: first.testResults ?? [], unhandled: first.unhandled ?? [] }
  return {
    testResults: [
      ...rest.testResults.filter(({ name = '' }) => !replaced.has(name)),
      ...ran.flatMap(([, report]) => report.testResults ?? []),
    ],
    unhandled: [
      ...rest.unhandled.filter(({ file = '' }) => !replaced.has(file)),
      ...ran.flatMap(([, report]) => report.unhandled ?? []),
    ],
    flaky: ran
      .filter(([file, report]) => countReport(report, file).failed === 0)
      .map(([file]) => `${file}: failed among the others, passed alone: ${failedNames(first, file)}`),
  }
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({ options: { status: { type: 'string' } }, allowPositionals: true })
  const count = countFiles(positionals, Number(values.status ?? 0))
  for (const failure of count.failures) console.log(`failed: ${failure}`)
  for (const flaky of positionals.flatMap((path) => reportOf(path, 0).flaky ?? [])) console.log(`flaky: ${flaky}`)
  console.log(`${count.passed} passed, ${count.failed} failed`)
  process.exitCode = count.failed === 0 ? 0 : 1
}
