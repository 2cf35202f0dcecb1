/**
 * The ladder around one command: the engine's own evidence, choice, corrections, post-conditions and delays, with a record
 * in memory. Loaded when a launch needs it: most agents never do, and the rules are a fifth of this command's start.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { capabilitiesOf } from '../harness/capabilities.ts'
import { renewedLogin } from '../harness/logins.ts'
import { isCorrectable, isOwed } from '../recovery/diagnosis/agent.ts'
import type { Evidence, ObservedDenial } from '../recovery/evidence.ts'
import { playbooks } from '../recovery/ladder.ts'
import { dueAt } from '../recovery/reset-time.ts'
import type { ActionIn } from '../recovery/playbook.ts'
import { changeModes } from '../runtime/agent/change-modes.ts'
import { nextLaunch, type Relaunch } from '../runtime/agent/corrections.ts'
import { isInside, realDirectories } from '../runtime/agent/observe-denial.ts'
import { failureEvidence, stallEvidence } from '../runtime/agent/launch-evidence.ts'
import { outcomeOf } from '../runtime/agent/post-conditions.ts'
import { realFiles } from '../runtime/core/files.ts'
import {
  carryOutBy,
  chooseRecovery,
  resolveOpen,
  type ActionOf,
  type Carriers,
  type Chosen,
  type RecoveryRecord,
} from '../runtime/core/recovery-record.ts'
import type { LineChange } from '../harness/user-command.ts'
import type { ChangedLine } from './command.ts'
import type { ExecParts } from './contract.ts'
import { giveUp, type Ending } from './ending.ts'
import { rulesIn, type Ended } from './launch.ts'
import { changedIn } from './refusal.ts'
import { becauseText } from './words.ts'
import { execRun, memoryRecord } from './memory-record.ts'

/** Another launch, or the end of the command. */
export type After = { next: LineChange; because: string; waited?: true } | { ending: Ending }

/** What a launch was, and what is known of it. */
interface Launched {
  parts: ExecParts
  record: RecoveryRecord
  ended: Ended
  change: LineChange
}

/** Refused inside a directory of `--allow-dir`, and there is a correction for it. */
const isAllowed = ({ allowDirs }: ExecParts, denial: ObservedDenial): boolean =>
  isOwed(denial) &&
  realDirectories(realFiles, allowDirs).some((root) => isInside(denial.directory ?? denial.allowedBy ?? '', root))

/** A turn that ended well is judged by nothing here, so a refusal told to the model is acted upon where it can be corrected. */
const evidenceOf = ({ parts, ended }: Launched): Evidence | undefined => {
  const { settled, reading, denials, look, stall, loginBefore } = ended
  const harness = parts.command.driver.name
  if (settled.ok) {
    // Work that was done is not done again, unless what the user allowed was refused.
    const changed = changedIn(parts.cwd, ended.startedAt) !== false
    const open = denials.filter((denial) => (changed ? isAllowed(parts, denial) : isCorrectable(denial)))
    return open.length === 0 ? undefined : { kind: 'denial', harness, denials: open, because: 'nothing changed' }
  }
  const { environment } = parts
  return (
    stallEvidence(stall, denials) ??
    failureEvidence({
      ...{ harness, error: settled.error, reading, denials, look, endedAt: new Date(), environment },
      renewedLogin: renewedLogin(parts.command.driver, { environment, files: realFiles, before: loginBefore }),
    })
  )
}

const becauseOf = ({ parts }: Launched, { diagnosis, step }: Chosen): string =>
  becauseText(parts.command.driver.name, diagnosis.evidence, step.action)

/** Only a restart and a fresh session are given their hint behind the task; any other launch is given the task as it was. */
const changeBy = (
  { change, ended, parts }: Launched,
  action: Pick<Relaunch, 'resume' | 'hint'> & Partial<Relaunch>,
): LineChange => {
  const { sessionId, cliVersion } = ended.reading
  const { capabilities: can } = capabilitiesOf(parts.command.driver, cliVersion)
  const full: Relaunch = { type: 'relaunch', name: '', ...action }
  const next = nextLaunch(change.corrections, full, can.resume ? (sessionId ?? null) : null)
  const { corrections, resumeSession, hint } = next
  if (resumeSession !== null) return { corrections, hint: { text: hint ?? '', session: resumeSession } }
  if (hint === null || (action.restart === undefined && action.fresh === undefined)) return { corrections }
  return { corrections, hint: { text: hint, ...(action.fresh === undefined ? {} : { fresh: true as const }) } }
}

/** The user's own line may hold a correction already, or a session that is gone: the same again would change nothing. */
const isSame = (one: ChangedLine, other: ChangedLine): boolean => JSON.stringify(one) === JSON.stringify(other)

const sameReason = ({ restart, fresh }: Relaunch): string =>
  restart === undefined && fresh === undefined
    ? 'the command has this correction already'
    : 'a hint cannot be added: where the task stands in this command is not known'

const relaunch = async (launched: Launched, chosen: Chosen<ActionOf<'relaunch'>>): Promise<After> => {
  const { parts, record, ended, change } = launched
  const { action } = chosen.step
  const next = changeBy(launched, action)
  // A mode or a login that is changed on disk needs no other line.
  const changedOnDisk = action.chmod !== undefined || 'renewedLogin' in chosen.diagnosis.facts
  if (!changedOnDisk && isSame(parts.command.line(change, parts.cwd), parts.command.line(next, parts.cwd)))
    return ended.settled.ok ? endWell(record) : end(launched, chosen, sameReason(action))
  await record.begin(chosen)
  const locked = await changeModes(record, realFiles, execRun.runId)
  return locked === undefined
    ? { next, because: becauseOf(launched, chosen) }
    : recoverFrom(launched, { kind: 'directory', directory: locked })
}

const goesOn = 'The provider did not answer before. Continue and finish the task.'

/** Waits for a provider, unless that is too long for this command. */
const wait = async (launched: Launched, chosen: Chosen<ActionOf<'wait'>>): Promise<After> => {
  const { parts, record } = launched
  const { evidence, label } = chosen.diagnosis
  const delayMs = dueAt(chosen.step.action, new Date()).getTime() - Date.now()
  const until = new Date(Date.now() + delayMs).toISOString()
  const payload = { reason: label, evidence, until, seconds: Math.ceil(delayMs / 1000) }
  if (delayMs > parts.maxWaitMs) return end(launched, chosen, 'the wait is too long')
  parts.emit({ type: 'waiting', timestamp: new Date().toISOString(), payload })
  await failOpen(record, `the provider failed again: ${evidence}`)
  await record.begin(chosen)
  const waited = await delay(delayMs, true, { signal: parts.signal }).catch(() => false)
  if (!waited) return { ending: { outcome: 'stopped', exitCode: 130 } }
  return {
    next: changeBy(launched, { resume: true, hint: goesOn }),
    because: becauseOf(launched, chosen),
    waited: true,
  }
}

/** Nothing is prepared here, no check is run, and no other harness is known: the evidence for other actions never arises. */
const actions: Carriers<Launched, After, ActionIn<'launch'> | 'wait'> = { relaunch, wait }

const failOpen = (record: RecoveryRecord, detail: string): Promise<void> =>
  resolveOpen(record, () => ({ holds: false, detail }))

const endWell = async (record: RecoveryRecord): Promise<After> => {
  await failOpen(record, 'the command ended well without it')
  return { ending: { outcome: 'done', exitCode: 0 } }
}

const end = async (
  { parts, record, ended }: Launched,
  { diagnosis }: Pick<Chosen, 'diagnosis'>,
  reason: string,
): Promise<After> => {
  await failOpen(record, reason)
  return { ending: giveUp(parts, { ended, diagnosis }) }
}

const recoverFrom = async (launched: Launched, evidence: Evidence): Promise<After> => {
  const { parts, record, ended } = launched
  // An error that no rule knows is the caller's to judge: the exit status shows it. Whether a CLI may trust a folder is the
  // user's decision, except for Codex's check of the repository, which looks at nothing but git.
  const { trust } = parts.command.restriction(parts.environment)
  const disabled = ['unknown-restart', 'unknown-requeue', ...(trust ? [] : ['git-trust-relaunch'])]
  const policy = { playbooks, disabled, retry: parts.retry }
  const { diagnosis, step } = await chooseRecovery(record, evidence, { policy, task: execRun })
  if (step.kind === 'recover') return carryOutBy(actions, launched, { diagnosis, step })
  return ended.settled.ok ? endWell(record) : end(launched, { diagnosis }, step.reason)
}

/** What follows a launch, by everything that was tried before. */
export const createRecovery = (parts: ExecParts): ((ended: Ended, change: LineChange) => Promise<After>) => {
  const record = memoryRecord(parts)
  return async (ended, change) => {
    const { corrections, hint } = change
    const launched = { parts, record, ended, change }
    const { reading, settled, denials } = ended
    const launch = { corrections, resumeSession: hint?.session ?? null }
    const shown = { launch, reading, settled, denials, stall: ended.stall, files: realFiles, rulesFor: rulesIn(parts) }
    await resolveOpen(record, (condition) => outcomeOf(shown, condition))
    const evidence = evidenceOf(launched)
    if (evidence !== undefined) return recoverFrom(launched, evidence)
    return endWell(record)
  }
}
