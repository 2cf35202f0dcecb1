/**
 * Names the cause of a failed command from its command line, exit status and output. Pure. Facts of the command line come
 * first, then the report of a test runner, then the most specific matching rule, then the bare exit status; otherwise the label
 * is `unknown`. Only causes count: a word inside an assertion, a test's name or a quoted value decides nothing.
 */
import { fingerprint } from '../signature.ts'
import type { Category } from './labels.ts'
import { agentPrograms, isBuild, isCleanUp, isSilentCheck, readCommand, type CommandFacts } from './argv.ts'
import { failureCodes, labels, type Label, type RecoveryKind } from './labels.ts'
import { refinements } from './refine.ts'
import { isArtifact } from './refine/match-context.ts'
import { rules } from './rules/all.ts'
import type { Rule } from './rules/rule.ts'
import { isRunnerEcho, readTestReport, type TestReport } from './runner.ts'
import { labelOfSignal, labelOfStatus } from './exit-status.ts'
import { commandInLog, exitInLog, missedCoverage, reportsProblem, withoutPasses } from './log-facts.ts'
import { isFooter, isQuoted, isWarning, outputLines, type OutputLine } from './output-lines.ts'
import { defined } from '../../domain/defined.ts'

export interface CommandFailure {
  /** Empty = unknown; then the commands are taken from the log. */
  command: string
  /** `null` if a signal ended the command, or if neither is known. */
  exitCode: number | null
  signal: string | null
  stdout: string
  stderr: string
  /** All verification commands in order, and the index of this one. */
  plan?: readonly string[]
  planIndex?: number
}

export interface Classification {
  label: Label
  failureCode: string
  category: Category
  isInfra: boolean
  retryable: boolean
  recoveryKind: RecoveryKind
  evidence: string
  signature: string
  ruleId: string
  /** Why the command may have passed: no output, a runner that reports passes, or no line that reports a problem. */
  noFailure?: NoFailureReason
}

export type NoFailureReason = 'empty' | 'passed' | 'quiet'

interface Verdict {
  label: Label
  ruleId: string
  evidence: string
  specificity: number
  action?: RecoveryKind
  infra?: boolean
  code?: string
  calm?: NoFailureReason
}

interface Options {
  /** Ignores the rules for this tool, to measure how well the general rules work. */
  without?: string
}

interface FailureContext {
  failure: CommandFailure
  /** The given command, else the commands named in the log. */
  command: CommandFacts
  /** Without warnings. */
  lines: OutputLine[]
  warnings: OutputLine[]
  /** The line that shows a passed test run. */
  passed?: string
  tests: TestReport
}

/** Problems that fail a test without being an assertion of that test. */
const besideTheTest = new Set<Label>([
  'port_in_use',
  'service_unavailable',
  'network_unreachable',
  'network_transient',
  'disk_full',
  'out_of_memory',
  'resource_limit',
  'permission_denied',
  'missing_env_var',
  'terminal_missing',
  'corrupted_install',
  'dependency_missing',
  'dependency_version_conflict',
  'runtime_version',
  'build_artifact_missing',
  'auth_failure',
])

/** Problems that prevent a test file from loading, so that none of its tests ran. */
const atLoad = new Set<Label>(['compile_error', 'config_error', 'command_not_found'])

/** Node's test runner prints a thrown error as a quoted value. */
const reported = /^\s+(?:error|code): ['"]/

/** Whether it is unknown how the command ended. */
const isUnended = ({ exitCode, signal }: CommandFailure): boolean => exitCode === null && signal === null

const isGiven = ({ command }: CommandFailure): boolean => command.trim() !== ''

const caughtBy = (rule: Rule, line: OutputLine, inTest: boolean): string | undefined => {
  for (const text of line.bare === line.text ? [line.text] : [line.text, line.bare]) {
    const match = rule.pattern.exec(text)
    if (match !== null && !(inTest && isQuoted(text, match.index, reported.exec(text)?.[0].length)))
      return match.slice(1).find((group) => group !== undefined) ?? ''
  }
  return undefined
}

const apply = (rule: Rule, line: OutputLine, context: FailureContext): Verdict | undefined => {
  const inTest = context.tests.failed
  const caught = caughtBy(rule, line, inTest)
  if (caught === undefined) return undefined
  const { command, lines, failure } = context
  const base = { label: rule.label, action: rule.action, infra: rule.infra }
  const scene = { command, lines, line, captured: caught, label: rule.label, exitCode: failure.exitCode }
  const refined = rule.refine === undefined ? base : refinements[rule.refine](scene)
  if (
    refined === undefined ||
    (inTest && !besideTheTest.has(refined.label) && !(context.tests.suite && atLoad.has(refined.label)))
  )
    return undefined
  return {
    label: refined.label,
    ruleId: rule.id,
    evidence: line.text.trim(),
    specificity: rule.specificity,
    ...(refined.action === undefined ? {} : { action: refined.action as RecoveryKind }),
    ...defined({ infra: refined.infra }),
    ...(rule.code === undefined || refined.label !== rule.label ? {} : { code: rule.code }),
  }
}

/** The most specific match; among equals the first line, because later errors are often consequences. */
const bestOf = (context: FailureContext, known: readonly Rule[]): Verdict | undefined => {
  let best: Verdict | undefined
  for (const line of context.lines) {
    if (context.tests.failed && isRunnerEcho(line.text)) continue
    for (const rule of known) {
      if (rule.specificity <= (best?.specificity ?? 0)) continue
      if (rule.stream !== 'either' && rule.stream !== line.stream) continue
      if (
        rule.exits !== undefined &&
        !isUnended(context.failure) &&
        !rule.exits.includes(context.failure.exitCode ?? -1)
      )
        continue
      const verdict = apply(rule, line, context)
      if (verdict !== undefined) best = verdict
    }
  }
  return best
}

const verdictOf = (label: Label, ruleId: string, evidence: string): Verdict => ({
  label,
  ruleId,
  evidence,
  specificity: 50,
})

/** Labels that can result from passing shell syntax to a program that is not a shell. */
const comesOfSyntax = new Set<Label>([
  'missing_script',
  'command_not_found',
  'invalid_usage',
  'no_test_files',
  'build_artifact_missing',
  'dependency_missing',
  'lint_error',
  'runtime_error',
  'compile_error',
  'config_error',
  'unknown',
  'test_failure',
  'missing_make_target',
  'runtime_version',
  'permission_denied',
])

const unsupported = ({ command }: FailureContext, found: Verdict | undefined): Verdict | undefined => {
  if (command.plan.ok || command.programs.some((name) => agentPrograms.has(name))) return undefined
  if (found !== undefined && !comesOfSyntax.has(found.label)) return undefined
  return verdictOf('unsupported_format', 'plan/unsupported', `${command.plan.reason}: ${command.plan.piece}`)
}

/** The exit status decides only if no output does. */
const byStatus = ({ failure, command, lines }: FailureContext): Verdict | undefined => {
  const { signal } = failure
  const exitCode = isUnended(failure) ? exitInLog(lines) : failure.exitCode
  if (exitCode === null && signal === null) return undefined
  const ended = signal === null ? `exit ${exitCode}` : `signal ${signal}`
  const bySignal =
    signal === null ? labelOfStatus(exitCode ?? -1, command.programs.at(-1) ?? '') : labelOfSignal(signal)
  if (bySignal !== undefined) return verdictOf(bySignal, `status/${ended}`, lines.at(-1)?.text.trim() ?? ended)
  if (exitCode !== 0 && (lines.length === 0 || speaksDifference.test(command.text)) && isSilentCheck(command, exitCode))
    return verdictOf('test_failure', 'status/silent-check', `${command.text}: ${ended}`)
  return undefined
}

/** Programs that print the differences they find. */
const speaksDifference = /(?:^|\s)(?:diff|cmp|jq)\s/

const artifactOf = ({ command }: FailureContext): string | undefined =>
  command.argvs
    .at(-1)
    ?.slice(1)
    .find((word) => !word.startsWith('-') && isArtifact(word))

/** Corrects "not built" by the plan: a later build makes it a matter of order, an earlier build makes it a failed test. */
const ordered = (context: FailureContext, verdict: Verdict): Verdict => {
  const { plan = [], planIndex = 0 } = context.failure
  const silent =
    verdict.ruleId === 'status/silent-check' &&
    /^(?:test|\[|ls|stat|file|find)$/.test(context.command.programs.at(-1) ?? '')
  const missing =
    silent && artifactOf(context) !== undefined ? { ...verdict, label: 'build_artifact_missing' as Label } : verdict
  if (missing.label !== 'build_artifact_missing') return verdict
  const built = plan.slice(0, planIndex).findLastIndex(isBuild)
  const cleaned = plan.slice(0, planIndex).findLastIndex(isCleanUp)
  if (plan.slice(planIndex + 1).some(isBuild) || cleaned > built)
    return { ...missing, label: 'sequence_issue', ruleId: `plan/${missing.ruleId}` }
  const checks = /^(?:test|\[|ls|stat|file|find|cat|grep)$/.test(context.command.programs.at(-1) ?? '')
  return built !== -1 && checks ? { ...missing, label: 'test_failure' } : missing
}

const chooseVerdict = (context: FailureContext, known: readonly Rule[]): Verdict => {
  const { tests } = context
  const judged = verdictOf('test_failure', 'runner/failed', tests.evidence)
  const uncovered = tests.failed ? undefined : missedCoverage(context.lines)
  if (uncovered !== undefined) return verdictOf('test_failure', 'runner/coverage', uncovered)
  const found = tests.asserted ? judged : bestOf(context, known)
  const byPlan = unsupported(context, found)
  if (byPlan !== undefined) return byPlan
  const status = byStatus(context)
  if (found !== undefined && (found.specificity >= 30 || status === undefined)) return ordered(context, found)
  if (tests.failed) return judged
  if (status !== undefined) return ordered(context, status)
  return byWarnings(context, known) ?? unknown(context)
}

const isOfSystem = ({ family, specificity }: Rule): boolean => family === 'os' && specificity >= 90

/** A warning is never the cause, except for messages of the operating system if a failed command printed nothing else. */
const byWarnings = (context: FailureContext, known: readonly Rule[]): Verdict | undefined =>
  context.lines.length > 0 || isUnended(context.failure) || context.failure.exitCode === 0
    ? undefined
    : bestOf({ ...context, lines: context.warnings }, known.filter(isOfSystem))

const unknown = ({ failure, lines, warnings, passed }: FailureContext): Verdict => {
  const last = (lines.findLast(({ text }) => !isFooter(text)) ?? lines.at(-1))?.text.trim()
  if (!isUnended(failure) && failure.exitCode !== 0) {
    const ended = failure.signal === null ? `exit ${failure.exitCode}` : `signal ${failure.signal}`
    return verdictOf('unknown', 'unknown', last ?? ended)
  }
  const bad = lines.findLast((line) => reportsProblem(line) && !isFooter(line.text)) ?? lines.findLast(reportsProblem)
  if (bad !== undefined) return verdictOf('unknown', 'unknown', bad.text.trim())
  if (passed !== undefined) return { ...verdictOf('unknown', 'log/passed', passed), calm: 'passed' }
  if (last === undefined && warnings.length > 0)
    return { ...verdictOf('unknown', 'log/quiet', 'only warnings were printed'), calm: 'quiet' }
  if (last === undefined) return { ...verdictOf('unknown', 'log/empty', 'nothing was printed'), calm: 'empty' }
  return { ...verdictOf('unknown', 'log/quiet', last), calm: 'quiet' }
}

const contextOf = (failure: CommandFailure, all: OutputLine[], without?: string): FailureContext => {
  const lines = all.filter(({ text }) => !isWarning(text))
  const command = isGiven(failure) ? readCommand(failure.command) : commandInLog(lines)
  const warnings = lines.length === all.length ? [] : all.filter(({ text }) => isWarning(text))
  return { failure, command, lines, warnings, tests: readTestReport(lines, without) }
}

/** If it is unknown whether the command failed, the parts of the log that passed are not searched for a cause. */
const withoutPassed = (whole: FailureContext, known: readonly Rule[], without?: string): FailureContext => {
  const { failure } = whole
  if (!isUnended(failure) && failure.exitCode !== 0) return whole
  const tests = readTestReport([])
  const { rest, evidence } = withoutPasses(
    whole.lines,
    (part) => bestOf({ ...whole, lines: part, tests }, known) !== undefined,
  )
  if (evidence === undefined) return whole
  return { ...whole, lines: rest, tests: readTestReport(rest, without), passed: evidence }
}

const maxEvidence = 400

export const classify = (failure: CommandFailure, options: Options = {}): Classification => {
  const { without } = options
  const known = without === undefined ? rules : rules.filter(({ tools }) => !tools.includes(without))
  const lines = [...outputLines(failure.stderr, 'stderr'), ...outputLines(failure.stdout, 'stdout')]
  const context = withoutPassed(contextOf(failure, lines, without), known, without)
  const verdict = chooseVerdict(context, known)
  const row = labels[verdict.label]
  const failureCode = verdict.code ?? row.code
  const [category, retryable] = failureCodes[failureCode] ?? ['model', true]
  const action: RecoveryKind = verdict.action ?? row.action
  const evidence = verdict.evidence.slice(0, maxEvidence)
  const tool = context.command.programs.at(-1) ?? ''
  return {
    label: verdict.label,
    failureCode,
    category,
    isInfra: verdict.infra ?? row.infra,
    retryable,
    // Regardless of the rule, a check is never dropped if the code is at fault.
    recoveryKind: action === 'drop_command' && !row.infra ? 'code_fix' : action,
    evidence,
    signature: fingerprint({
      failureCode,
      label: verdict.label,
      tool,
      failing: verdict.label === 'test_failure' ? context.tests.names : [],
      cause: evidence,
    }),
    ruleId: verdict.ruleId,
    ...defined({ noFailure: verdict.calm }),
  }
}
