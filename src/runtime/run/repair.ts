/**
 * Repairs of a check that cannot run as written. The intent is stored first, in the run's verdict, and phase `verify`
 * carries it out in each clean clone, so a restarted engine repeats it.
 */
import { join } from 'node:path'
import { keepAliveMs } from '../../domain/lease.ts'
import type { Install } from '../../domain/install.ts'
import { keptVerdict, isEvidence, type CheckResult, type Dropped, type Verdict } from '../../domain/run.ts'
import { reorderedBy } from '../../recovery/command/order.ts'
import { diagnose } from '../../recovery/diagnosis.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import { installActionKeyOf, installKeyOf, type PostCondition } from '../../recovery/playbook.ts'
import { StaleError, type Queryable } from '../../store/db.ts'
import { requireLease } from '../../store/run.ts'
import { setTaskCommands } from '../../store/task.ts'
import { checkCaches } from '../core/context.ts'
import type { PhaseResult } from './phase.ts'
import { carryOutInstall, type InstallRequest } from '../checks/install.ts'
import type { ActionOf, ActionHandlers, ChosenRecovery } from '../core/recovery-record.ts'
import { recordIntent, resolveOpenOf } from '../core/store-record.ts'
import { portVariables } from '../core/reserved-ports.ts'
import {
  stopSignal,
  isReleased,
  passedVariables,
  saveProgress,
  checkedTreeOf,
  type RunContext,
} from '../core/run-context.ts'
import { defined } from '../../domain/defined.ts'

/**
 * The milliseconds that verification of this run has used, installs included. Stored, because a relaunch must not
 * start with a full time budget.
 */
const usedFile = (runContext: RunContext): string => join(runContext.paths.root, 'verification-ms')

export const verificationMs = (runContext: RunContext): number => {
  try {
    return Number(runContext.context.ports.files.readFileSync(usedFile(runContext), 'utf8')) || 0
  } catch {
    return 0 // the first verification of the run
  }
}

/** The checks of each iteration of a loop have the full time. */
export const beginVerificationTime = (runContext: RunContext): void =>
  runContext.context.ports.files.rmSync(usedFile(runContext), { force: true })

/** Adds the time since `begun`, by the monotonic clock, which jumps of the wall clock do not change. */
export const addVerificationTime = (runContext: RunContext, begun: number): void => {
  const now = Math.round(verificationMs(runContext) + runContext.context.clock.elapsed() - begun)
  runContext.context.ports.files.writeFileSync(usedFile(runContext), String(now), { mode: 0o600 })
}

/** What all commands in a workspace of a run have in common. */
export const commandContext = (
  runContext: RunContext,
  workspace = checkedTreeOf(runContext),
): Omit<InstallRequest, 'folder'> => {
  const { context } = runContext
  const config = context.config()
  return {
    clock: context.clock,
    ports: context.ports,
    repository: context.repository,
    workspace,
    marker: `${runContext.run.id}-check`,
    environment: context.environment,
    extraNames: passedVariables(config, runContext.harness),
    variables: portVariables(runContext.ports),
    ...(workspace === runContext.paths.checked ? { caches: checkCaches(context) } : {}),
    timeoutMs: config.verify.timeoutSeconds * 1000,
    totalMs: Math.max(1, config.verify.totalSeconds * 1000 - verificationMs(runContext)),
    keepAliveMs: keepAliveMs(config.lease.ttlSeconds),
    signal: stopSignal(runContext),
  }
}

interface Change {
  verdict: Verdict
  /** The task's commands from now on; absent = unchanged. */
  commands?: string[]
}

/** Actions that change the plan of checks. */
type Repair = 'install' | 'reorder' | 'drop_command' | 'replace_command'

type Changes = { [T in Repair]: (runContext: RunContext, action: ActionOf<T>, evidence: string) => Change }

/** Drops a check, or replaces it with another command. */
const withoutCheck = ({ task, run }: RunContext, dropped: Dropped): Change => {
  const kept = keptVerdict(run.verdict)
  const { command, by } = dropped
  return {
    verdict: { ...kept, dropped: [...kept.dropped, dropped] },
    commands: task.commands.flatMap((candidate) => (candidate === command ? (by ?? []) : [candidate])),
  }
}

/** The change that each repair makes to the plan of checks. */
const changes: Changes = {
  install: ({ run }, { install }) => {
    const kept = keptVerdict(run.verdict)
    return { verdict: { ...kept, installed: [...(kept.installed ?? []), install] } }
  },
  reorder: ({ task, run }, action) => {
    const kept = keptVerdict(run.verdict)
    const { order, install } = action
    return {
      verdict: {
        ...{ ...kept, order },
        ...(install === undefined ? {} : { installed: [...(kept.installed ?? []), install] }),
      },
      commands: reorderedBy(task.commands, action),
    }
  },
  drop_command: (runContext, { command, rest }, reason) =>
    withoutCheck(runContext, { command, reason, ...defined({ by: rest }) }),
  replace_command: (runContext, { command, by }, reason) => withoutCheck(runContext, { command, reason, by }),
}

/** Stores only the intent; phase `verify` carries it out. */
const intend = async (
  runContext: RunContext,
  chosen: ChosenRecovery,
  { commands, verdict }: Change,
): Promise<PhaseResult> => {
  const { context } = runContext
  await context.db.transaction(async (tx) => {
    await recordIntent(context, tx, runContext.run, chosen)
    if (commands !== undefined && !(await setTaskCommands(tx, runContext.run, commands)))
      throw new StaleError(`task ${runContext.task.id}`)
    await saveProgress(runContext, { phase: 'verify', verdict }, tx)
  })
  if (commands !== undefined) runContext.task = { ...runContext.task, commands }
  context.at('recovery-intended')
  return 'on'
}

const repair =
  <T extends Repair>(type: T) =>
  (runContext: RunContext, chosen: ChosenRecovery<ActionOf<T>>): Promise<PhaseResult> =>
    intend(runContext, chosen, changes[type](runContext, chosen.step.action, chosen.diagnosis.evidence))

export const repairs: ActionHandlers<RunContext, PhaseResult, Repair> = {
  install: repair('install'),
  reorder: repair('reorder'),
  drop_command: repair('drop_command'),
  replace_command: repair('replace_command'),
}

/** Stores the intent of a mode change; the phase that needs the folder carries it out. */
export const recordModeChange = async (
  runContext: RunContext,
  chosen: ChosenRecovery<ActionOf<'chmod'>>,
): Promise<PhaseResult> => {
  const { context } = runContext
  await context.db.transaction(async (tx) => {
    await requireLease(tx, runContext.run)
    await recordIntent(context, tx, runContext.run, chosen)
  })
  context.at('recovery-intended')
  return 'on'
}

const installFailed = (runContext: RunContext, install: Install, detail: string): Promise<void> => {
  const verdict = keptVerdict(runContext.run.verdict)
  const key = installKeyOf(install)
  const installed = (verdict.installed ?? []).filter((other) => installKeyOf(other) !== key)
  return runContext.context.db.transaction(async (tx) => {
    await requireLease(tx, runContext.run)
    await resolveOpenOf(tx, runContext.task.id, (_condition, recovery) =>
      recovery.actionKey === installActionKeyOf(install) ? { satisfied: false, detail } : undefined,
    )
    await saveProgress(runContext, { verdict: { ...verdict, installed } }, tx)
  })
}

/** Installs what the checks of this run were found to need in the clone in which they are about to run. */
export const installForChecks = async (runContext: RunContext): Promise<void> => {
  for (const [index, install] of (runContext.run.verdict?.installed ?? []).entries()) {
    const begun = runContext.context.clock.elapsed()
    const folder = (number: number): string => join(runContext.paths.root, 'installs', `${index + 1}-${number}`)
    const result = await carryOutInstall({ ...commandContext(runContext), folder }, install)
    addVerificationTime(runContext, begun)
    if (isReleased(runContext)) return
    if (!result.ok) await installFailed(runContext, install, result.detail)
  }
}

interface Observed {
  results: readonly CheckResult[]
  failed?: ObservedCheck
}

/** Whether the repaired check ran again and executed at least one test. */
const ranAgain = (
  command: string,
  label: string,
  { results, failed }: Observed,
): { satisfied: boolean; detail: string } => {
  if (failed?.command === command) {
    const now = diagnose({ kind: 'check', check: failed })
    const runs = now.category === 'test' && now.label !== label
    return {
      satisfied: runs,
      detail: `it ${runs ? 'runs now and fails on its own' : 'still cannot run'}: ${now.evidence}`,
    }
  }
  const result = results.find((check) => check.command === command)
  if (result === undefined)
    return { satisfied: false, detail: `it was not reached: ${failed?.command ?? 'nothing'} failed before it` }
  return isEvidence(result)
    ? { satisfied: true, detail: `${command} ran and passed` }
    : { satisfied: result.ranNothing === undefined, detail: `${command} ran` }
}

/** The command that replaced this one, or the command itself. */
const replacementOf = ({ run }: RunContext, command: string): string =>
  run.verdict?.dropped.find((entry) => entry.command === command)?.by ?? command

/** Resolves the open repairs by the results of the checks. */
export const resolveRepairs = (tx: Queryable, runContext: RunContext, seen: Observed): Promise<void> =>
  resolveOpenOf(tx, runContext.task.id, (condition: PostCondition, { label }) =>
    condition.type === 'check_runs' ? ranAgain(replacementOf(runContext, condition.command), label, seen) : undefined,
  )
