/**
 * Runs a suite: `ci-suite.ts --report <file> --project <name> [filter]`. On a noisy machine a file may fail for a reason that is not the
 * change's, or its process may die in V8 (nodejs/node#64500), so each failed file runs once more, alone. The report tells both
 * apart: what passed only then is listed as flaky.
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { countReport, failedFiles, reportOf, withSecondRuns, type Report } from './ci-report.ts'

const vitest = [process.execPath, join(import.meta.dirname, '..', 'node_modules', 'vitest', 'vitest.mjs'), 'run']

/** What begins the first run of a project, where it is not vitest itself: the fast tests run as the README says. */
const firstCommands: Record<string, string[]> = { fast: ['npm', 'test', '--'] }

const reporter = join(import.meta.dirname, 'ci-reporter.ts')

export interface Suite {
  /** The program of the first run and the arguments before ours; vitest if it is not given. */
  command?: string[] | undefined
  /** Where the report of the whole goes; those of the single runs are beside it. */
  report: string
  /** Options of vitest that hold for every run. */
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

/** Runs the suite and writes its report; true = everything passed, at the second try at the latest. */
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
    options: { report: { type: 'string' }, project: { type: 'string' } },
    allowPositionals: true,
  })
  const { report, project } = values
  if (report === undefined || project === undefined) throw new Error('--report <file> and --project <name> are needed')
  const suite = { command: firstCommands[project], report, options: ['--project', project], filters: positionals }
  process.exitCode = runSuite(suite) ? 0 : 1
}
