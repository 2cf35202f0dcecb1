/** A rebased commit is another one than its run's checks have seen: they run once more on it before anything lands. */
import { join } from 'node:path'
import { keepAliveMs } from '../../domain/lease.ts'
import { proves, type CheckResult, type CheckSource, type Install } from '../../domain/run.ts'
import type { Evidence } from '../../recovery/evidence.ts'
import type { PortLease } from '../../process/port-lease.ts'
import { appendEvent } from '../../store/event.ts'
import type { Queryable } from '../../store/db.ts'
import { recordChecks } from '../../store/run.ts'
import { tellFindings } from '../checks/findings.ts'
import { runHonestly, type HonestReport } from '../checks/honest-checks.ts'
import { makeFresh, runSetup } from '../checks/fresh-workspace.ts'
import { carryOutInstalls } from '../checks/install.ts'
import { keepPassed, passedBefore, stillToRun } from '../checks/kept-checks.ts'
import { lendPorts, portVariables } from '../core/lent-ports.ts'
import { cachesOfChecks, type Context } from '../core/context.ts'
import { settleOpen } from '../core/store-record.ts'
import { headOf, type Landing } from './landing.ts'

/** Checks that are to run again on a commit of the user's repository, in a clone of its own. */
export interface Recheck {
  context: Context
  /** Names the clone, its branch and what runs in it. */
  id: string
  commit: string
  /** What fails on this commit as well is not the work's. */
  base: string
  commands: string[]
  source: (command: string) => CheckSource
  installs: readonly Install[]
}

/** Stopped: what the engine's end cut short failed by nothing else, and the next engine looks again. */
export type Rechecked =
  | { kind: 'stopped' }
  | { kind: 'not ready'; evidence: Evidence }
  | { kind: 'ran'; report: HonestReport }

const cloneOf = async ({ context, id, commit }: Recheck, workspace: string): Promise<Evidence | undefined> => {
  const { repository, stateDir, ports } = context
  const clone = { repository, base: commit, dir: workspace, branch: `unstuck/merge/${id}` }
  const config = context.config().workspace
  const { copyProblem } = await makeFresh(ports, { clone, owners: repository, stateDir, config })
  return copyProblem === undefined ? undefined : { kind: 'copy', text: `workspace.copy: ${copyProblem}` }
}

/** Where a commit is checked, and the ports that are lent meanwhile. */
interface Place {
  root: string
  ports: PortLease | undefined
}

const workspaceIn = ({ root }: Place): string => join(root, 'workspace')

/** Everything but the commands: the same for the installs and for the checks. */
const requestOf = ({ context, id }: Recheck, place: Place) => {
  const config = context.config()
  return {
    ...context,
    workspace: workspaceIn(place),
    marker: `${id}-check`,
    extraNames: config.env,
    variables: portVariables(place.ports),
    caches: cachesOfChecks(context),
    timeoutMs: config.verify.timeoutSeconds * 1000,
    totalMs: config.verify.totalSeconds * 1000,
    keepAliveMs: keepAliveMs(config.lease.ttlSeconds),
    signal: context.stopping,
  }
}

type Passed = ReadonlyMap<string, CheckResult>

const runAll = async (given: Recheck, place: Place, passed: Passed): Promise<HonestReport> => {
  const { root } = place
  const { context, installs, source } = given
  const commands = stillToRun(given.commands, passed)
  const request = requestOf(given, place)
  // Where it fails, the checks say what is missing.
  await carryOutInstalls({ ...request, folder: (number) => join(root, 'installs', String(number)) }, installs)
  return runHonestly({
    ...request,
    ...{ commands, source },
    base: { ...context, commit: given.base, dir: join(root, 'base'), installs },
    folder: (number) => join(root, 'checks', String(number)),
    passed: () => context.at('check-passed'),
  })
}

const recheckIn = async (given: Recheck, place: Place, passed: Passed): Promise<Rechecked> => {
  const { context } = given
  const { root } = place
  const missing = await cloneOf(given, workspaceIn(place))
  if (missing !== undefined) return { kind: 'not ready', evidence: missing }
  const setup = { ...requestOf(given, place), folder: (number: number) => join(root, 'setup', String(number)) }
  const notSetUp = await runSetup(setup, context.config().workspace)
  if (context.stopping.aborted) return { kind: 'stopped' }
  if (notSetUp !== undefined) return { kind: 'not ready', evidence: notSetUp.evidence }
  const report = await runAll(given, place, passed)
  if (context.stopping.aborted) return { kind: 'stopped' }
  await context.ports.git.removeWorkspace(workspaceIn(place))
  context.ports.files.rmSync(root, { recursive: true, force: true })
  return { kind: 'ran', report }
}

/** In the order of the list, up to a check that failed. */
const together = ({ commands, source }: Recheck, passed: Passed, report: HonestReport): HonestReport => {
  const results = commands.flatMap((command) => {
    const known = passed.get(command)
    const result = report.results.find((each) => each.command === command) ?? known
    return result === undefined ? [] : [{ ...result, source: source(command) }]
  })
  return { ...report, results }
}

/** What passed on the same files with the same packages does not run again. */
export const recheck = async (given: Recheck): Promise<Rechecked> => {
  const { context, commands } = given
  const place = { ...context, ...given }
  const passed = await passedBefore(context.ports, place, commands)
  if (commands.every((command) => passed.has(command)))
    return { kind: 'ran', report: together(given, passed, { results: [], findings: [] }) }
  const checked = await recheckRest(given, passed)
  if (checked.kind !== 'ran') return checked
  const report = together(given, passed, checked.report)
  await keepPassed(context.ports, place, report.results)
  return { kind: 'ran', report }
}

const recheckRest = async (given: Recheck, passed: Passed): Promise<Rechecked> => {
  const { context, id } = given
  const { files, processes } = context.ports
  const root = join(context.stateDir, 'merges', id)
  await processes.sweep(`${id}-check`)
  files.rmSync(root, { recursive: true, force: true })
  const ports = await lendPorts(context, id)
  try {
    return await recheckIn(given, { root, ports }, passed)
  } finally {
    processes.releasePorts(context.cacheDir, id)
  }
}

/** What waited for checks of this task has helped. */
export const settleWaits = (tx: Queryable, taskId: string, passed: number): Promise<void> =>
  settleOpen(tx, taskId, (condition) =>
    condition.type === 'remaining_checks_pass'
      ? { holds: passed > 0, detail: `${passed} remaining check(s) ran and passed` }
      : undefined,
  )

const tellVerified = async (
  { context, goal, task, run, entry }: Landing,
  commit: string,
  { results, findings, failed }: HonestReport,
): Promise<void> => {
  await context.db.transaction(async (tx) => {
    await tellFindings(tx, run, findings)
    await appendEvent(tx, {
      type: 'merge.reverified',
      goalId: goal.id,
      taskId: task.id,
      runId: run.id,
      payload: { entry: entry.id, commit, checks: results, passed: failed === undefined },
    })
    if (failed !== undefined) return
    await recordChecks(tx, run.id, results)
    await settleWaits(tx, task.id, results.filter(proves).length)
  })
}

/** Runs the checks that the run's verdict stands on once more, on the rebased commit. */
export const verifyRebased = async (landing: Landing, commit: string): Promise<Evidence | undefined> => {
  const { context, run, goal, task, entry } = landing
  const { repository, shadow } = context
  const checks = run.verdict?.checks ?? []
  // The clone borrows the user's object store, so the rebased commit must be there; no ref points at it before it is verified.
  await context.ports.git.bringObjects(repository, shadow, { from: goal.headCommit, to: commit })
  const checked = await recheck({
    ...{ context, id: entry.id, commit, base: headOf(goal) },
    commands: checks.map((check) => check.command),
    source: (command) => checks.find((check) => check.command === command)?.source ?? task.commandSource,
    installs: run.verdict?.installed ?? [],
  })
  if (checked.kind !== 'ran') return checked.kind === 'stopped' ? undefined : checked.evidence
  const { report } = checked
  await tellVerified(landing, commit, report)
  return report.failed === undefined ? undefined : { kind: 'check', check: report.failed }
}
