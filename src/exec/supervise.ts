/**
 * The supervision around one agent command, without a project, a store or an engine: the same readings, diagnoses and
 * ladder as a run of the engine has, with a history that lasts as long as the command.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { noCorrections, type LaunchCorrections } from '../domain/run.ts'
import type { AgentExit, AgentNote, Reading, Settled } from '../harness/driver.ts'
import { diagnose, type Diagnosis } from '../recovery/diagnosis.ts'
import type { ObservedDenial } from '../recovery/evidence.ts'
import { nextStep, playbooks, type Step } from '../recovery/ladder.ts'
import type { Action, PastRecovery, PostCondition, RetryPolicy } from '../recovery/playbook.ts'
import { realFiles } from '../runtime/files.ts'
import { observeDenial, realDirectories } from '../runtime/observe-denial.ts'
import { launchAgent, type StreamName } from './agent.ts'
import type { AgentCommand, Change, ChangedLine } from './command.ts'

/** After a CLI's own final event it has this long to leave. */
const lingerMs = 30_000

/** Events as the founding document prints them; `note` and `output` are what the agent itself says. */
export type ExecEvent =
  | { type: 'launch'; number: number; harness: string; resumed: boolean; because: string | null; argv: string[] }
  | ({ type: 'note' } & AgentNote)
  | { type: 'output'; stream: StreamName; text: string }
  | { type: 'recovery'; id: string; timestamp: string; payload: RecoveryPayload }
  | {
      type: 'waiting'
      timestamp: string
      payload: { reason: string; evidence: string; until: string; seconds: number }
    }
  | { type: 'blocker'; timestamp: string; payload: { text: string; details: string } }
  | { type: 'result'; timestamp: string; payload: ExecResult }

interface RecoveryPayload {
  worker: string
  issue_detected: string
  action_taken: string
  status: 'success' | 'failed'
  retry_count: number
}

export interface ExecResult {
  outcome: 'done' | 'failed' | 'waiting' | 'stopped'
  /** What the command ends with: the agent's own status, 75 when a provider's limit has to be waited for. */
  exitCode: number
  text: string
  /** Our name of the failure, as in docs/recovery.md. */
  label: string | null
  launches: number
  tokens: number
  costUsd: number | null
  session: string | null
  denials: { kind: string; target: string | null; text: string }[]
  /** Set with `waiting`, where the provider says it. */
  until: string | null
}

export interface ExecParts {
  command: AgentCommand
  cwd: string
  environment: Record<string, string | undefined>
  stdinFile: string | null
  allowDirs: readonly string[]
  retry: RetryPolicy
  /** The longest single wait for a provider. */
  maxWaitMs: number
  signal: AbortSignal
  emit(event: ExecEvent): void
}

interface Ended {
  reading: Reading
  exit: AgentExit
  settled: Settled
  denials: ObservedDenial[]
}

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

interface Launch {
  number: number
  change: Change
  because: string | null
}

const launchOnce = async (
  parts: ExecParts,
  { number, change, because }: Launch,
): Promise<Ended | { fault: string }> => {
  const { command, emit, signal } = parts
  const { driver } = command
  const { argv, env, resumed } = command.line(change)
  emit({ type: 'launch', number, harness: driver.name, resumed, because, argv })
  let reading = driver.begin()
  let linger: NodeJS.Timeout | undefined
  const agent = launchAgent({
    ...{ argv, cwd: parts.cwd, stdinFile: parts.stdinFile, marker: `exec-${randomUUID()}` },
    environment: { ...env, ...parts.environment },
    line: (stream, text) => {
      if (driver.name === 'command') emit({ type: 'output', stream, text })
      const step = driver.read(reading, stream, text)
      reading = step.reading
      if (step.note !== undefined && driver.name !== 'command') emit({ type: 'note', ...step.note })
      if (reading.final !== undefined) linger ??= setTimeout(() => agent.stop('lingering'), lingerMs)
      else if (linger !== undefined) {
        // What looked like the end was none: a CLI went on after compacting its conversation.
        clearTimeout(linger)
        linger = undefined
      }
    },
  })
  const stop = (): void => agent.stop('stopped')
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  const exit = await agent.ended
  clearTimeout(linger)
  signal.removeEventListener('abort', stop)
  if (exit.fault !== undefined) return { fault: exit.fault }
  const allowed = realDirectories(realFiles, parts.allowDirs)
  const denials = reading.denials.map((denial) => observeDenial(realFiles, denial, { workTree: parts.cwd, allowed }))
  return { reading, exit, settled: driver.settle(reading, exit), denials }
}

const holds = ({ condition }: Pending, { reading, settled }: Ended): boolean => {
  if (condition.type === 'session_opens') return reading.sessionId !== undefined
  if (condition.type !== 'directory_usable') return settled.ok
  const again = reading.denials.some(
    ({ kind, target }) => kind === 'scope' && (target ?? '').startsWith(condition.directory),
  )
  return settled.ok && !again
}

/** A recovery is told once its effect was observed. */
const settlePending = (parts: ExecParts, pending: Pending | undefined, ended: Ended): void => {
  if (pending === undefined) return
  pending.past.status = holds(pending, ended) ? 'success' : 'failed'
  parts.emit({
    type: 'recovery',
    id: pending.id,
    timestamp: now(),
    payload: {
      worker: parts.command.driver.name,
      issue_detected: pending.issue,
      action_taken: pending.action.name,
      status: pending.past.status,
      retry_count: pending.attempt,
    },
  })
}

/** A turn that ended well is judged by nobody here, so a refusal told to the model is acted upon where it can be corrected. */
const diagnosisOf = (parts: ExecParts, { settled, denials }: Ended): Diagnosis | undefined => {
  const harness = parts.command.driver.name
  // The CLI is on this machine and tells the time in its zone.
  const said = { at: new Date(), timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone }
  if (!settled.ok) return diagnose({ kind: 'launch', harness, failure: { ...settled.error, said }, denials })
  const open = denials.filter(({ allowedBy }) => allowedBy !== undefined)
  return open.length === 0
    ? undefined
    : diagnose({ kind: 'denial', harness, denials: open, because: 'nothing changed' })
}

type Outcome = Pick<ExecResult, 'outcome' | 'exitCode'> & { label?: string }

const resultOf = (ended: Ended, launches: number, more: Outcome): ExecResult => {
  const { reading, settled, denials } = ended
  return {
    label: null,
    ...more,
    text: settled.ok ? settled.text : settled.error.text,
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
  const { directory, allowedBy } = diagnosis.facts
  if (diagnosis.rung === 1) {
    const worker = parts.command.driver.name
    const title = worker.slice(0, 1).toUpperCase() + worker.slice(1)
    const advice =
      directory !== undefined && allowedBy === undefined
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
  return resultOf(ended, launches, { outcome: 'failed', exitCode: statusOf(ended.exit) || 1, label: diagnosis.label })
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

/** Runs the command to its end. Rejects only when it cannot be started at all. */
export const superviseCommand = async (parts: ExecParts): Promise<ExecResult | { fault: string }> => {
  const history: PastRecovery[] = []
  // A session that begins anew has to be told what was done, and only the engine knows that.
  const policy = { playbooks, disabled: ['fresh-session'], retry: parts.retry }
  let change: Change = { corrections: noCorrections }
  let pending: Pending | undefined
  for (let number = 1; ; number += 1) {
    const because = pending === undefined ? null : `${pending.action.name} after "${pending.issue}"`
    const ended = await launchOnce(parts, { number, change, because })
    if ('fault' in ended) return ended
    if (parts.signal.aborted) return resultOf(ended, number, { outcome: 'stopped', exitCode: 130 })
    settlePending(parts, pending, ended)
    const diagnosis = diagnosisOf(parts, ended)
    if (diagnosis === undefined) return resultOf(ended, number, { outcome: 'done', exitCode: 0 })
    const step = nextStep(diagnosis, history, policy, { id: 'exec', runId: 'exec' })
    if (step.kind === 'exhausted') {
      if (ended.settled.ok) return resultOf(ended, number, { outcome: 'done', exitCode: 0 })
      return giveUp(parts, { ended, diagnosis, reason: step.reason }, number)
    }
    const { action } = step
    // No check is run here, and no other harness is known.
    if (action.type === 'drop_command' || action.type === 'switch_harness')
      throw new Error(`${action.name} has no place here`)
    const { sessionId } = ended.reading
    if (action.type === 'wait' && !(await waitFor(parts, diagnosis, delayOf(action))))
      return parts.signal.aborted
        ? resultOf(ended, number, { outcome: 'stopped', exitCode: 130 })
        : giveUp(parts, { ended, diagnosis, reason: 'the wait is too long' }, number)
    const resumes = sessionId !== undefined && (action.type === 'wait' || action.resume)
    const hint = action.type === 'wait' ? goesOn : action.hint
    const next: Change = {
      corrections: action.type === 'wait' ? change.corrections : correctedBy(change.corrections, action),
      ...(resumes && parts.command.driver.canResume ? { resume: { session: sessionId, hint } } : {}),
    }
    if (action.type === 'relaunch' && isSame(parts.command.line(change), parts.command.line(next)))
      return ended.settled.ok
        ? resultOf(ended, number, { outcome: 'done', exitCode: 0 })
        : giveUp(parts, { ended, diagnosis, reason: 'the command has this correction already' }, number)
    change = next
    pending = pendingOf(step, diagnosis)
    history.push(pending.past)
  }
}
