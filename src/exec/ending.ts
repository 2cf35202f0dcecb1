/** How `unstuck exec` ends: the result that it reports and the exit status that it ends with. */
import type { AgentExit } from '../harness/driver.ts'
import { exitCodes } from '../errors.ts'
import { leftRunningAdvice, leftRunningLabel, leftRunningText, type LeftRunning } from '../recovery/left-running.ts'
import type { AnyFacts, Diagnosis } from '../recovery/types.ts'
import { blockerText, permissionAdvice } from '../runtime/core/question.ts'
import type { ExecParts, ExecResult } from './contract.ts'
import type { Ended } from './launch.ts'

export type Ending = Pick<ExecResult, 'outcome' | 'exitCode'> & Partial<Pick<ExecResult, 'label' | 'until' | 'changed'>>

const statusOf = ({ code, signal }: AgentExit): number =>
  code ?? (signal === 'SIGINT' ? 130 : signal === 'SIGTERM' ? 143 : 137)

export const resultOf = (ended: Ended, launches: number, ending: Ending): ExecResult => {
  const { reading, settled, denials, stall } = ended
  return {
    label: null,
    until: null,
    changed: null,
    ...ending,
    text: settled.ok ? settled.text : (stall?.text ?? settled.error.text),
    launches,
    tokens: reading.tokens.input - reading.tokens.cachedInput + reading.tokens.output,
    costUsd: reading.costUsd ?? null,
    session: reading.sessionId ?? null,
    denials: denials.map(({ kind, tool, target, text }) => ({ kind, tool, target: target ?? null, text })),
  }
}

const isLimit = (diagnosis: Diagnosis): boolean => diagnosis.rung === 2 && diagnosis.retryable

const emitBlocker = (parts: ExecParts, diagnosis: Diagnosis, reason: string): void => {
  const { directory = parts.cwd }: AnyFacts = diagnosis.facts
  const advice = permissionAdvice(diagnosis, {
    again: 'run the command again',
    allow: (directory) => `To allow it: unstuck exec --allow-dir ${directory} -- …`,
  })
  parts.emit({
    type: 'blocker',
    timestamp: new Date().toISOString(),
    payload: {
      kind: 'permission',
      text: blockerText(parts.command.driver.name, directory),
      details: `${diagnosis.evidence} (${reason}). ${advice.join(' ')}`,
    },
  })
}

/** Nothing else is launched while they run, and the user needs to know about them before working in the folder. */
export const leftRunning = (parts: ExecParts, processes: LeftRunning['processes']): Ending => {
  const details = leftRunningAdvice('look at the folder before you go on')
  const text = `${leftRunningText({ processes })}. Manual intervention required.`
  const payload = { kind: 'left_running', text, details } as const
  parts.emit({ type: 'blocker', timestamp: new Date().toISOString(), payload })
  return { outcome: 'failed', exitCode: exitCodes.needsPerson, label: leftRunningLabel }
}

/** No recovery is left. */
export const giveUp = (
  parts: ExecParts,
  { ended, diagnosis, reason }: { ended: Ended; diagnosis: Diagnosis; reason: string },
): Ending => {
  const { label } = diagnosis
  const { resetAt }: AnyFacts = diagnosis.facts
  if (isLimit(diagnosis)) return { outcome: 'waiting', exitCode: 75, label, until: resetAt?.toISOString() ?? null }
  if (diagnosis.rung <= 1) emitBlocker(parts, diagnosis, reason)
  // The status of an agent that we ended is that of our signal, and says nothing.
  const exitCode = ended.exit.stopCause === undefined ? statusOf(ended.exit) || 1 : 1
  return { outcome: 'failed', exitCode, label }
}
