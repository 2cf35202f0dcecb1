/**
 * Runs verification commands from their syntax tree, each under a shim and never through a shell: nothing in a command is expanded. It
 * reports what was observed; the diagnosis decides what a failure means.
 */
import type { CheckResult } from '../../domain/run.ts'
import type { CommandResult } from '../../process/run-command.ts'
import { commandEnvironment, withPythonOf } from '../../process/environment.ts'
import { plannablePart } from '../../recovery/command/chain.ts'
import { planCheck } from '../../recovery/command/plan-check.ts'
import { type CommandStep } from '../../recovery/command/command-plan.ts'
import { countedNoTest, ranNoTest } from '../../recovery/diagnosis/executed.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import { linesIn, type FailedOutput } from '../../recovery/failing-set.ts'
import { countTests } from '../../recovery/proof/test-count.ts'
import { checkFacts, commandDirectory, watchingScript } from './check-facts.ts'
import { packageVariables, searchPaths } from '../core/package-variables.ts'
import { cacheVariables } from './private-caches.ts'
import type { CheckReport, CheckRequest } from './check-request.ts'
import { defined } from '../../domain/defined.ts'

const graceMs = 5_000
/** Bytes of output kept in memory. Two runs are compared by it; the rest stays in the files of the folder. */
const headBytes = 1024 * 1024
const tailBytes = 256 * 1024

interface Ended extends CommandResult {
  command: string
  /** The line that shows that a runner ran no test, although it exited with 0. */
  ranNothing?: string
}

const refused = (command: string, reason: string): Ended => ({
  command,
  exitCode: 1,
  signal: null,
  timedOut: false,
  stdout: '',
  stderr: `cd: ${reason}`,
  stdoutTruncated: false,
  stderrTruncated: false,
  durationMs: 0,
})

const ranWell = (ended: CommandResult): boolean =>
  ended.exitCode === 0 && !ended.timedOut && ended.spawnError === undefined

const environmentOf = (request: CheckRequest, step: CommandStep, cwd: string): Record<string, string> => {
  const { files } = request.ports
  const environment = commandEnvironment(request.workspace, request.environment, request.extraNames, {
    ...packageVariables(files, request.workspace),
    ...searchPaths(files, request.workspace, { ...request.repository, environment: request.environment }),
    ...request.variables,
    ...step.env,
  })
  return cwd === files.realpathSync(request.workspace) ? environment : withPythonOf(cwd, environment)
}

const runStep = (
  request: CheckRequest,
  step: CommandStep,
  { cwd, dir }: { cwd: string; dir: string },
  deadline: number,
): Promise<CommandResult> =>
  request.ports.processes.runCommand(dir, {
    argv: step.argv,
    cwd,
    environment: environmentOf(request, step, cwd),
    timeoutMs: Math.max(1, Math.min(request.timeoutMs, deadline - request.clock.elapsed())),
    marker: request.marker,
    graceMs,
    keepAliveMs: request.keepAliveMs,
    headBytes,
    tailBytes,
    signal: request.signal,
  })

/** Runs the steps of one command until one fails. Returns the last result and its step. */
const runEntry = async (
  request: CheckRequest,
  entry: { command: string; steps: CommandStep[]; first: number; deadline: number },
): Promise<{ ended: Ended; step: CommandStep | undefined; used: number }> => {
  let ended: Ended = { ...refused(entry.command, ''), exitCode: 0, stderr: '' }
  let used = 0
  for (const step of entry.steps) {
    const place = commandDirectory(request.ports.files, request.workspace, step.cwd)
    if (!place.ok) return { ended: refused(entry.command, place.reason), step, used }
    if (step.argv.length === 0) continue
    const where = { cwd: place.path, dir: request.folder(entry.first + used) }
    const result = await runStep(request, step, where, entry.deadline)
    used += 1
    ended = { ...result, command: entry.command, durationMs: ended.durationMs + result.durationMs }
    if (!ranWell(result)) return { ended, step, used }
    const nothing = ranNoTest([...linesIn(result.stdout), ...linesIn(result.stderr)])
    if (nothing !== undefined) return { ended: { ...ended, ranNothing: nothing.evidence }, step, used }
  }
  return { ended, step: entry.steps.at(-1), used }
}

const testsOf = ({ stdout, stderr }: Ended): Pick<CheckResult, 'tests'> => {
  const tests = countTests([...linesIn(stdout), ...linesIn(stderr)])
  return tests === undefined ? {} : { tests }
}

const resultOf = (request: CheckRequest, ended: Ended): Omit<CheckResult, 'baseline' | 'excused'> => ({
  command: ended.command,
  source: request.source(ended.command),
  exitCode: ended.exitCode,
  signal: ended.signal,
  timedOut: ended.timedOut,
  durationMs: Math.round(ended.durationMs),
  ...defined({ ranNothing: ended.ranNothing }),
  ...testsOf(ended),
})

const outputOf = (request: CheckRequest, ended: Ended, step: number): FailedOutput => ({
  command: ended.command,
  exitCode: ended.exitCode,
  signal: ended.signal,
  timedOut: ended.timedOut,
  stdout: ended.stdout,
  stderr: ended.stderr,
  complete: !ended.stdoutTruncated && !ended.stderrTruncated,
  step,
  root: request.ports.files.realpathSync(request.workspace),
})

const observed = (request: CheckRequest, ended: Ended, step: CommandStep | undefined): ObservedCheck => {
  return {
    ...resultOf(request, ended),
    stdout: ended.stdout,
    stderr: ended.stderr,
    remaining: request.commands.length - 1,
    ...defined({ spawnError: ended.spawnError }),
    ...(countedNoTest([...linesIn(ended.stdout), ...linesIn(ended.stderr)]) ? { countedNone: true } : {}),
    ...checkFacts(request, ended.command, step),
  }
}

/** Runs the commands in order and stops at the first that fails or that ran no test. */
export const runChecks = async (given: CheckRequest): Promise<CheckReport> => {
  const request = { ...given, variables: { ...(await cacheVariables(given)), ...given.variables } }
  const deadline = request.clock.elapsed() + request.totalMs
  const results: CheckResult[] = []
  let first = 1
  for (const command of request.commands) {
    const plan = planCheck(command)
    if (!plan.ok) {
      const ended = { ...refused(command, ''), stderr: '', exitCode: null }
      const unsupported = { piece: plan.piece, reason: plan.reason }
      const rest = plannablePart(command)
      const failed = { ...observed(request, ended, undefined), unsupported, ...defined({ rest }) }
      return { results, failed, used: first - 1 }
    }
    const [watching] = plan.steps.flatMap((each) => {
      const piece = watchingScript(request.ports.files, request.workspace, each)
      return piece === undefined ? [] : [{ piece, each }]
    })
    if (watching !== undefined) {
      const ended = { ...refused(command, ''), stderr: '', exitCode: null }
      const unsupported = { piece: watching.piece, reason: 'its script waits for changes of files and never ends' }
      return { results, failed: { ...observed(request, ended, watching.each), unsupported }, used: first - 1 }
    }
    const { ended, step, used } = await runEntry(request, { command, steps: plan.steps, first, deadline })
    first += used
    const result = resultOf(request, ended)
    results.push(result)
    if (!ranWell(ended) || ended.ranNothing !== undefined) {
      const output = outputOf(request, ended, step === undefined ? 0 : plan.steps.indexOf(step))
      return { results, failed: observed(request, ended, step), output, used: first - 1 }
    }
    request.passed()
  }
  return { results, used: first - 1 }
}
