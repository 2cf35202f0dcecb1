/**
 * Runs the checks and says honestly what a failure is worth: one that passes when it is run again is flaky, one that the
 * base commit has as well is not the work's. Both are listed and do not block; everything else stops the list. What the task
 * itself names must pass, and a suite of which no test passes has shown nothing: those are failures like any other.
 */
import { proves, type CheckResult } from '../../domain/run.ts'
import { builds } from '../../recovery/diagnosis/argv.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import {
  failingItems,
  failingNames,
  failingSetOf,
  isExcusable,
  type FailedOutput,
  type FailingSet,
} from '../../recovery/failing-set.ts'
import { probed } from '../../recovery/probe.ts'
import type { ProbeFinding } from '../../recovery/probes/reading.ts'
import { isCovered, runOnBase, type BasePlace } from './baseline.ts'
import type { Baseline } from './kept-checks.ts'
import type { MachineView } from '../core/context.ts'
import { probeFailure } from './probes.ts'
import { runChecks } from './verify.ts'
import type { CheckReport, CheckRequest } from './request.ts'

/** What was found out about one failure; told as an event with the verdict. */
export type CheckFinding =
  | { kind: 'flaky' | 'baseline'; command: string; failing: string[]; detail: string; blocks: boolean }
  | { kind: 'probe'; command: string; found: ProbeFinding[] }

export interface HonestReport {
  results: CheckResult[]
  findings: CheckFinding[]
  failed?: ObservedCheck
}

export interface HonestRequest extends CheckRequest {
  base: BasePlace
  /** Absent = nothing is known of the machine, and no probe looks at it. */
  machine?: MachineView
}

interface Round {
  request: HonestRequest
  /** Commands that ran before this one. */
  earlier: readonly string[]
  deadline: number
  /** First folder that is free. */
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

/** What failed both times; tests that passed once are flaky by name. */
const bothTimes = (first: FailingSet, second: FailingSet): { set: FailingSet; flaky: string[] } => {
  if (first.tests === null || second.tests === null) return { set: second, flaky: [] }
  const [once, again] = [first.tests, second.tests]
  const both = once.filter((name) => again.includes(name))
  const flaky = [...once, ...again].filter((name) => !both.includes(name))
  // Nothing failed twice, and still the command never passed: then nobody can say which of them counts.
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
    { before: round.earlier.filter(builds), command: failed.command, neededMs },
    leftOf(round),
  )

const seenOf = (base: Baseline): NonNullable<ObservedCheck['baseline']> => ({
  state: base.state,
  detail: base.detail,
  ...(base.state === 'fails' || base.label === undefined ? {} : { label: base.label }),
})

/** A runner that found no test: nothing to repeat, but where the base ran tests, the work took them away. */
const judgeEmpty = async (round: Round, failed: ObservedCheck, result: CheckResult): Promise<Judged> => {
  const base = await onBase(round, failed, result.durationMs)
  return {
    result: { ...result, baseline: base.detail },
    findings: [{ kind: 'baseline', command: failed.command, failing: [], detail: base.detail, blocks: true }],
    failed: { ...failed, baseline: seenOf(base) },
    used: 0,
  }
}

/** It passed when it was run again, so it proves something, and is listed. */
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
const mustPass = ({ source, command }: CheckResult, set: FailingSet): string | undefined => {
  if (source === 'task') return 'the task names it, so it must pass'
  return isExcusable(command, set) ? undefined : 'no test of it passes'
}

/** It never passed: what fails on the base commit as well is not the work's. */
const judgeByBase = async (
  round: Round,
  failed: ObservedCheck,
  set: FailingSet,
  result: CheckResult,
): Promise<Omit<Judged, 'used'>> => {
  const base = await onBase(round, failed, result.durationMs)
  const why = isCovered(set, base) ? mustPass(result, set) : ''
  const failing = failingNames(set)
  const excused = { because: 'fails on the base commit' as const, failing, proves: set.passedSome }
  const detail = why === undefined || why === '' ? base.detail : `${base.detail}; ${why}`
  return {
    result: { ...result, baseline: detail, ...(why === undefined ? { excused } : {}) },
    findings: [{ kind: 'baseline', command: failed.command, failing, detail, blocks: why !== undefined }],
    failed: {
      ...failed,
      baseline: { ...seenOf(base), detail },
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

/** Facts that no second run changes: the command cannot be started as it stands. */
const isSettled = (failed: ObservedCheck): boolean =>
  failed.unsupported !== undefined || failed.spawnError !== undefined || failed.script?.exists === false

const judgeFailure = async (round: Round, report: CheckReport, failed: ObservedCheck): Promise<Judged> => {
  const result = report.results.at(-1)
  if (result === undefined || report.output === undefined || isSettled(failed) || round.request.signal.aborted) {
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

/** Looks at the machine right after a failure, before a second run changes what is to be seen. */
const look = async (
  { request, first }: Round,
  failed: ObservedCheck,
  killsBefore: number | undefined,
): Promise<ObservedCheck> => {
  const { machine, base } = request
  if (machine === undefined || request.signal.aborted) return failed
  const readings = await probeFailure(
    {
      ...request,
      ...{ machine, killsBefore, owners: base.repository.root },
      folder: (name) => `${request.folder(first)}-probe-${name}`,
    },
    failed,
  )
  return { ...failed, readings }
}

const tell = (check: ObservedCheck): CheckFinding[] => {
  const found = probed(check)
  return found.length === 0 ? [] : [{ kind: 'probe', command: check.command, found }]
}

/** What is known so far. */
interface Progress {
  results: CheckResult[]
  findings: CheckFinding[]
  /** First folder that is free. */
  first: number
  /** The first failure that is excused and shows nothing. */
  unproven?: ObservedCheck
}

/** Runs the checks that have no result yet, up to one that fails. */
const runRest = (request: HonestRequest, deadline: number, { results, first }: Progress): Promise<CheckReport> =>
  runChecks({
    ...request,
    commands: request.commands.slice(results.length),
    folder: (number) => request.folder(first + number - 1),
    totalMs: Math.max(1, deadline - request.clock.elapsed()),
  })

/** Goes on up to the next check that fails, and judges it; gives that failure if it blocks. */
const goOn = async (
  request: HonestRequest,
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
  const failed = await look(round, report.failed, killsBefore)
  const judged = await judgeFailure(round, report, failed)
  progress.first += judged.used
  findings.push(...tell(failed), ...judged.findings)
  // What cannot even be planned never ran: it has no result of its own.
  if (report.output !== undefined) results.push(judged.result)
  const found = {
    ...judged.failed,
    ...{ remaining: request.commands.length - 1, plan: request.commands },
    passed: results.filter(proves).map(({ command }) => command),
  }
  if (judged.result.excused === undefined) return found
  if (!judged.result.excused.proves) progress.unproven ??= found
  return undefined
}

export const runHonestly = async (request: HonestRequest): Promise<HonestReport> => {
  const deadline = request.clock.elapsed() + request.totalMs
  const progress: Progress = { results: [], findings: [], first: 1 }
  const { results, findings } = progress
  while (results.length < request.commands.length) {
    const failed = await goOn(request, deadline, progress)
    if (failed !== undefined) return { results, findings, failed }
  }
  if (progress.unproven !== undefined && !results.some(proves)) return { results, findings, failed: progress.unproven }
  return { results, findings }
}
