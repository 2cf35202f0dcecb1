/** Which of the owner's playbooks fit a failure, and the line that shows it. Pure. */
import { RE2JS } from 're2js'
import type { Evidence } from '../evidence.ts'
import type { Diagnosis } from '../types.ts'
import { byName, type OwnPlaybook, type OwnPlaybooks } from './own-playbook.ts'

export interface OwnMatch {
  name: string
  playbook: OwnPlaybook
  /** The line that the pattern found. */
  line: string
}

/** A failure as the owner's playbooks see it. */
export interface OwnSubject {
  failure: 'check' | 'agent'
  harness: string
  /** Of a check. */
  command?: string
  exitCode?: number | null
  stdout: string
  stderr: string
}

/** In characters, from the end, where a tool says why it failed. */
const longestOutput = 256 * 1024
const longestLine = 300

const compile = (pattern: string): RE2JS => RE2JS.compile(pattern, RE2JS.MULTILINE)

const lineAt = (text: string, at: number): string => {
  const from = text.lastIndexOf('\n', at - 1) + 1
  const end = text.indexOf('\n', at)
  return text
    .slice(from, end < 0 ? undefined : end)
    .trim()
    .slice(0, longestLine)
}

const foundIn = (pattern: string, output: string): string | undefined => {
  const text = output.slice(-longestOutput)
  const matcher = compile(pattern).matcher(text)
  return matcher.find() ? lineAt(text, matcher.start()) : undefined
}

/** Why it does not fit, as a clause; or the line that shows that it does. */
export const fitOf = ({ match, evidence }: OwnPlaybook, subject: OwnSubject): { line: string } | { why: string } => {
  if (match.failure !== subject.failure)
    return { why: match.failure === 'check' ? 'it is for a failed check' : 'it is for an error that an agent reports' }
  if (match.harness !== undefined && match.harness !== subject.harness)
    return { why: `match.harness: the harness is ${subject.harness === '' ? 'not known' : `"${subject.harness}"`}` }
  if (
    match.command !== undefined &&
    !compile(match.command)
      .matcher(subject.command ?? '')
      .find()
  )
    return { why: `match.command: the check is ${JSON.stringify(subject.command ?? '')}` }
  const statuses = match.exitCode === undefined ? undefined : [match.exitCode].flat()
  if (statuses !== undefined && !statuses.includes(subject.exitCode ?? -1))
    return { why: `match.exitCode: the exit status is ${subject.exitCode ?? 'not known'}` }
  const streams = (['stderr', 'stdout'] as const).filter((name) => ['any', name].includes(evidence.stream))
  for (const name of streams) {
    const line = foundIn(evidence.pattern, subject[name])
    if (line !== undefined) return { line }
  }
  const where = evidence.stream === 'any' ? 'what was printed' : evidence.stream
  return { why: `evidence.pattern: no line of ${where} matches` }
}

/** In the order of choice. */
export const matchesOf = (own: OwnPlaybooks, subject: OwnSubject): OwnMatch[] =>
  byName(own).flatMap(([name, playbook]) => {
    const fit = fitOf(playbook, subject)
    return 'line' in fit ? [{ name, playbook, line: fit.line }] : []
  })

/**
 * Failures that only the built-in playbooks handle, because a mistake there would give an agent more than its owner allowed, or would
 * keep it from waiting for the limit of its account: permissions, limits and logins.
 */
const builtInOnly = ({ rung, label }: Pick<Diagnosis, 'rung' | 'label'>): boolean =>
  rung === 1 || label === 'llm_quota' || label === 'auth_failure'

/** Undefined = own playbooks have no say in it. Of an agent only the error that its CLI reports is looked at, never its prose. */
export const subjectOf = (
  evidence: Evidence,
  diagnosis: Pick<Diagnosis, 'rung' | 'label'>,
  harness: string,
): OwnSubject | undefined => {
  if (builtInOnly(diagnosis)) return undefined
  if (evidence.kind === 'launch') return { failure: 'agent', harness, stdout: '', stderr: evidence.failure.text }
  if (evidence.kind !== 'check') return undefined
  const { command, exitCode, stdout, stderr, spawnError } = evidence.check
  return {
    ...{ failure: 'check', harness, command, exitCode, stdout },
    stderr: spawnError === undefined ? stderr : `${stderr}\n${spawnError}`,
  }
}
