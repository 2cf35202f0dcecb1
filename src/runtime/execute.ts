/**
 * One run from claim to ending, phase by phase. The phase is written before its work, so that a restarted engine enters
 * at the same one: every phase is replay-safe or looks first at what the files and refs say.
 */
import { overrunOf, overrunText } from '../domain/budget.ts'
import { mayStartWork } from '../domain/goal.ts'
import { lastLaunch, spendOfLaunches, type Launch, type RunPhase } from '../domain/run.ts'
import { AppError, messageOf } from '../errors.ts'
import type { StopCause } from '../process/contract.ts'
import { isCorrectable } from '../recovery/diagnosis/agent.ts'
import { checkPolicy, type PolicyVerdict } from '../recovery/policy/check.ts'
import { parsePathRule, type PathRule } from '../recovery/policy/rule.ts'
import { weakeningText } from '../recovery/weakened.ts'
import { isStoreTrouble, StaleError } from '../store/db.ts'
import { getGoal } from '../store/goal.ts'
import { getRun, holdLease } from '../store/run.ts'
import { getTask } from '../store/task.ts'
import type { ChangeList } from '../workspace/contract.ts'
import { abilitiesOf } from './abilities.ts'
import { limitOn, loginRenewedSince, nextHarness } from './accounts.ts'
import { recover, type Next } from './carry-out.ts'
import { changeModes } from './change-modes.ts'
import { collectedWork, collectNow } from './collected.ts'
import { observedDenials, readLaunch } from './denials.ts'
import { dropUnused, isHandedOver } from './hand-overs.ts'
import { judgeLaunchRecoveries } from './launch-effect.ts'
import { hasBegun, replaceLast, startLaunch } from './launch.ts'
import { settleWork } from './no-change.ts'
import { verify } from './phase-verify.ts'
import { prepareRun } from './prepare.ts'
import { compareAfterRun } from './ref-guard.ts'
import { mendBeforeChecks, mendBeforeLaunch } from './re-entry.ts'
import { isOutage } from './remote-link.ts'
import { publishRun } from './remote-run.ts'
import { letGo, save, type Session } from './session.ts'
import { observedStall, ownLoopStop } from './stalled.ts'
import { endCancelled, endHeld, endInterrupted, endPaused, endSucceeded, unexpected } from './settle.ts'
import { keepSnapshot, stopLaunch, superviseLaunch } from './supervise.ts'

const on = async (work: Promise<void>): Promise<Next> => {
  await work
  return 'on'
}

/** The zone in which a CLI here tells the time of day; a `TZ` that is no zone's name is the system's business. */
const timeZoneOf = (environment: Record<string, string | undefined>): string => {
  const { TZ = '' } = environment
  return TZ.includes('/') || TZ === 'UTC' ? TZ : Intl.DateTimeFormat().resolvedOptions().timeZone
}

const supervise = async (session: Session): Promise<Next> => {
  const result = await superviseLaunch(session)
  if (result.kind === 'let-go') return 'ended'
  // What follows puts refs back and is no write to the store; a holder that slept past its lease must not get there.
  await session.context.db.transaction((tx) => holdLease(tx, session.run))
  await compareAfterRun(session)
  // Replaces what an earlier reading of the same launch wrote, so a crash in between does not count it twice.
  const launches = replaceLast(session.run.launches, { ...(lastLaunch(session.run) as Launch), spend: result.spend })
  const spend = spendOfLaunches(launches)
  if (result.kind === 'lost') {
    await keepSnapshot(session, 'the shim was lost')
    await save(session, { spend, launches })
    await endInterrupted(session, result.reason)
    return 'ended'
  }
  const { reading, settled } = result
  session.context.at('agent-ended')
  await save(session, { spend, launches, sessionId: reading.sessionId ?? session.run.sessionId })
  const { exit } = result
  if (result.overrun !== undefined) return recover(session, { kind: 'budget', text: overrunText(result.overrun) })
  if (exit.cause === 'limit')
    return recover(session, {
      kind: 'budget',
      text: `the run's limit of ${session.goal.limits.runSeconds ?? '?'} seconds is reached`,
    })
  if (exit.cause === 'cancelled') {
    // A person's wish that a crash cut short.
    await keepSnapshot(session, 'cancelled')
    await endCancelled(session)
    return 'ended'
  }
  if (exit.cause === 'abandoned' || exit.cause === 'gate') {
    await keepSnapshot(session, 'the agent was ended while no engine was there')
    await endInterrupted(session, 'no engine was there for longer than the lease allows; the shim ended the agent')
    return 'ended'
  }
  const stall = await observedStall(session, result, exit.cause)
  await judgeLaunchRecoveries(session, result, stall)
  if (settled.ok) {
    await save(session, { phase: 'collect' })
    return 'on'
  }
  const denials = await observedDenials(session, reading.denials)
  // Circles around a refusal, or a death behind one, have a cause that can be cured.
  const refused = (stall?.kind === 'doom_loop' || stall?.kind === 'agent_died') && denials.some(isCorrectable)
  if (stall !== undefined && !refused) return recover(session, { kind: 'stall', stall })
  const said = { at: new Date(exit.endedAt), timeZone: timeZoneOf(session.context.environment) }
  const failure = { ...settled.error, said }
  const next = await nextHarness(session.context, session.task, session.run)
  const renewed = loginRenewedSince(session.context, session.run.harness, lastLaunch(session.run)?.startedAt ?? null)
  return recover(session, {
    ...{ kind: 'launch', harness: session.driver.name, failure, denials },
    ...(next === undefined ? {} : { next }),
    ...(renewed === undefined ? {} : { renewedLogin: renewed }),
  })
}

const collect = async (session: Session): Promise<Next> => {
  const found = await collectNow(session)
  if (session.goal.repoMode !== 'direct') {
    const kept = await session.context.ports.git.keepAgentCommits(session.context.shadow, {
      workspace: session.paths.workspace,
      runId: session.run.id,
      base: found.base,
    })
    if (kept.reason !== null)
      session.context.log.info(
        { run: session.run.id, reason: kept.reason },
        "the agent's own commits were not all kept",
      )
  }
  session.context.at('collected')
  const { changes, nestedRepositories, tree } = found
  if (changes.length === 0 && nestedRepositories.length === 0) {
    const reading = readLaunch(session)
    const denials = await observedDenials(session, reading.denials)
    if (denials.length > 0)
      return recover(session, { kind: 'denial', harness: session.driver.name, denials, because: 'nothing changed' })
    const stall = await ownLoopStop(session, reading)
    if (stall !== undefined) return recover(session, { kind: 'stall', stall })
    // Perhaps nothing had to be done: the checks are asked.
  } else await settleWork(session, { holds: true, detail: `${changes.length} changed path(s)` })
  await save(session, { phase: 'verify', tree })
  return 'on'
}

/** Read from the tree that will be committed: a check that the agent wrote could change the link in the work tree. */
const linkTargets = async (session: Session, found: ChangeList): Promise<Map<string, string>> => {
  const targets = new Map<string, string>()
  for (const { path } of found.changes.filter((candidate) => candidate.newMode === '120000')) {
    targets.set(path, await session.context.ports.git.linkTarget(session.context.shadow, found.tree, path))
  }
  return targets
}

/** Rules were checked when the goal was accepted; one that cannot be read now must not widen the fence. */
const rulesOf = (texts: string[]): PathRule[] =>
  texts.map((text) => {
    const parsed = parsePathRule(text)
    if (!parsed.ok) throw new AppError('INPUT_INVALID', `the path rule "${text}" cannot be used: ${parsed.reason}`)
    return parsed.rule
  })

/** Configuration and instructions for the next agents: one that writes them would decide what it may do. */
const ownersFolder = '.unstuck/**'

const checkFence = async (session: Session, found: ChangeList): Promise<PolicyVerdict> => {
  const { task, context } = session
  return checkPolicy({
    changes: found.changes,
    allowedPaths: rulesOf(task.allowedPaths),
    deniedPaths: rulesOf([...task.deniedPaths, ...context.config().deniedPaths, ownersFolder]),
    nestedRepositories: found.nestedRepositories,
    symlinkTargets: await linkTargets(session, found),
  })
}

const policy = async (session: Session): Promise<Next> => {
  const result = await checkFence(session, await collectedWork(session))
  if (result.violations.length > 0) {
    const violations = result.violations.map(({ path, kind, rule }) => ({ path, kind, rule }))
    return recover(session, { kind: 'policy', violations }, { source: 'policy', policyViolations: violations })
  }
  await save(session, { phase: session.goal.repoMode === 'direct' ? 'finish' : 'commit' })
  return 'on'
}

const bodyOf = (session: Session): string => {
  const { verdict } = session.run
  const checks = (verdict?.checks ?? []).map(({ command, excused }) =>
    excused === undefined
      ? `- ${command}: passed`
      : `- ${command}: ${excused.because} (${excused.failing.join('; ').slice(0, 500)})`,
  )
  const dropped = (verdict?.dropped ?? []).map(
    ({ command, reason, by }) =>
      `- ${command}: ${by === undefined ? 'not part of the verdict' : `replaced by ${by}`} (${reason})`,
  )
  const weakened = (verdict?.weakened ?? []).map((entry) => `- ${weakeningText(entry)}`)
  return [
    session.task.instructions.slice(0, 2_000),
    checks.length + dropped.length === 0 ? '' : `Verified by:\n${[...checks, ...dropped].join('\n')}`,
    weakened.length === 0 ? '' : `Tests weakened:\n${weakened.join('\n')}`,
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

const commit = async (session: Session): Promise<Next> => {
  const { context, run, task } = session
  const base = run.baseCommit ?? ''
  const found = await collectedWork(session)
  const { permitted } = await checkFence(session, found)
  // Everything that was collected may be committed as it is, unless something in it is not permitted.
  const tree =
    permitted.length === found.changes.length
      ? found.tree
      : await context.ports.git.buildTree(context.shadow, { base, tree: found.tree, paths: permitted })
  const made = await context.ports.git.buildCommit(context.shadow, {
    base,
    tree,
    subject: task.title,
    body: bodyOf(session),
    trailers: { 'Unstuck-Task': task.id, 'Unstuck-Run': run.id, 'Unstuck-Epoch': String(run.epoch) },
  })
  if (isHandedOver(context, session.goal))
    await context.ports.git.handOver(context.repository, context.shadow, { runId: run.id, from: base, commit: made })
  context.at('commit-made')
  if (session.goal.repoMode === 'remote') return publishRun(session, made)
  await save(session, { phase: 'finish', commit: made })
  return 'on'
}

/** No run ends while something of it lives: its agent would work on, and spend, beside whoever takes the task next. */
const endPrograms = async (session: Session, cause: StopCause): Promise<void> => {
  const { processes } = session.context.ports
  await stopLaunch(session, cause)
  await processes.waitForExit(session.paths.launch(lastLaunch(session.run)?.number ?? 1), { deadlineMs: 60_000 })
  await processes.sweep(session.run.id)
  await processes.sweep(`${session.run.id}-check`)
}

/** A launch begins new work: not while the goal is paused, its account at its limit, or a ceiling reached. */
const holdBack = async (session: Session): Promise<Next | undefined> => {
  if (!mayStartWork(session.goal)) {
    await endPrograms(session, 'shutdown')
    await keepSnapshot(session, `the goal is ${session.goal.state}`)
    await (session.goal.state === 'cancelled' ? endCancelled(session) : endPaused(session))
    return 'ended'
  }
  const held = await limitOn(session.context, session.context.db, session.run.harness)
  if (held !== undefined) {
    await endPrograms(session, 'shutdown')
    await keepSnapshot(session, `its account is at its limit: ${held.account}`)
    await endHeld(session, held)
    return 'ended'
  }
  const overrun = overrunOf(session.goal.limits, session.run.spend, session.goal.spend)
  if (overrun !== undefined) {
    await endPrograms(session, 'shutdown')
    return recover(session, { kind: 'budget', text: overrunText(overrun) })
  }
  const locked = await changeModes(session)
  if (locked === undefined) return undefined
  await endPrograms(session, 'shutdown')
  return recover(session, { kind: 'directory', directory: locked })
}

const launch = async (session: Session): Promise<Next> => {
  const goal = await getGoal(session.context.db, session.goal.id)
  if (goal !== undefined) session.goal = goal
  if (!hasBegun(session)) {
    const next = await holdBack(session)
    if (next !== undefined) return next
    await mendBeforeLaunch(session)
  }
  return on(startLaunch(session, await abilitiesOf(session)))
}

const phases: Record<RunPhase, (session: Session) => Promise<Next>> = {
  prepare: prepareRun,
  launch,
  supervise: (session) => {
    session.context.at('supervising')
    return supervise(session)
  },
  collect,
  verify: async (session) => {
    await mendBeforeChecks(session)
    return verify(session)
  },
  policy,
  commit,
  finish: async (session) => {
    await endSucceeded(session)
    return 'ended'
  },
}

/** Ends a run whose preparation or engine work failed: operational errors are evidence, anything else is a bug and said so. */
const endWithError = async (session: Session, error: unknown): Promise<void> => {
  if (error instanceof StaleError) {
    session.context.log.warn({ run: session.run.id }, `${error.message}; this executor lets go`)
    return
  }
  if (!(error instanceof AppError)) unexpected(session.context, session, error)
  const text = error instanceof AppError ? `${error.code}: ${error.message}` : `internal error: ${messageOf(error)}`
  await endPrograms(session, 'shutdown')
  const kind = isOutage(error) ? 'remote' : 'workspace'
  await recover(session, { kind, text }, { source: 'engine' })
}

const afterAbort = async (session: Session): Promise<void> => {
  if (session.context.stopping.aborted) return
  // Another owner may be at work on the task: whatever this agent would still do is in vain, and costs.
  if (session.abort.signal.reason !== 'cancelled') return stopLaunch(session, 'abandoned')
  await endPrograms(session, 'cancelled')
  // Once more: between the snapshot before the stop and its end the agent may have written.
  await keepSnapshot(session, 'cancelled')
  await endCancelled(session)
}

/** Between two looks while the store is away. */
const outageMs = 500
const longestPauseMs = 60_000
/** Failures of a run's own ending, outages not among them, before it is left to the next start of the engine. */
const mostFailures = 10

/**
 * After trouble with the store nobody knows what was written last: the run is read again and entered at its phase, as
 * after a restart of the engine. False = it ended or is another's now.
 */
const takeUpAgain = async (session: Session, pauseMs: number): Promise<boolean> => {
  const { context } = session
  while (!context.stopping.aborted) {
    await context.clock.wait(pauseMs, context.stopping)
    try {
      const run = await getRun(context.db, session.run.id)
      const task = await getTask(context.db, session.task.id)
      const goal = await getGoal(context.db, session.goal.id)
      if (run?.state !== 'running' || run.epoch !== session.run.epoch) return false
      Object.assign(session, { run, task, goal })
      delete session.collected
      context.log.info({ run: run.id, phase: run.phase }, 'the run is taken up again at its phase')
      return true
    } catch (error) {
      // Only looking failed: whatever the reason, without this executor the run would have no owner.
      context.log.warn({ run: session.run.id, error: messageOf(error) }, 'a run could not be read')
    }
  }
  return false
}

const ride = async (session: Session): Promise<void> => {
  let next: Next = 'on'
  while (next === 'on' && !letGo(session)) next = await phases[session.run.phase](session)
  if (letGo(session)) await afterAbort(session)
}

/** To the run's ending; an error of its own is one of the endings. Rejects with trouble of the store alone. */
const rideToEnd = async (session: Session): Promise<void> => {
  try {
    await ride(session)
  } catch (error) {
    if (session.context.stopping.aborted) return
    if (isStoreTrouble(error)) throw error
    await (letGo(session) ? afterAbort(session) : endWithError(session, error))
  }
}

/** An ending that fails is tried again: a run that is `running` without an executor would be stuck until the engine is restarted. */
const rideOut = async (session: Session): Promise<void> => {
  const { context } = session
  for (let failures = 0; failures <= mostFailures;) {
    try {
      return await rideToEnd(session)
    } catch (error) {
      if (context.stopping.aborted) return
      const outage = isStoreTrouble(error)
      if (outage) context.log.warn({ run: session.run.id, error: messageOf(error) }, 'the store failed during a run')
      else unexpected(context, session, error)
      failures += outage ? 0 : 1
      if (!(await takeUpAgain(session, Math.min(longestPauseMs, outageMs * 2 ** failures)))) return
    }
  }
}

const handsOver: readonly RunPhase[] = ['commit', 'finish']

/** One who was overtaken while he handed his commit over has put it where nobody will ask for it. */
const dropVainHandOver = async (session: Session): Promise<void> => {
  const { context, run, goal } = session
  if (context.stopping.aborted || run.state === 'success') return
  if (!isHandedOver(context, goal) || !handsOver.includes(run.phase)) return
  try {
    await dropUnused(context, run.id)
  } catch (error) {
    // The leader looks for it once more before the goal is ready.
    context.log.warn({ run: run.id, error: messageOf(error) }, 'the store failed after a run')
  }
}

/** Runs a session to its ending, or lets go of it when the engine stops or somebody else took over. Never rejects. */
export const executeRun = async (session: Session): Promise<void> => {
  await rideOut(session)
  await dropVainHandOver(session)
}
