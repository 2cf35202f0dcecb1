/** A rebased commit is another one than its run's checks have seen: they run once more on it before it is published. */
import { join } from 'node:path'
import { keepAliveMs } from '../../domain/lease.ts'
import { proves } from '../../domain/run.ts'
import type { Evidence } from '../../recovery/evidence.ts'
import type { PortLease } from '../../process/port-lease.ts'
import { appendEvent } from '../../store/event.ts'
import { recordChecks } from '../../store/run.ts'
import { tellFindings } from '../checks/findings.ts'
import { runHonestly, type HonestReport } from '../checks/honest-checks.ts'
import { makeFresh, runSetup } from '../checks/fresh-workspace.ts'
import { carryOutInstalls } from '../checks/install.ts'
import { lendPorts, portVariables } from '../core/lent-ports.ts'
import { settleOpen } from '../core/store-record.ts'
import { headOf, type Landing } from './landing.ts'

const tellVerified = async (
  { context, goal, task, run, entry }: Landing,
  commit: string,
  { results, findings, failed }: HonestReport,
): Promise<void> => {
  const passed = results.filter(proves).length
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
    await settleOpen(tx, task.id, (condition) =>
      condition.type === 'remaining_checks_pass'
        ? { holds: passed > 0, detail: `${passed} remaining check(s) ran and passed` }
        : undefined,
    )
  })
}

const workspaceIn = (root: string): string => join(root, 'workspace')

const cloneRebased = async (
  { context, entry, goal }: Landing,
  root: string,
  commit: string,
): Promise<Evidence | undefined> => {
  const { repository, shadow, stateDir } = context
  const { git } = context.ports
  const { workspace: config } = context.config()
  // The clone borrows the user's object store, so the rebased commit must be there; no ref points at it before it is verified.
  await git.bringObjects(repository, shadow, { from: goal.headCommit, to: commit })
  const clone = { repository, base: commit, dir: workspaceIn(root), branch: `unstuck/merge/${entry.id}` }
  const { copyProblem } = await makeFresh(context.ports, { clone, owners: repository, stateDir, config })
  return copyProblem === undefined ? undefined : { kind: 'copy', text: `workspace.copy: ${copyProblem}` }
}

/** Where a rebased commit is checked, and the ports that are lent meanwhile. */
interface Place {
  root: string
  ports: PortLease | undefined
}

/** Everything but the commands: the same for the installs and for the checks. */
const requestOf = ({ context, entry }: Landing, { root, ports }: Place) => {
  const config = context.config()
  return {
    ...context,
    workspace: workspaceIn(root),
    marker: `${entry.id}-check`,
    extraNames: config.env,
    variables: portVariables(ports),
    timeoutMs: config.verify.timeoutSeconds * 1000,
    totalMs: config.verify.totalSeconds * 1000,
    keepAliveMs: keepAliveMs(config.lease.ttlSeconds),
    signal: context.stopping,
  }
}

const checkRebased = async (landing: Landing, place: Place): Promise<HonestReport> => {
  const { root } = place
  const { context, run, goal, task } = landing
  const checks = run.verdict?.checks ?? []
  const installs = run.verdict?.installed ?? []
  const request = requestOf(landing, place)
  // Where it fails, the checks say what is missing.
  await carryOutInstalls({ ...request, folder: (number) => join(root, 'installs', String(number)) }, installs)
  return runHonestly({
    ...request,
    base: { ...context, commit: headOf(goal), dir: join(root, 'base'), installs },
    commands: checks.map((check) => check.command),
    source: (command) => checks.find((check) => check.command === command)?.source ?? task.commandSource,
    folder: (number) => join(root, 'checks', String(number)),
    passed: () => context.at('check-passed'),
  })
}

const verifyIn = async (landing: Landing, place: Place, commit: string): Promise<Evidence | undefined> => {
  const { context } = landing
  const { root } = place
  const missing = await cloneRebased(landing, root, commit)
  if (missing !== undefined) return missing
  const setup = { ...requestOf(landing, place), folder: (number: number) => join(root, 'setup', String(number)) }
  const notSetUp = await runSetup(setup, context.config().workspace)
  if (context.stopping.aborted) return undefined
  if (notSetUp !== undefined) return notSetUp
  const report = await checkRebased(landing, place)
  // What a stop cut short failed by nothing else: the next engine verifies again.
  if (context.stopping.aborted) return undefined
  context.ports.files.rmSync(root, { recursive: true, force: true })
  await tellVerified(landing, commit, report)
  return report.failed === undefined ? undefined : { kind: 'check', check: report.failed }
}

/** Runs the checks that the run's verdict stands on once more, on the rebased commit in a clone of its own. */
export const verifyRebased = async (landing: Landing, commit: string): Promise<Evidence | undefined> => {
  const { context, entry } = landing
  const { files, processes } = context.ports
  const root = join(context.stateDir, 'merges', entry.id)
  await processes.sweep(`${entry.id}-check`)
  files.rmSync(root, { recursive: true, force: true })
  const ports = await lendPorts(context, entry.id)
  try {
    return await verifyIn(landing, { root, ports }, commit)
  } finally {
    processes.releasePorts(context.cacheDir, entry.id)
  }
}
