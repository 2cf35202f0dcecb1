/**
 * The supervision around one agent command, without a project, a store or an engine: the same readings, diagnoses and
 * ladder as a run of the engine has, with a history that lasts as long as the command.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { noCorrections, type LaunchCorrections } from '../domain/run.ts'
import { capabilitiesOf } from '../harness/capabilities.ts'
import type { AgentExit } from '../harness/driver.ts'
import { renewedLogin } from '../harness/logins.ts'
import type { Diagnosis } from '../recovery/diagnosis.ts'
import type { Step } from '../recovery/ladder.ts'
import type { Action, PastRecovery, PostCondition } from '../recovery/playbook.ts'
import { realFiles } from '../runtime/files.ts'
import { changeMode, lookAtDirectory } from '../runtime/folder-access.ts'
import { isInside, isRefusedAgain } from '../runtime/observe-denial.ts'
import type { Change, ChangedLine } from './command.ts'
import type { ExecParts, ExecResult } from './contract.ts'
import { launchOnce, type Ended } from './launch.ts'

interface Pending {
  past: PastRecovery
  id: string
  action: Action
  condition: PostCondition
  issue: string
  attempt: number
}

const now = (): string => new Date().toISOString()
const statusOf = ({ code, signal }: AgentExit): number =>
  code ?? (signal === 'SIGINT' ? 130 : signal === 'SIGTERM' ? 143 : 137)

const holds = ({ condition }: Pending, { reading, settled, denials }: Ended): boolean => {
  if (condition.type === 'session_opens') return reading.sessionId !== undefined
  if (condition.type === 'tool_allowed') return settled.ok && !denials.some(({ kind }) => kind === 'tool')
  if (condition.type === 'directory_accessible')
    return (
      settled.ok &&
      lookAtDirectory(realFiles, condition.directory) === undefined &&
      !denials.some(({ kind, directory }) => kind === 'filesystem' && isInside(directory ?? '', condition.directory))
    )
  if (condition.type !== 'directory_usable') return settled.ok
  return settled.ok && !isRefusedAgain(denials, condition.directory)
}

/** A recovery is told once its effect was observed. */
const decide = (parts: ExecParts, pending: Pending, status: 'success' | 'failed'): void => {
  pending.past.status = status
  parts.emit({
    type: 'recovery',
    id: pending.id,
    timestamp: now(),
    payload: {
      worker: parts.command.driver.name,
      issue_detected: pending.issue,
      action_taken: pending.action.name,
      status,
      retry_count: pending.attempt,
    },
  })
}

const settlePending = (parts: ExecParts, pending: Pending | undefined, ended: Ended): void => {
  if (pending !== undefined) decide(parts, pending, holds(pending, ended) ? 'success' : 'failed')
}

/** Rules and ladder are a fifth of this command's start, and most agents need none of it. */
const loadDiagnosis = async () => {
  const [{ diagnose }, { isCorrectable }] = await Promise.all([
    import('../recovery/diagnosis.ts'),
    import('../recovery/diagnosis/agent.ts'),
  ])
  return { diagnose, isCorrectable }
}

/** A turn that ended well is judged by nobody here, so a refusal told to the model is acted upon where it can be corrected. */
const diagnosisOf = async (
  parts: ExecParts,
  { settled, denials, stall, startedAt }: Ended,
): Promise<Diagnosis | undefined> => {
  if (stall === undefined && settled.ok && denials.length === 0) return undefined
  const { diagnose, isCorrectable } = await loadDiagnosis()
  // A death behind a refusal has a cause that can be cured.
  const refused = stall?.kind === 'agent_died' && denials.some(isCorrectable)
  if (stall !== undefined && !refused) return diagnose({ kind: 'stall', stall })
  const harness = parts.command.driver.name
  // The CLI is on this machine and tells the time in its zone.
  const said = { at: new Date(), timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone }
  const { environment } = parts
  const renewed = renewedLogin(harness, { environment, files: realFiles, since: startedAt })
  const login = renewed === undefined ? {} : { renewedLogin: renewed }
  if (!settled.ok) return diagnose({ kind: 'launch', harness, failure: { ...settled.error, said }, denials, ...login })
  const open = denials.filter(isCorrectable)
  return open.length === 0
    ? undefined
    : diagnose({ kind: 'denial', harness, denials: open, because: 'nothing changed' })
}

type Outcome = Pick<ExecResult, 'outcome' | 'exitCode'> & { label?: string }

const resultOf = (ended: Ended, launches: number, more: Outcome): ExecResult => {
  const { reading, settled, denials, stall } = ended
  return {
    label: null,
    ...more,
    text: settled.ok ? settled.text : (stall?.text ?? settled.error.text),
    launches,
    tokens: reading.tokens.input - reading.tokens.cachedInput + reading.tokens.output,
    costUsd: reading.costUsd ?? null,
    session: reading.sessionId ?? null,
    denials: denials.map(({ kind, target, text }) => ({ kind, target: target ?? null, text })),
    until: null,
  }
}

const correctedBy = (before: LaunchCorrections, action: Extract<Action, { type: 'relaunch' }>): LaunchCorrections => ({
  addDirs: [...new Set([...before.addDirs, ...(action.addDir === undefined ? [] : [action.addDir])])],
  skipGitCheck: before.skipGitCheck || (action.skipGitCheck ?? false),
  toolRules: [...new Set([...(before.toolRules ?? []), ...(action.toolRules ?? [])])],
})

/** Waits for a provider: false = too long for this command, or it was stopped meanwhile. */
const waitFor = async (parts: ExecParts, diagnosis: Diagnosis, delayMs: number): Promise<boolean> => {
  const until = new Date(Date.now() + delayMs).toISOString()
  const payload = { reason: diagnosis.label, evidence: diagnosis.evidence, until, seconds: Math.ceil(delayMs / 1000) }
  parts.emit({ type: 'waiting', timestamp: now(), payload })
  if (delayMs > parts.maxWaitMs) return false
  return delay(delayMs, true, { signal: parts.signal }).catch(() => false)
}

/** At least the playbook's own wait, and not before the time that the provider stated. */
const delayOf = ({ delayMs, until, jitterMs = 0 }: Extract<Action, { type: 'wait' }>): number =>
  until === undefined ? delayMs : Math.max(delayMs, Date.parse(until) - Date.now() + jitterMs)

const isLimit = (diagnosis: Diagnosis): boolean => diagnosis.rung === 2 && diagnosis.retryable

const giveUp = (
  parts: ExecParts,
  { ended, diagnosis, reason }: { ended: Ended; diagnosis: Diagnosis; reason: string },
  launches: number,
): ExecResult => {
  if (isLimit(diagnosis))
    return {
      ...resultOf(ended, launches, { outcome: 'waiting', exitCode: 75, label: diagnosis.label }),
      until: diagnosis.facts.resetAt?.toISOString() ?? null,
    }
  const { directory, allowedBy, chmodFailed } = diagnosis.facts
  if (diagnosis.rung === 1) {
    const worker = parts.command.driver.name
    const title = worker.slice(0, 1).toUpperCase() + worker.slice(1)
    const advice =
      chmodFailed !== undefined
        ? 'Chmod failed. Please check directory ownership.'
        : diagnosis.label !== 'FS_PERM_ERROR' && directory !== undefined && allowedBy === undefined
          ? `To allow it: unstuck exec --allow-dir ${directory} -- …`
          : 'Mend the permission and run it again.'
    parts.emit({
      type: 'blocker',
      timestamp: now(),
      payload: {
        text: `Persistent permission error for ${title} on ${directory ?? parts.cwd}. Manual intervention required.`,
        details: `${diagnosis.evidence} (${reason}). ${advice}`,
      },
    })
  }
  // The status of an agent that we ended is that of our signal, and says nothing.
  const exitCode = ended.exit.stopCause === undefined ? statusOf(ended.exit) || 1 : 1
  return resultOf(ended, launches, { outcome: 'failed', exitCode, label: diagnosis.label })
}

const pendingOf = (step: Extract<Step, { kind: 'recover' }>, diagnosis: Diagnosis): Pending => ({
  id: `rec_${randomUUID().replaceAll('-', '').slice(0, 12)}`,
  action: step.action,
  condition: step.postCondition,
  issue: diagnosis.evidence,
  attempt: step.attempt,
  past: {
    runId: 'exec',
    playbook: step.playbook.id,
    label: diagnosis.label,
    actionKey: step.actionKey,
    status: 'acting',
    counted: step.playbook.counted,
  },
})

/** The user's own line may hold a correction already, or a session that is gone: the same again would change nothing. */
const isSame = (one: ChangedLine, other: ChangedLine): boolean => JSON.stringify(one) === JSON.stringify(other)

const goesOn = 'The provider did not answer before. Continue and finish the task.'

/** `session`: the one that may be taken up again. Only a restart is told its hint in a session of its own. */
const changedBy = (
  before: Change,
  action: Extract<Action, { type: 'wait' | 'relaunch' }>,
  session?: string,
): Change => {
  const hint = action.type === 'wait' ? goesOn : action.hint
  const corrections = action.type === 'wait' ? before.corrections : correctedBy(before.corrections, action)
  if (session !== undefined && (action.type === 'wait' || action.resume))
    return { corrections, told: { hint, session } }
  return action.type === 'relaunch' && action.restart !== undefined ? { corrections, told: { hint } } : { corrections }
}

/** Runs the command to its end. Rejects only when it cannot be started at all. */
export const superviseCommand = async (parts: ExecParts): Promise<ExecResult | { fault: string }> => {
  const history: PastRecovery[] = []
  let change: Change = { corrections: noCorrections }
  let pending: Pending | undefined
  for (let number = 1; ; number += 1) {
    const because = pending === undefined ? null : `${pending.action.name} after "${pending.issue}"`
    const ended = await launchOnce(parts, { number, change, because })
    if ('fault' in ended) return ended
    if (parts.signal.aborted) return resultOf(ended, number, { outcome: 'stopped', exitCode: 130 })
    settlePending(parts, pending, ended)
    const diagnosis = await diagnosisOf(parts, ended)
    if (diagnosis === undefined) return resultOf(ended, number, { outcome: 'done', exitCode: 0 })
    const { nextStep, playbooks } = await import('../recovery/ladder.ts')
    // A session that begins anew has to be told what was done, and only the engine knows that.
    const policy = { playbooks, disabled: ['fresh-session'], retry: parts.retry }
    const step = nextStep(diagnosis, history, policy, { id: 'exec', runId: 'exec' })
    if (step.kind === 'exhausted') {
      if (ended.settled.ok) return resultOf(ended, number, { outcome: 'done', exitCode: 0 })
      return giveUp(parts, { ended, diagnosis, reason: step.reason }, number)
    }
    const { action } = step
    // Nothing is prepared here, no check is run, and no other harness is known.
    if (action.type !== 'wait' && action.type !== 'relaunch') throw new Error(`${action.name} has no place here`)
    const { sessionId, cliVersion } = ended.reading
    const { capabilities: can } = capabilitiesOf(parts.command.driver.name, cliVersion)
    if (action.type === 'wait' && !(await waitFor(parts, diagnosis, delayOf(action))))
      return parts.signal.aborted
        ? resultOf(ended, number, { outcome: 'stopped', exitCode: 130 })
        : giveUp(parts, { ended, diagnosis, reason: 'the wait is too long' }, number)
    const next = changedBy(change, action, can.resume ? sessionId : undefined)
    const chmod = action.type === 'relaunch' ? action.chmod : undefined
    // A mode or a login that is changed on disk needs no other line.
    const changedOutside = chmod !== undefined || diagnosis.facts.renewedLogin !== undefined
    if (action.type === 'relaunch' && !changedOutside && isSame(parts.command.line(change), parts.command.line(next)))
      return ended.settled.ok
        ? resultOf(ended, number, { outcome: 'done', exitCode: 0 })
        : giveUp(parts, { ended, diagnosis, reason: 'the command has this correction already' }, number)
    change = next
    pending = pendingOf(step, diagnosis)
    history.push(pending.past)
    const changed = chmod === undefined ? undefined : changeMode(realFiles, chmod)
    if (changed !== undefined && !changed.holds) {
      decide(parts, pending, 'failed')
      const facts = { ...diagnosis.facts, chmodFailed: changed.detail }
      return giveUp(parts, { ended, diagnosis: { ...diagnosis, facts }, reason: changed.detail }, number)
    }
  }
}
