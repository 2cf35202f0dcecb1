/** How `unstuck exec` ends: its result and its exit status. */
import type { AgentExit, Driver } from '../harness/driver.ts'
import { exitCodes } from '../errors.ts'
import { leftRunningAdvice, leftRunningLabel, leftRunningText, type LeftRunning } from '../recovery/left-running.ts'
import type { AnyFacts, Diagnosis } from '../recovery/types.ts'
import { blockerText, permissionAdvice } from '../runtime/core/question.ts'
import type { ExecParts, ExecResult } from './exec-events.ts'
import type { EndedLaunch } from './launch-once.ts'
import { anyFileChanged, type WorkFolders } from './refusal.ts'
import { remedyOf } from './remedy.ts'

export type ExecEnding = Pick<ExecResult, 'outcome' | 'exitCode'> & Partial<Pick<ExecResult, 'label' | 'until'>>

const statusOf = ({ code, signal }: AgentExit): number =>
  code ?? (signal === 'SIGINT' ? 130 : signal === 'SIGTERM' ? 143 : 137)

interface Command extends WorkFolders {
  driver: Driver
  startedAt: number
}

export const resultOf = (
  { driver, startedAt, ...folders }: Command,
  ended: EndedLaunch,
  launches: number,
  ending: ExecEnding,
): ExecResult => {
  const { transcript, conclusion, denials, stall } = ended
  return {
    label: null,
    until: null,
    ...ending,
    text: conclusion.ok ? conclusion.text : (stall?.text ?? conclusion.error.text),
    launches,
    tokens: transcript.tokens.input - transcript.tokens.cachedInput + transcript.tokens.output,
    costUsd: transcript.costUsd ?? null,
    session: transcript.sessionId ?? null,
    denials: denials.map((denial) => ({
      ...{ kind: denial.kind, tool: denial.tool, target: denial.target ?? null, text: denial.text },
      remedy: remedyOf(driver, denial, transcript.stderrTail),
    })),
    changed: driver.name === 'command' ? null : (anyFileChanged(folders, startedAt) ?? null),
  }
}

interface GivenUp {
  ended: EndedLaunch
  diagnosis: Diagnosis
}

const isLimit = (diagnosis: Diagnosis): boolean => diagnosis.rung === 2 && diagnosis.retryable

/** How a person allows what was refused, in this CLI's own options where the label alone is not enough. */
const adviceFor = (
  { command, cwd }: ExecParts,
  { transcript, denials }: EndedLaunch,
  diagnosis: Diagnosis,
): string[] => {
  const { driver } = command
  const { trustAdvice } = driver.userCommand
  if (diagnosis.label === 'GIT_TRUST_ERROR' && trustAdvice !== undefined) return [`To trust ${cwd}: ${trustAdvice}.`]
  const [first] = denials
  if (diagnosis.label === 'TOOL_DENIED' && first !== undefined)
    return [`To allow it: ${remedyOf(driver, first, transcript.stderrTail)}.`]
  return permissionAdvice(diagnosis, {
    again: 'run the command again',
    allow: (directory) => `To allow it: unstuck exec --allow-dir ${directory} -- …`,
  })
}

const emitBlocker = (parts: ExecParts, { ended, diagnosis }: GivenUp): void => {
  const { directory = parts.cwd }: AnyFacts = diagnosis.facts
  const advice = adviceFor(parts, ended, diagnosis)
  parts.emit({
    type: 'blocker',
    timestamp: new Date().toISOString(),
    payload: {
      kind: 'permission',
      text: blockerText(parts.command.driver.name, directory),
      details: `"${diagnosis.evidence}". ${advice.join(' ')}`,
    },
  })
}

/** Processes of the agent could not be ended: nothing is launched while they run, and the user must know before working in the folder. */
export const leftRunningEnding = (parts: ExecParts, processes: LeftRunning['processes']): ExecEnding => {
  const details = leftRunningAdvice('check the folder before you continue')
  const text = `${leftRunningText({ processes })}. Manual intervention required.`
  const payload = { kind: 'left_running', text, details } as const
  parts.emit({ type: 'blocker', timestamp: new Date().toISOString(), payload })
  return { outcome: 'failed', exitCode: exitCodes.needsPerson, label: leftRunningLabel }
}

/** A time that has passed does not say when the provider answers again. */
const limitEnd = ({ resetAt }: AnyFacts): string | null =>
  resetAt !== undefined && resetAt.getTime() > Date.now() ? resetAt.toISOString() : null

/** No recovery is left. */
export const giveUpEnding = (parts: ExecParts, given: GivenUp): ExecEnding => {
  const { ended, diagnosis } = given
  const { label } = diagnosis
  if (isLimit(diagnosis)) return { outcome: 'waiting', exitCode: 75, label, until: limitEnd(diagnosis.facts) }
  if (diagnosis.rung <= 1) emitBlocker(parts, given)
  // The status of an agent that we stopped is that of our signal and explains nothing.
  const exitCode = ended.exit.stopCause === undefined ? statusOf(ended.exit) || 1 : 1
  return { outcome: 'failed', exitCode, label }
}
