/**
 * What a failed verification command means. Facts decide first (can it be planned, does the script exist, did it run out of
 * time?); what they leave open is named by the classifier, which never leads to an action that takes the check away.
 */
import type { Finding } from '../diagnosis.ts'
import type { ObservedCheck } from '../evidence.ts'
import { classify } from './classify.ts'

const verification = { rung: 4 } as const

/** The last non-empty line of the stream a tool complains on, without colours; the whole output is in the run's log. */
const lastLine = (check: ObservedCheck): string => {
  const text = check.stderr.trim() === '' ? check.stdout : check.stderr
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '')
  return (lines.at(-1) ?? '').slice(0, 300)
}

const endOf = (check: ObservedCheck): string =>
  check.signal === null ? `exit ${check.exitCode}` : `signal ${check.signal}`

/**
 * Labels that lead to an action only when a fact shows them: what a check printed is no reason to drop it or to wait, and
 * says nothing about the agent or its provider.
 */
const byFactOnly = new Set([
  'missing_script',
  'unsupported_format',
  'network_transient',
  'unknown',
  'permission_prompt',
  'llm_quota',
  'model_doom_loop',
  'policy_violation',
  'no_changes',
])

/** What the same command does on the base commit, for the person who reads the evidence. */
const compared = (check: ObservedCheck): string => (check.baseline === undefined ? '' : `; ${check.baseline.detail}`)

const emptyBefore = (check: ObservedCheck): { emptyBefore?: boolean } =>
  check.baseline?.state === 'no tests' ? { emptyBefore: true } : {}

/** No test ran. Where the base commit ran some, they are gone, and that is a failure of the work. */
const ranNoTest = (check: ObservedCheck, evidence: string): Finding => {
  const gone = check.baseline?.state === 'passes' || check.baseline?.state === 'fails'
  return {
    ...verification,
    ...(gone
      ? { label: 'check_failed', failureCode: 'verification_command_failed', category: 'test', retryable: true }
      : {
          label: 'no_test_files',
          failureCode: 'verification_command_no_test_files',
          category: 'setup',
          retryable: false,
        }),
    evidence: gone
      ? `${check.command} ran no test (${evidence}), but it ran tests on the base commit`
      : `${check.command} ran no test (${evidence})${compared(check)}`,
    facts: { command: check.command, remaining: check.remaining, ...emptyBefore(check) },
  }
}

/** What the facts do not decide, the output may name; a cause that is not named stays a failed check. */
const readOutput = (check: ObservedCheck): Finding => {
  const { command, exitCode, signal, stdout, stderr } = check
  const facts = { command, remaining: check.remaining }
  const found = classify({ command, exitCode, signal, stdout, stderr })
  if (found.label === 'no_test_files') return ranNoTest(check, found.evidence)
  if (byFactOnly.has(found.label)) {
    return {
      ...verification,
      label: 'check_failed',
      failureCode: 'verification_command_failed',
      category: 'test',
      retryable: true,
      evidence: `${command}: ${endOf(check)}${lastLine(check) === '' ? '' : `, ${lastLine(check)}`}${compared(check)}`,
      facts,
    }
  }
  return {
    ...verification,
    label: found.label,
    failureCode: found.failureCode,
    category: found.category,
    retryable: found.retryable,
    evidence: `${command}: ${endOf(check)}${lastLine(check) === '' ? '' : `, ${found.evidence}`}${compared(check)}`,
    facts,
  }
}

export const diagnoseCheck = (check: ObservedCheck): Finding => {
  const facts = { command: check.command, remaining: check.remaining }
  if (check.unsupported !== undefined) {
    return {
      ...verification,
      label: 'unsupported_format',
      failureCode: 'verification_command_unsupported_format',
      category: 'setup',
      retryable: false,
      evidence: `${check.unsupported.reason}: ${check.unsupported.piece}`,
      facts,
    }
  }
  if (check.ranNothing !== undefined) return ranNoTest(check, check.ranNothing)
  if (check.script?.exists === false && check.script.inBase === true) {
    return {
      ...verification,
      label: 'check_failed',
      failureCode: 'verification_command_failed',
      category: 'test',
      retryable: true,
      evidence: `${check.script.manifest} has no script "${check.script.name}" any more; the base commit has it (${check.command}: ${endOf(check)})`,
      facts,
    }
  }
  if (check.script !== undefined && !check.script.exists) {
    return {
      ...verification,
      label: 'missing_script',
      failureCode: 'verification_command_missing_script',
      category: 'setup',
      retryable: false,
      evidence: `${check.script.manifest} has no script "${check.script.name}" (${check.command}: ${endOf(check)})`,
      facts,
    }
  }
  if (check.timedOut) {
    return {
      ...verification,
      label: 'timeout',
      failureCode: 'timeout',
      category: 'flaky',
      retryable: true,
      evidence: `${check.command} ran out of time`,
      facts,
    }
  }
  if (check.spawnError !== undefined) {
    return {
      ...verification,
      label: 'command_not_found',
      failureCode: 'setup_or_bootstrap_issue',
      category: 'setup',
      retryable: true,
      evidence: check.spawnError,
      facts,
    }
  }
  return readOutput(check)
}
