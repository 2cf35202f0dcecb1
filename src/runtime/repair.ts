/**
 * Rung 4 within a run: repairs of a check that cannot run as it stands. The intent is recorded first, what is to be done
 * stands in the run's verdict, and the phase `verify` begins by doing it: so a restarted engine does it again.
 */
import { join } from 'node:path'
import { keepAliveMs } from '../domain/lease.ts'
import { keptVerdict, proves, type CheckResult, type Install, type Verdict } from '../domain/run.ts'
import { inOrder } from '../recovery/command/order.ts'
import { diagnose, type Diagnosis } from '../recovery/diagnosis.ts'
import type { Evidence, ObservedCheck } from '../recovery/evidence.ts'
import { installKeyOf, type Action, type PostCondition } from '../recovery/playbook.ts'
import { StaleError, type Queryable } from '../store/db.ts'
import { holdLease } from '../store/run.ts'
import { setTaskCommands } from '../store/task.ts'
import type { Next } from './carry-out.ts'
import { carryOutInstall, type InstallRequest } from './install.ts'
import { decide, recordIntent, settleOpen } from './recover.ts'
import { bothSignals, letGo, passedNames, save, workTreeOf, type Session } from './session.ts'

/** Time that verification of this run has used so far, installs among it: a relaunch does not begin a new half hour. */
const usedFile = (session: Session): string => join(session.paths.root, 'verification-ms')

export const usedMs = (session: Session): number => {
  try {
    return Number(session.context.ports.files.readFileSync(usedFile(session), 'utf8')) || 0
  } catch {
    return 0 // the first verification of the run
  }
}

/** Adds what has passed since `begun`, by the clock that no jump touches. */
export const addUsed = (session: Session, begun: number): void => {
  const now = Math.round(usedMs(session) + session.context.clock.elapsed() - begun)
  session.context.ports.files.writeFileSync(usedFile(session), String(now), { mode: 0o600 })
}

/** What checks and installs of a run have in common. */
export const placeOfChecks = (session: Session): Omit<InstallRequest, 'folder'> => {
  const { context } = session
  const config = context.config()
  return {
    clock: context.clock,
    ports: context.ports,
    workspace: workTreeOf(session),
    marker: `${session.run.id}-check`,
    environment: context.environment,
    extraNames: passedNames(config, session.harness),
    timeoutMs: config.verify.timeoutSeconds * 1000,
    totalMs: Math.max(1, config.verify.totalSeconds * 1000 - usedMs(session)),
    keepAliveMs: keepAliveMs(config.lease.ttlSeconds),
    signal: bothSignals(session),
  }
}

interface Change {
  verdict: Verdict
  /** The task's commands from now on; absent = as they are. */
  commands?: string[]
}

/** How the plan of checks changes by a repair; undefined = the action is none. */
const changeOf = ({ task, run }: Session, action: Action, { evidence }: Diagnosis): Change | undefined => {
  const kept = keptVerdict(run.verdict)
  if (action.type === 'install') return { verdict: { ...kept, installed: [...(kept.installed ?? []), action.install] } }
  if (action.type === 'reorder')
    return { verdict: { ...kept, order: action.order }, commands: inOrder(task.commands, action.order) }
  if (action.type !== 'drop_command' && action.type !== 'replace_command') return undefined
  const { command } = action
  const by = action.type === 'replace_command' ? [action.by] : []
  return {
    verdict: {
      ...kept,
      dropped: [...kept.dropped, { command, reason: evidence, ...(by[0] === undefined ? {} : { by: by[0] }) }],
    },
    commands: task.commands.flatMap((candidate) => (candidate === command ? by : [candidate])),
  }
}

/** Records the repair that the ladder has for a failed check; undefined = it has none. */
export const repairCheck = async (session: Session, evidence: Evidence): Promise<Next | undefined> => {
  const { context } = session
  const { diagnosis, step } = await decide(context, session.run, evidence)
  const change = step.kind === 'recover' ? changeOf(session, step.action, diagnosis) : undefined
  if (step.kind !== 'recover' || change === undefined) return undefined
  const { commands, verdict } = change
  await context.db.transaction(async (tx) => {
    await recordIntent(context, tx, session.run, { diagnosis, step })
    if (commands !== undefined && !(await setTaskCommands(tx, session.run, commands)))
      throw new StaleError(`task ${session.task.id}`)
    await save(session, { phase: 'verify', verdict }, tx)
  })
  if (commands !== undefined) session.task = { ...session.task, commands }
  context.at('recovery-intended')
  return 'on'
}

const doneFile = (session: Session, install: Install): string =>
  join(session.paths.root, 'installed', encodeURIComponent(installKeyOf(install)))

const installFailed = (session: Session, install: Install, detail: string): Promise<void> => {
  const verdict = keptVerdict(session.run.verdict)
  const key = installKeyOf(install)
  const installed = (verdict.installed ?? []).filter((other) => installKeyOf(other) !== key)
  return session.context.db.transaction(async (tx) => {
    await holdLease(tx, session.run)
    await settleOpen(session.context, tx, session.task.id, (_condition, recovery) =>
      recovery.actionKey === key ? { holds: false, detail } : undefined,
    )
    await save(session, { verdict: { ...verdict, installed } }, tx)
  })
}

/** Does what was intended and is not done yet. */
export const carryOutRepairs = async (session: Session): Promise<void> => {
  const { files } = session.context.ports
  for (const install of session.run.verdict?.installed ?? []) {
    const done = doneFile(session, install)
    if (files.existsSync(done)) continue
    if (session.goal.repoMode === 'direct') throw new Error("nothing is installed in the user's own tree")
    const begun = session.context.clock.elapsed()
    const folder = (number: number): string => join(session.paths.root, 'installs', String(number))
    const result = await carryOutInstall({ ...placeOfChecks(session), folder }, install)
    addUsed(session, begun)
    if (letGo(session)) return
    if (!result.ok) await installFailed(session, install, result.detail)
    else {
      files.mkdirSync(join(session.paths.root, 'installed'), { recursive: true, mode: 0o700 })
      files.writeFileSync(done, '', { mode: 0o600 })
    }
  }
}

interface Seen {
  results: readonly CheckResult[]
  failed?: ObservedCheck
}

/** Whether the check that a repair was made for ran again and did run something. */
const ranAgain = (command: string, label: string, { results, failed }: Seen): { holds: boolean; detail: string } => {
  if (failed?.command === command) {
    const now = diagnose({ kind: 'check', check: failed })
    const runs = now.category === 'test' && now.label !== label
    return { holds: runs, detail: `it ${runs ? 'runs now and fails by itself' : 'cannot run still'}: ${now.evidence}` }
  }
  const result = results.find((check) => check.command === command)
  if (result === undefined)
    return { holds: false, detail: `it was not reached: ${failed?.command ?? 'nothing'} failed before it` }
  return proves(result)
    ? { holds: true, detail: `${command} ran and passed` }
    : { holds: result.ranNothing === undefined, detail: `${command} ran` }
}

/** The check that runs in the place of this one. */
const standsFor = ({ run }: Session, command: string): string =>
  run.verdict?.dropped.find((entry) => entry.command === command)?.by ?? command

/** Decides the open repairs by what was seen of the checks. */
export const settleRepairs = (tx: Queryable, session: Session, seen: Seen): Promise<void> =>
  settleOpen(session.context, tx, session.task.id, (condition: PostCondition, { label }) =>
    condition.type === 'check_runs' ? ranAgain(standsFor(session, condition.command), label, seen) : undefined,
  )
