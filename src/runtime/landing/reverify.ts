/**
 * Checks ran on the commit of the run; a rebase made a different commit. The checks run once more on that commit
 * before it may land.
 */
import { join } from 'node:path'
import { keepAliveMs } from '../../domain/lease.ts'
import type { Install } from '../../domain/install.ts'
import { isEvidence, type CheckResult, type CheckSource } from '../../domain/run.ts'
import type { Evidence } from '../../recovery/evidence.ts'
import type { PortLease } from '../../process/port-lease.ts'
import { appendEvent } from '../../store/event.ts'
import type { Queryable } from '../../store/db.ts'
import { recordChecks } from '../../store/run.ts'
import { recordFindings } from '../checks/check-events.ts'
import { runAndJudgeChecks, type JudgedReport } from '../checks/check-runner.ts'
import { makeFreshWorkspace, runSetup } from '../checks/fresh-workspace.ts'
import { carryOutInstalls } from '../checks/install.ts'
import { repeatForTasks } from '../checks/repeated-proposals.ts'
import { cachePassed, passedBefore, stillToRun } from '../checks/check-cache.ts'
import { reservePorts, portVariables } from '../core/reserved-ports.ts'
import { checkCaches, type Context } from '../core/context.ts'
import { resolveOpenOf } from '../core/store-record.ts'
import { goalHead, type MergeAttempt } from './merge-attempt.ts'

/** A request to run checks on a commit of the user's repository, in a separate clone. */
export interface RecheckRequest {
  context: Context
  /** Names the clone and its branch, and marks the processes that run in it. */
  id: string
  commit: string
  /** A check that also fails on this commit is not blamed on the work. */
  base: string
  commands: string[]
  source: (command: string) => CheckSource
  installs: readonly Install[]
  /** The tasks whose work is checked: what helped their checks is repeated. */
  taskIds: readonly string[]
}

/**
 * `stopped`: the engine is shutting down, and the interrupted check says nothing about the work. The next engine runs
 * it again.
 */
export type RecheckResult =
  | { kind: 'stopped' }
  | { kind: 'not ready'; evidence: Evidence }
  | { kind: 'ran'; report: JudgedReport }

const cloneOf = async ({ context, id, commit }: RecheckRequest, workspace: string): Promise<Evidence | undefined> => {
  const { repository, stateDir, ports, shadow } = context
  const clone = { repository, base: commit, dir: workspace, branch: `unstuck/merge/${id}` }
  const config = context.config().workspace
  const request = { clone, owners: repository, stateDir, filters: shadow.filters, config }
  const { copyProblem } = await makeFreshWorkspace(ports, request)
  return copyProblem === undefined ? undefined : { kind: 'copy', text: `workspace.copy: ${copyProblem}` }
}

/** The folder in which a commit is checked, and the ports lent to its commands. */
interface CheckFolder {
  root: string
  ports: PortLease | undefined
}

const workspaceIn = ({ root }: CheckFolder): string => join(root, 'workspace')

/** What installs and checks have in common; the commands are added by the caller. */
const requestOf = ({ context, id }: RecheckRequest, place: CheckFolder) => {
  const config = context.config()
  return {
    ...context,
    workspace: workspaceIn(place),
    marker: `${id}-check`,
    extraNames: config.env,
    variables: portVariables(place.ports),
    caches: checkCaches(context),
    timeoutMs: config.verify.timeoutSeconds * 1000,
    totalMs: config.verify.totalSeconds * 1000,
    keepAliveMs: keepAliveMs(config.lease.ttlSeconds),
    signal: context.stopping,
  }
}

type Passed = ReadonlyMap<string, CheckResult>

/** Runs the set-up; one that only passes after what helped its tasks gets that first. `isRepeated`: it ran here. */
const setUpIn = async (given: RecheckRequest, place: CheckFolder) => {
  const { workspace } = given.context.config()
  const request = { ...requestOf(given, place), folder: (number: number) => join(place.root, 'setup', String(number)) }
  const failed = await runSetup(request, workspace)
  const isRepeated = failed !== undefined && (await repeatIn(given, place))
  return { isRepeated, failed: isRepeated ? await runSetup(request, workspace) : failed }
}

const repeatIn = (given: RecheckRequest, place: CheckFolder): Promise<boolean> => {
  const { context, commit, taskIds } = given
  return repeatForTasks(context, { request: requestOf(given, place), root: place.root, commit, taskIds })
}

const runAll = async (
  given: RecheckRequest,
  place: CheckFolder,
  { passed, isRepeated }: { passed: Passed; isRepeated: boolean },
): Promise<JudgedReport> => {
  const { root } = place
  const { context, installs, source } = given
  const commands = stillToRun(given.commands, passed)
  const request = requestOf(given, place)
  // A failed install needs no handling here: the checks that follow report what is missing.
  await carryOutInstalls({ ...request, folder: (number) => join(root, 'installs', String(number)) }, installs)
  if (!isRepeated) await repeatIn(given, place)
  return runAndJudgeChecks({
    ...request,
    ...{ commands, source },
    base: { ...context, commit: given.base, dir: join(root, 'base'), installs },
    folder: (number) => join(root, 'checks', String(number)),
    passed: () => context.at('check-passed'),
  })
}

const recheckIn = async (given: RecheckRequest, place: CheckFolder, passed: Passed): Promise<RecheckResult> => {
  const { context } = given
  const { root } = place
  const missing = await cloneOf(given, workspaceIn(place))
  if (missing !== undefined) return { kind: 'not ready', evidence: missing }
  const { failed, isRepeated } = await setUpIn(given, place)
  if (context.stopping.aborted) return { kind: 'stopped' }
  if (failed !== undefined) return { kind: 'not ready', evidence: failed.evidence }
  const report = await runAll(given, place, { passed, isRepeated })
  if (context.stopping.aborted) return { kind: 'stopped' }
  await context.ports.git.removeWorkspace(workspaceIn(place))
  context.ports.files.rmSync(root, { recursive: true, force: true })
  return { kind: 'ran', report }
}

/** Joins results of this time with the kept ones, in the order of the list, up to the first failed check. */
const joined = ({ commands, source }: RecheckRequest, passed: Passed, report: JudgedReport): JudgedReport => {
  const results = commands.flatMap((command) => {
    const known = passed.get(command)
    const result = report.results.find((each) => each.command === command) ?? known
    return result === undefined ? [] : [{ ...result, source: source(command) }]
  })
  return { ...report, results }
}

/** Runs the checks. A check that passed on the same files with the same packages is not repeated. */
export const rerunChecks = async (given: RecheckRequest): Promise<RecheckResult> => {
  const { context, commands } = given
  const place = { ...context, ...given }
  const passed = await passedBefore(context.ports, place, commands)
  if (commands.every((command) => passed.has(command)))
    return { kind: 'ran', report: joined(given, passed, { results: [], findings: [] }) }
  const checked = await recheckRest(given, passed)
  if (checked.kind !== 'ran') return checked
  const report = joined(given, passed, checked.report)
  await cachePassed(context.ports, place, report.results)
  return { kind: 'ran', report }
}

const recheckRest = async (given: RecheckRequest, passed: Passed): Promise<RecheckResult> => {
  const { context, id } = given
  const { files, processes } = context.ports
  const root = join(context.stateDir, 'merges', id)
  await processes.sweep(`${id}-check`)
  files.rmSync(root, { recursive: true, force: true })
  const ports = await reservePorts(context, id)
  try {
    return await recheckIn(given, { root, ports }, passed)
  } finally {
    processes.releasePorts(context.cacheDir, id)
    // While the entry is still in progress: what its checks have changed in the owner's files must not pass for the owner's work.
    await context.refreshSettings?.()
  }
}

/** Resolves the recoveries that waited for these checks: they helped if a check ran and passed. */
export const resolveWaits = (tx: Queryable, taskId: string, passed: number): Promise<void> =>
  resolveOpenOf(tx, taskId, (condition) =>
    condition.type === 'remaining_checks_pass'
      ? { satisfied: passed > 0, detail: `${passed} remaining check(s) ran and passed` }
      : undefined,
  )

const recordVerified = async (
  { context, goal, task, run, entry }: MergeAttempt,
  commit: string,
  { results, findings, failed }: JudgedReport,
): Promise<void> => {
  await context.db.transaction(async (tx) => {
    await recordFindings(tx, run, findings)
    await appendEvent(tx, {
      type: 'merge.reverified',
      goalId: goal.id,
      taskId: task.id,
      runId: run.id,
      payload: { entry: entry.id, commit, checks: results, passed: failed === undefined },
    })
    if (failed !== undefined) return
    await recordChecks(tx, run.id, results)
    await resolveWaits(tx, task.id, results.filter(isEvidence).length)
  })
}

/**
 * Runs the checks behind the run's verdict once more, on the rebased commit. Returns the evidence of a failure, or
 * undefined if all passed or the engine is stopping.
 */
export const verifyRebased = async (landing: MergeAttempt, commit: string): Promise<Evidence | undefined> => {
  const { context, run, goal, task, entry } = landing
  const { repository, shadow } = context
  const checks = run.verdict?.checks ?? []
  // The clone borrows the objects of the user's repository, so the rebased commit must be there. No ref points at it
  // until it is verified.
  await context.ports.git.bringObjects(repository, shadow, { from: goal.headCommit, to: commit })
  const checked = await rerunChecks({
    ...{ context, id: entry.id, commit, base: goalHead(goal) },
    commands: checks.map((check) => check.command),
    source: (command) => checks.find((check) => check.command === command)?.source ?? task.commandSource,
    installs: run.verdict?.installed ?? [],
    taskIds: [task.id],
  })
  if (checked.kind !== 'ran') return checked.kind === 'stopped' ? undefined : checked.evidence
  const { report } = checked
  await recordVerified(landing, commit, report)
  return report.failed === undefined ? undefined : { kind: 'check', check: report.failed }
}
