/**
 * Repairs of a check that cannot run as written. The intent is stored first, in the run's verdict, and phase `verify`
 * carries it out in each clean clone, so a restarted engine repeats it.
 */
import { join } from 'node:path'
import { keepAliveMs } from '../../domain/lease.ts'
import { keptVerdict, proves, type CheckResult, type Dropped, type Install, type Verdict } from '../../domain/run.ts'
import { inOrder } from '../../recovery/command/order.ts'
import { diagnose } from '../../recovery/diagnosis.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import { installKeyOf, type PostCondition } from '../../recovery/playbook.ts'
import { StaleError, type Queryable } from '../../store/db.ts'
import { holdLease } from '../../store/run.ts'
import { setTaskCommands } from '../../store/task.ts'
import { cachesOfChecks } from '../core/context.ts'
import type { Next } from './phase.ts'
import { carryOutInstall, type InstallRequest } from '../checks/install.ts'
import type { ActionOf, Carriers, Chosen } from '../core/recovery-record.ts'
import { recordIntent, settleOpen } from '../core/store-record.ts'
import { portVariables } from '../core/lent-ports.ts'
import { bothSignals, letGo, passedNames, save, checkedTreeOf, type Session } from '../core/session.ts'

/**
 * The milliseconds that verification of this run has used, installs included. Stored, because a relaunch must not
 * start with a full time budget.
 */
const usedFile = (session: Session): string => join(session.paths.root, 'verification-ms')

export const usedMs = (session: Session): number => {
  try {
    return Number(session.context.ports.files.readFileSync(usedFile(session), 'utf8')) || 0
  } catch {
    return 0 // the first verification of the run
  }
}

/** Adds the time since `begun`, by the monotonic clock, which jumps of the wall clock do not change. */
export const addUsed = (session: Session, begun: number): void => {
  const now = Math.round(usedMs(session) + session.context.clock.elapsed() - begun)
  session.context.ports.files.writeFileSync(usedFile(session), String(now), { mode: 0o600 })
}

/** What all commands in a workspace of a run have in common. */
export const placeOfChecks = (session: Session, workspace = checkedTreeOf(session)): Omit<InstallRequest, 'folder'> => {
  const { context } = session
  const config = context.config()
  return {
    clock: context.clock,
    ports: context.ports,
    workspace,
    marker: `${session.run.id}-check`,
    environment: context.environment,
    extraNames: passedNames(config, session.harness),
    variables: portVariables(session.ports),
    ...(workspace === session.paths.checked ? { caches: cachesOfChecks(context) } : {}),
    timeoutMs: config.verify.timeoutSeconds * 1000,
    totalMs: Math.max(1, config.verify.totalSeconds * 1000 - usedMs(session)),
    keepAliveMs: keepAliveMs(config.lease.ttlSeconds),
    signal: bothSignals(session),
  }
}

interface Change {
  verdict: Verdict
  /** The task's commands from now on; absent = unchanged. */
  commands?: string[]
}

/** Actions that change the plan of checks. */
type Repair = 'install' | 'reorder' | 'drop_command' | 'replace_command'

type Changes = { [T in Repair]: (session: Session, action: ActionOf<T>, evidence: string) => Change }

/** Drops a check, or replaces it with another command. */
const withoutCheck = ({ task, run }: Session, dropped: Dropped): Change => {
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
  reorder: ({ task, run }, { order }) => ({
    verdict: { ...keptVerdict(run.verdict), order },
    commands: inOrder(task.commands, order),
  }),
  drop_command: (session, { command, rest }, reason) =>
    withoutCheck(session, { command, reason, ...(rest === undefined ? {} : { by: rest }) }),
  replace_command: (session, { command, by }, reason) => withoutCheck(session, { command, reason, by }),
}

/** Stores only the intent; phase `verify` carries it out. */
const intend = async (session: Session, chosen: Chosen, { commands, verdict }: Change): Promise<Next> => {
  const { context } = session
  await context.db.transaction(async (tx) => {
    await recordIntent(context, tx, session.run, chosen)
    if (commands !== undefined && !(await setTaskCommands(tx, session.run, commands)))
      throw new StaleError(`task ${session.task.id}`)
    await save(session, { phase: 'verify', verdict }, tx)
  })
  if (commands !== undefined) session.task = { ...session.task, commands }
  context.at('recovery-intended')
  return 'on'
}

const repair =
  <T extends Repair>(type: T) =>
  (session: Session, chosen: Chosen<ActionOf<T>>): Promise<Next> =>
    intend(session, chosen, changes[type](session, chosen.step.action, chosen.diagnosis.evidence))

export const repairs: Carriers<Session, Next, Repair> = {
  install: repair('install'),
  reorder: repair('reorder'),
  drop_command: repair('drop_command'),
  replace_command: repair('replace_command'),
}

/** Stores the intent of a mode change; the phase that needs the folder carries it out. */
export const intendChange = async (session: Session, chosen: Chosen<ActionOf<'chmod'>>): Promise<Next> => {
  const { context } = session
  await context.db.transaction(async (tx) => {
    await holdLease(tx, session.run)
    await recordIntent(context, tx, session.run, chosen)
  })
  context.at('recovery-intended')
  return 'on'
}

const installFailed = (session: Session, install: Install, detail: string): Promise<void> => {
  const verdict = keptVerdict(session.run.verdict)
  const key = installKeyOf(install)
  const installed = (verdict.installed ?? []).filter((other) => installKeyOf(other) !== key)
  return session.context.db.transaction(async (tx) => {
    await holdLease(tx, session.run)
    await settleOpen(tx, session.task.id, (_condition, recovery) =>
      recovery.actionKey === key ? { holds: false, detail } : undefined,
    )
    await save(session, { verdict: { ...verdict, installed } }, tx)
  })
}

/** Installs what the checks of this run were found to need in the clone in which they are about to run. */
export const carryOutRepairs = async (session: Session): Promise<void> => {
  for (const [index, install] of (session.run.verdict?.installed ?? []).entries()) {
    const begun = session.context.clock.elapsed()
    const folder = (number: number): string => join(session.paths.root, 'installs', `${index + 1}-${number}`)
    const result = await carryOutInstall({ ...placeOfChecks(session), folder }, install)
    addUsed(session, begun)
    if (letGo(session)) return
    if (!result.ok) await installFailed(session, install, result.detail)
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
): { holds: boolean; detail: string } => {
  if (failed?.command === command) {
    const now = diagnose({ kind: 'check', check: failed })
    const runs = now.category === 'test' && now.label !== label
    return { holds: runs, detail: `it ${runs ? 'runs now and fails on its own' : 'still cannot run'}: ${now.evidence}` }
  }
  const result = results.find((check) => check.command === command)
  if (result === undefined)
    return { holds: false, detail: `it was not reached: ${failed?.command ?? 'nothing'} failed before it` }
  return proves(result)
    ? { holds: true, detail: `${command} ran and passed` }
    : { holds: result.ranNothing === undefined, detail: `${command} ran` }
}

/** The command that replaced this one, or the command itself. */
const replacementOf = ({ run }: Session, command: string): string =>
  run.verdict?.dropped.find((entry) => entry.command === command)?.by ?? command

/** Resolves the open repairs by the results of the checks. */
export const settleRepairs = (tx: Queryable, session: Session, seen: Observed): Promise<void> =>
  settleOpen(tx, session.task.id, (condition: PostCondition, { label }) =>
    condition.type === 'check_runs' ? ranAgain(replacementOf(session, condition.command), label, seen) : undefined,
  )
