/**
 * Recovery for one command, with the engine's own evidence, choice, corrections, post-conditions and delays. It is loaded only
 * after a failed launch: most launches succeed, and the rules take a fifth of this command's start-up time.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { capabilitiesOf } from '../harness/capabilities.ts'
import { renewedLogin } from '../harness/cli-login.ts'
import { isCorrectable, mustBeCorrected } from '../recovery/diagnosis/launch-failure.ts'
import type { Evidence, ObservedDenial } from '../recovery/evidence.ts'
import { connectFailure } from '../platform/tcp-ports.ts'
import { playbooks } from '../recovery/ladder.ts'
import { waitEndsAt } from '../recovery/reset-time.ts'
import type { ActionIn, Action } from '../recovery/playbook.ts'
import { changeModes } from '../runtime/agent/change-modes.ts'
import { withDeadProxy } from '../runtime/agent/dead-proxy.ts'
import { nextLaunch, type Relaunch } from '../runtime/agent/next-launch.ts'
import { isInside, realDirectories } from '../runtime/agent/observe-denial.ts'
import { failureEvidence, stallEvidence } from '../runtime/agent/launch-evidence.ts'
import { launchOutcome } from '../runtime/agent/post-conditions.ts'
import { realFiles } from '../runtime/core/files.ts'
import {
  dispatchAction,
  chooseRecovery,
  resolveOpen,
  type ActionOf,
  type ActionHandlers,
  type ChosenRecovery,
  type RecoveryRecord,
} from '../runtime/core/recovery-record.ts'
import type { LineChange } from '../harness/user-command.ts'
import type { ChangedLine } from './agent-command.ts'
import type { ExecParts } from './exec-events.ts'
import { giveUpEnding, type ExecEnding } from './ending.ts'
import { rulesIn, type EndedLaunch } from './launch-once.ts'
import { anyFileChanged } from './refusal.ts'
import { execRun, memoryRecord } from './memory-record.ts'

/** What `unstuck exec` does and why, in sentences for people. Events keep the names of the actions. */
const doings: Record<string, string> = {
  RELAUNCH_WITH_SKIP_GIT_CHECK: 'Starting it again with --skip-git-repo-check',
  RELAUNCH_WITH_ADD_DIR: 'Starting it again with the allowed directory',
  RELAUNCH_WITH_TOOL_RULE: 'Starting it again with a rule for edits in this folder',
  RELAUNCH_WITH_CHMOD: 'Making the folder writable and restarting it',
  RELAUNCH_WITH_FRESH_SESSION: 'Starting it again in a new session',
  RELAUNCH_WITH_RENEWED_LOGIN: 'Starting it again with the renewed login',
  RESTART_WITH_HINT: 'Starting it again with a hint',
  WAIT_AND_REQUEUE: 'Waiting for the provider',
  WAIT_FOR_QUOTA: 'Waiting for the limit to reset',
}

/** `action_taken` of a recovery event as the beginning of a sentence. */
const actionSentence = (name: string): string => doings[name] ?? 'Starting it again'

const detailOf = (action: Action): string => {
  if (action.type !== 'relaunch') return ''
  if (action.addDir !== undefined) return ` ${action.addDir}`
  if (action.chmod !== undefined)
    return ` (${action.chmod.directory}, mode ${action.chmod.oldMode} to ${action.chmod.newMode})`
  return ''
}

/** Why the agent is launched again. */
const relaunchReason = (harness: string, evidence: string, action: Action): string =>
  `${harness} did not finish ("${evidence}"). ${actionSentence(action.name)}${detailOf(action)}.`

/** What follows a launch: another launch, or the end of the command. */
export type AfterLaunch = { next: LineChange; because: string; waited?: true } | { ending: ExecEnding }

/** A launch that has ended. */
interface Launched {
  parts: ExecParts
  record: RecoveryRecord
  ended: EndedLaunch
  change: LineChange
}

/** Refused inside a directory of `--allow-dir`, where a correction exists. */
const isAllowed = ({ allowDirs }: ExecParts, denial: ObservedDenial): boolean =>
  mustBeCorrected(denial) &&
  realDirectories(realFiles, allowDirs).some((root) => isInside(denial.directory ?? denial.allowedBy ?? '', root))

/** No check judges the work here, so after a successful turn the refusals are the evidence, if they can be corrected. */
const evidenceOf = ({ parts, ended }: Launched): Evidence | undefined => {
  const { conclusion, transcript, denials, observe, stall, loginBefore } = ended
  const harness = parts.command.driver.name
  if (conclusion.ok) {
    // Do not repeat work that was done, unless something was refused that the user allowed.
    const changed = anyFileChanged(parts, ended.startedAt) !== false
    const open = denials.filter((denial) => (changed ? isAllowed(parts, denial) : isCorrectable(denial)))
    return open.length === 0 ? undefined : { kind: 'denial', harness, denials: open, because: 'nothing changed' }
  }
  const { environment } = parts
  return (
    stallEvidence(stall, denials) ??
    failureEvidence({
      ...{
        harness,
        error: conclusion.error,
        reading: transcript,
        denials,
        observeRefusal: observe,
        endedAt: new Date(),
        environment,
      },
      renewedLogin: renewedLogin(parts.command.driver, { environment, files: realFiles, before: loginBefore }),
    })
  )
}

const becauseOf = ({ parts }: Launched, { diagnosis, step }: ChosenRecovery): string =>
  relaunchReason(parts.command.driver.name, diagnosis.evidence, step.action)

/** The change for the next launch. Without a session the hint is appended for a restart and a fresh session only. */
const changeBy = (
  { change, ended, parts }: Launched,
  action: Pick<Relaunch, 'resume' | 'hint'> & Partial<Relaunch>,
): LineChange => {
  const { sessionId, cliVersion } = ended.transcript
  const { capabilities: can } = capabilitiesOf(parts.command.driver, cliVersion)
  const full: Relaunch = { type: 'relaunch', name: '', ...action }
  const next = nextLaunch(change.corrections, full, can.resume ? (sessionId ?? null) : null)
  const { corrections, resumeSession, hint } = next
  if (resumeSession !== null) return { corrections, hint: { text: hint ?? '', session: resumeSession } }
  if (hint === null || (action.restart === undefined && action.fresh === undefined)) return { corrections }
  return { corrections, hint: { text: hint, ...(action.fresh === undefined ? {} : { fresh: true as const }) } }
}

/** Equal lines mean that the user's line has the correction already; another launch would change nothing. */
const isSame = (one: ChangedLine, other: ChangedLine): boolean => JSON.stringify(one) === JSON.stringify(other)

const unchangedReason = ({ restart, fresh }: Relaunch): string =>
  restart === undefined && fresh === undefined
    ? 'the command has this correction already'
    : 'a hint cannot be added: the position of the task in this command line is unknown'

const relaunch = async (launched: Launched, chosen: ChosenRecovery<ActionOf<'relaunch'>>): Promise<AfterLaunch> => {
  const { parts, record, ended, change } = launched
  const { action } = chosen.step
  const next = changeBy(launched, action)
  // A mode or login that changed on disk takes effect with the same line.
  const changedOnDisk = action.chmod !== undefined || 'renewedLogin' in chosen.diagnosis.facts
  if (!changedOnDisk && isSame(parts.command.line(change, parts.cwd), parts.command.line(next, parts.cwd)))
    return ended.conclusion.ok ? endWell(record) : end(launched, chosen, unchangedReason(action))
  await record.begin(chosen)
  const locked = await changeModes(record, realFiles, execRun.runId)
  return locked === undefined
    ? { next, because: becauseOf(launched, chosen) }
    : recoverFrom(launched, { kind: 'directory', directory: locked })
}

const continueHint = 'The provider did not answer before. Continue and finish the task.'

/** Waits for the provider, unless the wait exceeds `--max-wait`. */
const wait = async (launched: Launched, chosen: ChosenRecovery<ActionOf<'wait'>>): Promise<AfterLaunch> => {
  const { parts, record } = launched
  const { evidence, label } = chosen.diagnosis
  const delayMs = waitEndsAt(chosen.step.action, new Date()).getTime() - Date.now()
  const until = new Date(Date.now() + delayMs).toISOString()
  const payload = { reason: label, evidence, until, seconds: Math.ceil(delayMs / 1000) }
  if (delayMs > parts.maxWaitMs) return end(launched, chosen, 'the wait is too long')
  parts.emit({ type: 'waiting', timestamp: new Date().toISOString(), payload })
  await failOpen(record, `the provider failed again: ${evidence}`)
  await record.begin(chosen)
  const waited = await delay(delayMs, true, { signal: parts.signal }).catch(() => false)
  if (!waited) return { ending: { outcome: 'stopped', exitCode: 130 } }
  return {
    next: changeBy(launched, { resume: true, hint: continueHint }),
    because: becauseOf(launched, chosen),
    waited: true,
  }
}

/** There is no preparation, check or other harness here, so the evidence for other actions never occurs. */
const actions: ActionHandlers<Launched, AfterLaunch, ActionIn<'launch'> | 'wait'> = { relaunch, wait }

const failOpen = (record: RecoveryRecord, detail: string): Promise<void> =>
  resolveOpen(record, () => ({ satisfied: false, detail }))

const endWell = async (record: RecoveryRecord): Promise<AfterLaunch> => {
  await failOpen(record, 'the command ended well without it')
  return { ending: { outcome: 'done', exitCode: 0 } }
}

const end = async (
  { parts, record, ended }: Launched,
  { diagnosis }: Pick<ChosenRecovery, 'diagnosis'>,
  reason: string,
): Promise<AfterLaunch> => {
  await failOpen(record, reason)
  return { ending: giveUpEnding(parts, { ended, diagnosis }) }
}

const recoverFrom = async (launched: Launched, evidence: Evidence): Promise<AfterLaunch> => {
  const { parts, record, ended } = launched
  // An unknown error is left to the caller, who sees the exit status. Trust in a folder is the user's decision, unless the driver
  // says that the CLI's check is only about git.
  const { trust } = parts.command.restriction(parts.environment)
  const disabled = ['unknown-restart', 'unknown-requeue', ...(trust ? [] : ['git-trust-relaunch'])]
  const policy = { playbooks, disabled, retry: parts.retry }
  const { diagnosis, step } = await chooseRecovery(record, evidence, { policy, task: execRun, calls: [] })
  if (step.kind === 'recover') return dispatchAction(actions, launched, { diagnosis, step })
  return ended.conclusion.ok ? endWell(record) : end(launched, { diagnosis }, step.reason)
}

/** Returns a function that decides what follows a launch. It remembers everything tried before. */
export const createRecovery = (
  parts: ExecParts,
): ((ended: EndedLaunch, change: LineChange) => Promise<AfterLaunch>) => {
  const record = memoryRecord(parts)
  return async (ended, change) => {
    const { corrections, hint } = change
    const launched = { parts, record, ended, change }
    const { transcript, conclusion, denials } = ended
    const launch = { corrections, resumeSession: hint?.session ?? null }
    const shown = {
      launch,
      reading: transcript,
      conclusion,
      denials,
      stall: ended.stall,
      files: realFiles,
      rulesFor: rulesIn(parts),
    }
    await resolveOpen(record, (condition) => launchOutcome(shown, condition))
    const evidence = evidenceOf(launched)
    if (evidence !== undefined)
      return recoverFrom(launched, await withDeadProxy(evidence, launched.parts.environment, connectFailure))
    return endWell(record)
  }
}
