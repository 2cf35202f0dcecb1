/**
 * Runs the checks and decides whether a failure blocks the work. A check that passes when it runs again is flaky. A check that fails on
 * the base commit as well is not the work's fault. Both are listed and do not block; every other failure ends the list. Two exceptions
 * block although the base fails too: a check that the task names, and a suite of which no test passes, because it proves nothing.
 */
import { isEvidence, type CheckResult } from '../../domain/run.ts'
import { isBuild } from '../../recovery/diagnosis/argv.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import {
  failingItems,
  failingNames,
  failingSetOf,
  isExcusable,
  type FailedOutput,
  type FailingSet,
} from '../../recovery/failing-set.ts'
import { absentIn, probeFindings } from '../../recovery/probe.ts'
import type { ProbeFinding } from '../../recovery/probes/measurement.ts'
import { isCovered, isSameOnBase, runOnBase, type BaseLocation } from './baseline.ts'
import type { Baseline } from './check-cache.ts'
import type { MachineView } from '../core/context.ts'
import { probeFailure } from './probes.ts'
import { runChecks } from './command-runner.ts'
import type { CheckReport, CheckRequest } from './check-request.ts'

/** One finding about a failure; recorded as an event with the verdict. */
export type CheckFinding =
  | { kind: 'flaky' | 'baseline'; command: string; failing: string[]; detail: string; blocks: boolean }
  | { kind: 'probe'; command: string; found: ProbeFinding[] }

export interface JudgedReport {
  results: CheckResult[]
  findings: CheckFinding[]
  failed?: ObservedCheck
}

export interface JudgedRequest extends CheckRequest {
  base: BaseLocation
  /** Absent = the machine cannot be inspected, so no probe runs. */
  machine?: MachineView
}

interface Round {
  request: JudgedRequest
  /** Commands that ran before this one. */
  earlier: readonly string[]
  deadline: number
  /** Number of the first unused folder for output. */
  first: number
}

const leftOf = ({ request, deadline }: Round): number => Math.max(0, deadline - request.clock.elapsed())

const runAgain = (round: Round, command: string): Promise<CheckReport> =>
  runChecks({
    ...round.request,
    commands: [command],
    folder: (number) => round.request.folder(round.first + number - 1),
    totalMs: leftOf(round),
    passed: () => undefined,
  })

/** What failed in both runs. Tests that failed in one of them only are flaky. */
const bothTimes = (first: FailingSet, second: FailingSet): { set: FailingSet; flaky: string[] } => {
  if (first.tests === null || second.tests === null) return { set: second, flaky: [] }
  const [once, again] = [first.tests, second.tests]
  const both = once.filter((name) => again.includes(name))
  const flaky = [...once, ...again].filter((name) => !both.includes(name))
  // No test failed twice, but the command never passed either: it is unknown which failure counts, so all of the second run do.
  return both.length === 0 ? { set: second, flaky } : { set: { ...second, tests: both }, flaky }
}

interface Judged {
  result: CheckResult
  findings: CheckFinding[]
  failed: ObservedCheck
  used: number
}

const onBase = (round: Round, failed: ObservedCheck, neededMs: number): Promise<Baseline> =>
  runOnBase(
    round.request.base,
    round.request,
    { before: round.earlier.filter(isBuild), command: failed.command, neededMs },
    leftOf(round),
  )

const seenOf = (base: Baseline): NonNullable<ObservedCheck['baseline']> => ({
  state: base.state,
  detail: base.detail,
  ...(base.state === 'fails' || base.label === undefined ? {} : { label: base.label }),
})

/** A runner that found no test. A second run would show the same, but if the base ran tests, the work removed them. */
const judgeEmpty = async (round: Round, failed: ObservedCheck, result: CheckResult): Promise<Judged> => {
  const base = await onBase(round, failed, result.durationMs)
  return {
    result: { ...result, baseline: base.detail },
    findings: [{ kind: 'baseline', command: failed.command, failing: [], detail: base.detail, blocks: true }],
    failed: { ...failed, baseline: seenOf(base) },
    used: 0,
  }
}

/** The check passed when it ran again: it counts as proof and is listed as flaky. */
const judgeFlaky = (failed: ObservedCheck, first: FailingSet, result: CheckResult, used: number): Judged => {
  const failing = failingNames(first)
  const detail = 'it failed and passed when it was run again'
  return {
    result: { ...result, excused: { because: 'flaky', failing, proves: true } },
    findings: [{ kind: 'flaky', command: failed.command, failing, detail, blocks: false }],
    failed,
    used,
  }
}

/** Why a check blocks although it fails on the base commit as well; undefined = it does not. */
const mustPass = ({ source, command }: CheckResult, set: FailingSet, failed: ObservedCheck): string | undefined => {
  if (absentIn(failed).some(({ asks }) => !asks)) return 'it lacks files that the checkout has'
  if (source === 'task') return 'the task names it, so it must pass'
  return isExcusable(command, set) ? undefined : 'no test of it passes'
}

/** The check failed twice: failures that the base commit has as well are not the work's fault. */
const judgeByBase = async (
  round: Round,
  failed: ObservedCheck,
  set: FailingSet,
  result: CheckResult,
): Promise<Omit<Judged, 'used'>> => {
  const base = await onBase(round, failed, result.durationMs)
  const why = isCovered(set, base) ? mustPass(result, set, failed) : ''
  const failing = failingNames(set)
  const excused = { because: 'fails on the base commit' as const, failing, proves: set.passedSome }
  const detail = why === undefined || why === '' ? base.detail : `${base.detail}; ${why}`
  return {
    result: { ...result, baseline: detail, ...(why === undefined ? { excused } : {}) },
    findings: [{ kind: 'baseline', command: failed.command, failing, detail, blocks: why !== undefined }],
    failed: {
      ...failed,
      baseline: { ...seenOf(base), detail, ...(isSameOnBase(set, base) ? { isSame: true as const } : {}) },
      failing: { items: failingItems(set), areTests: set.tests !== null },
    },
  }
}

const partlyFlaky = (command: string, failing: string[]): CheckFinding[] =>
  failing.length === 0
    ? []
    : [{ kind: 'flaky', command, failing, detail: 'they passed in one of two runs', blocks: false }]

const judge = async (
  round: Round,
  failed: ObservedCheck,
  output: FailedOutput,
  result: CheckResult,
): Promise<Judged> => {
  const first = failingSetOf(output)
  const again = leftOf(round) > 0 ? await runAgain(round, failed.command) : undefined
  const used = again?.used ?? 0
  if (again !== undefined && again.failed === undefined) return judgeFlaky(failed, first, result, used)
  const second = again?.output === undefined ? first : failingSetOf(again.output)
  const { set, flaky } = bothTimes(first, second)
  const judged = await judgeByBase({ ...round, first: round.first + used }, failed, set, result)
  return { ...judged, findings: [...partlyFlaky(failed.command, flaky), ...judged.findings], used }
}

/** A second run cannot change the result: the command cannot be started in this form. */
const isFinal = (failed: ObservedCheck): boolean =>
  failed.unsupported !== undefined || failed.spawnError !== undefined || failed.script?.exists === false

const judgeFailure = async (round: Round, report: CheckReport, failed: ObservedCheck): Promise<Judged> => {
  const result = report.results.at(-1)
  if (result === undefined || report.output === undefined || isFinal(failed) || round.request.signal.aborted) {
    return { result: result ?? plain(round.request, failed), findings: [], failed, used: 0 }
  }
  return failed.ranNothing === undefined
    ? judge(round, failed, report.output, result)
    : judgeEmpty(round, failed, result)
}

const plain = (request: CheckRequest, failed: ObservedCheck): CheckResult => ({
  command: failed.command,
  source: request.source(failed.command),
  exitCode: failed.exitCode,
  signal: failed.signal,
  timedOut: failed.timedOut,
  durationMs: 0,
})

/** Probes the machine right after a failure, before a second run changes what can be observed. */
const probeMachine = async (
  { request, first }: Round,
  failed: ObservedCheck,
  killsBefore: number | undefined,
): Promise<ObservedCheck> => {
  const { machine } = request
  if (machine === undefined || request.signal.aborted) return failed
  const readings = await probeFailure(
    {
      ...request,
      ...{ machine, killsBefore },
      folder: (name) => `${request.folder(first)}-probe-${name}`,
    },
    failed,
  )
  return { ...failed, measurements: readings }
}

const findingsOfProbes = (check: ObservedCheck): CheckFinding[] => {
  const found = probeFindings(check)
  return found.length === 0 ? [] : [{ kind: 'probe', command: check.command, found }]
}

/** The state between two failures. */
interface Progress {
  results: CheckResult[]
  findings: CheckFinding[]
  /** Number of the first unused folder for output. */
  first: number
  /** The first excused failure that proves nothing. If no other check proves anything, it blocks after all. */
  unproven?: ObservedCheck
}

/** Runs the checks that have no result yet, up to one that fails. */
const runRest = (request: JudgedRequest, deadline: number, { results, first }: Progress): Promise<CheckReport> =>
  runChecks({
    ...request,
    commands: request.commands.slice(results.length),
    folder: (number) => request.folder(first + number - 1),
    totalMs: Math.max(1, deadline - request.clock.elapsed()),
  })

/** Runs up to the next failing check and judges it. Returns the failure if it blocks; undefined = continue. */
const runToNextFailure = async (
  request: JudgedRequest,
  deadline: number,
  progress: Progress,
): Promise<ObservedCheck | undefined> => {
  const { results, findings } = progress
  const killsBefore = request.machine?.oomKills()
  const report = await runRest(request, deadline, progress)
  progress.first += report.used
  results.push(...(report.output === undefined ? report.results : report.results.slice(0, -1)))
  if (report.failed === undefined) return undefined
  const round = { request, earlier: request.commands.slice(0, results.length), deadline, first: progress.first }
  const failed = await probeMachine(round, report.failed, killsBefore)
  const judged = await judgeFailure(round, report, failed)
  progress.first += judged.used
  findings.push(...findingsOfProbes(failed), ...judged.findings)
  // A command that cannot be planned never ran, so it has no result.
  if (report.output !== undefined) results.push(judged.result)
  const found = {
    ...judged.failed,
    ...{ remaining: request.commands.length - 1, plan: request.commands },
    passed: results.filter(isEvidence).map(({ command }) => command),
  }
  if (judged.result.excused === undefined) return found
  if (!judged.result.excused.proves) progress.unproven ??= found
  return undefined
}

/** Runs all commands of the request. `failed` in the report: the failure that blocks the work. */
export const runAndJudgeChecks = async (request: JudgedRequest): Promise<JudgedReport> => {
  const deadline = request.clock.elapsed() + request.totalMs
  const progress: Progress = { results: [], findings: [], first: 1 }
  const { results, findings } = progress
  while (results.length < request.commands.length) {
    const failed = await runToNextFailure(request, deadline, progress)
    if (failed !== undefined) return { results, findings, failed }
  }
  if (progress.unproven !== undefined && !results.some(isEvidence))
    return { results, findings, failed: progress.unproven }
  return { results, findings }
}
