/**
 * Runs a suite: `ci-suite.ts --report <file> --project <name>... [--workers <files side by side>] [filter]`. On a busy machine a file may
 * fail for a reason other than the change, or its process may crash in V8 (nodejs/node#64500). So each failed file runs once more,
 * alone, and a file that passes only then is listed as flaky in the report.
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { countReport, failedFiles, reportOf, withSecondRuns, type Report } from './ci-report.ts'

const vitest = [process.execPath, join(import.meta.dirname, '..', 'node_modules', 'vitest', 'vitest.mjs'), 'run']

/** The command of the first run if it is not vitest itself: the unit and fast tests run by the command that README gives. */
const firstCommand = (projects: readonly string[]): string[] | undefined =>
  projects.includes('fast') ? ['npm', 'test', '--'] : undefined

const reporter = join(import.meta.dirname, 'ci-reporter.ts')

export interface Suite {
  /** Program and first arguments of the first run. Default: vitest. */
  command?: string[] | undefined
  /** File of the complete report; the reports of the single runs are written next to it. */
  report: string
  /** Options of vitest for every run. */
  options: string[]
  filters: string[]
}

const run = (report: string, args: readonly string[], [program = '', ...before] = vitest): Report => {
  const reporters = ['default', 'json', reporter].map((name) => `--reporter=${name}`)
  const given = [...before, ...reporters, `--outputFile.json=${report}`, ...args]
  const { status, signal } = spawnSync(program, given, { stdio: 'inherit' })
  if (signal !== null) console.log(`${program} was ended by ${signal}`)
  return reportOf(report, status ?? 1)
}

/** Runs the suite and writes its report. Returns whether everything passed, at the latest in the second run. */
export const runSuite = ({ command, report, options, filters }: Suite): boolean => {
  const first = run(`${report}.first`, [...options, ...filters], command)
  const second = new Map<string, Report>()
  for (const [index, file] of failedFiles(first).entries()) {
    console.log(`--- once more, alone: ${file}`)
    second.set(file, run(`${report}.second-${index}`, [...options, file]))
  }
  const whole = withSecondRuns(first, second)
  writeFileSync(report, JSON.stringify(whole))
  return countReport(whole, report).failed === 0
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    options: { report: { type: 'string' }, project: { type: 'string', multiple: true }, workers: { type: 'string' } },
    allowPositionals: true,
  })
  const { report, project, workers } = values
  if (report === undefined || project === undefined)
    throw new Error('ci-suite.ts needs --report <file> and --project <name>')
  const projects = project.map((name) => `--project=${name}`)
  const options = [...projects, ...(workers === undefined ? [] : [`--maxWorkers=${workers}`])]
  const suite = { command: firstCommand(project), report, options, filters: positionals }
  process.exitCode = runSuite(suite) ? 0 : 1
}
