/**
 * The brief: the first prompt of an agent, within a fixed number of characters; each part has its own cap. A cut part says how much
 * is missing, because an agent that takes a cut text for the whole does half of the task. Pure.
 */
import type { Goal } from '../../domain/goal.ts'
import type { Task } from '../../domain/task.ts'

export const briefLimit = 12_000

const caps = {
  ...{ role: 950, host: 550, late: 350, failures: 1_500 },
  ...{ person: 1_030, task: 6_150, rules: 1_400, proposal: 900 },
} as const
/** In a loop the role has more to read, and the goal is in a file beside the reports. */
const loopCaps = { ...caps, role: 3_500, task: 2_050, rules: 1_200, turn: 1_750 } as const
/** Characters for the instructions of a role and for earlier attempts, where the other parts leave room. */
const longestRole = 3_500
const longestFailures = 5_000
/** Characters that the allowed and the denied paths have at least, if they need them. */
const listRoom = 250

/** The text within `limit` characters, with a note of how many were cut. */
export const cutWithNote = (text: string, limit: number): string => {
  if (text.length <= limit) return text
  const note = (missing: number): string => `\n[${missing} characters left out]`
  const keep = limit - note(text.length).length
  return text.slice(0, keep) + note(text.length - keep)
}

const shortened = (line: string, limit: number): string =>
  line.length <= limit ? line : `${line.slice(0, limit - 1)}…`

/** Lines begin with the name of what they are about. */
const nameOf = (line: string): string => shortened(line.split(':', 1)[0] ?? '', 24)

/**
 * Whole lines within `limit` characters, the first ones first. A line that would take the place of the others is shortened, so that one long line
 * never empties the part. Lines without room are named.
 */
export const linesWithin = (lines: readonly string[], limit: number): string => {
  const all = lines.join('\n')
  if (all.length <= limit) return all
  const short = lines.map((line) => shortened(line, Math.floor(limit / Math.min(lines.length, 3))))
  for (let kept = short.length; kept > 0; kept -= 1) {
    const names = short.slice(kept).map(nameOf).join(', ')
    const note = names === '' ? [] : [`[left out: ${names}]`]
    const text = [...short.slice(0, kept), ...note].join('\n')
    if (text.length <= limit) return text
  }
  return cutWithNote(all, limit)
}

/**
 * Whole items within `limit` characters, the first ones first, and how many are missing. Without room for the first one it is shortened, so
 * that a list is never empty.
 */
export const itemsWithin = (items: readonly string[], separator: string, limit: number): string => {
  const all = items.join(separator)
  if (all.length <= limit) return all
  const more = (kept: number): string => (kept === items.length ? '' : `${separator}and ${items.length - kept} more`)
  let kept = 0
  for (let length = 0; kept < items.length; kept += 1) {
    length += (kept === 0 ? 0 : separator.length) + (items[kept] ?? '').length
    if (length + more(kept + 1).length > limit) break
  }
  if (kept > 0) return `${items.slice(0, kept).join(separator)}${more(kept)}`
  return `${shortened(items[0] ?? '', Math.max(1, limit - more(1).length))}${more(1)}`
}

export interface BriefInput {
  goal: Goal
  task: Task
  /** What the run may change and what it never may, grants and the owner's configuration included. */
  allowedPaths: string[]
  deniedPaths: string[]
  roleText: string
  /** About the machine, the most important first. */
  hostLines: string[]
  /** What failed on this machine lately, in any task, the most important first. */
  lateFailures: string[]
  /** The turn of a loop: where it is, its reports, what is left open. */
  turnLines?: string[]
  /** What the agent may write, in place of the paths of the task. */
  writes?: string[]
  /** Reports of earlier attempts at this task, newest first. */
  failures: string[]
  runDir: string
  /** Where a recovery proposal goes; absent = none is read. */
  proposalFile?: string
}

const section = (title: string, body: string, limit: number): string =>
  body.trim() === '' ? '' : cutWithNote(`## ${title}\n${body.trim()}`, limit)

const listSection = (title: string, lines: readonly string[], limit: number): string =>
  section(title, linesWithin(lines, limit - `## ${title}\n`.length), limit)

/** The instructions of a role in front of a question, which has no other parts that need their room. */
export const roleSection = (text: string): string => section('Your role', text, longestRole)

const cleanCheckout =
  'They run in a clean checkout of your changes: files that git ignores are missing there, except for packages that a lockfile names.'

const outsideRule =
  'Changes of other files are not accepted, unless the task cannot be done without them. Remove the files that your commands generate.'

/** Only where the owner switched it on: otherwise nobody reads the file. */
const proposalText = (file: string): string =>
  [
    'If the checks cannot run because of the environment (dependencies, configuration, permissions, network), not because of the code, write one JSON object to',
    `${file}:`,
    '{"version":1,"timestamp":"<ISO 8601>","category":"dependency|config|environment|permissions|network","severity":"blocking|degraded","diagnosis":{"error_pattern":"<RE2 that matches the output>","root_cause":"…","evidence":["<file>:<line>: …"]},"recovery":{"command":"<one shell command>","working_dir":".","timeout_seconds":120,"expected_outcome":"…","confidence":"high|medium|low"},"fallback":{"command":"…","confidence":"…"}}',
    'working_dir, timeout_seconds and fallback are optional. Never propose a command against failing assertions or bugs.',
  ].join('\n')

const joined = (lines: readonly string[]): string => lines.filter((line) => line !== '').join('\n')

/**
 * The rules within `limit` characters. The lists share what the fixed sentences leave: each has room of its own, and what one does not need
 * is for the others. The allowed paths come last, because a task may have hundreds of them.
 */
const rulesWithin = (input: BriefInput, limit: number): string => {
  const { task, allowedPaths, deniedPaths } = input
  if (input.writes !== undefined) return input.writes.join('\n')
  const rules = (lists: Record<'checks' | 'denied' | 'allowed', string>): string =>
    joined([
      task.commands.length === 0 ? '' : `These commands decide whether the work is accepted:\n- ${lists.checks}`,
      task.commands.length === 0 || input.goal.repoMode === 'direct' ? '' : cleanCheckout,
      deniedPaths.length === 0 ? '' : `Never change: ${lists.denied}`,
      'Leave the work as changed files; committing is not needed.',
      `Notes and scratch files go to ${input.runDir} (also $UNSTUCK_RUN_DIR); it is not part of the repository.`,
      `Change only: ${lists.allowed}`,
      allowedPaths.includes('**') ? '' : outsideRule,
    ])
  const room = limit - rules({ checks: '', denied: '', allowed: '' }).length
  const reserved = (items: readonly string[], most: number): number => Math.min(items.join(', ').length, most)
  const [forDenied, forAllowed] = [reserved(deniedPaths, listRoom), reserved(allowedPaths, listRoom)]
  const checks = itemsWithin(task.commands, '\n- ', room - forDenied - forAllowed)
  const denied = itemsWithin(deniedPaths, ', ', room - checks.length - forAllowed)
  return rules({ checks, denied, allowed: itemsWithin(allowedPaths, ', ', room - checks.length - denied.length) })
}

/** Of the characters that the other parts leave, the role gets what the earlier attempts do not need at least. */
const roleRoom = (input: BriefInput, left: number): number => {
  const { length } = section('Earlier attempts', input.failures.join('\n\n'), caps.failures)
  const needed = length === 0 ? 0 : length + 2
  return Math.max(caps.role, Math.min(longestRole, left - needed))
}

const lengthOf = (parts: readonly string[]): number => parts.join('\n\n').length + 2

export const buildBrief = (input: BriefInput): string => {
  const { proposalFile, turnLines = [] } = input
  const isTurn = turnLines.length > 0
  const most = isTurn ? loopCaps : { ...caps, turn: 0 }
  const machine = [
    listSection('This machine', input.hostLines, caps.host),
    listSection('Failed on this machine lately', input.lateFailures, caps.late),
  ]
  const after = [
    section('Hint', input.task.hint === null ? '' : `A person says: ${input.task.hint}`, caps.person),
    section(
      `Task: ${input.task.title}`,
      input.task.instructions === '' ? input.goal.requirement : input.task.instructions,
      most.task - (proposalFile === undefined ? 0 : caps.proposal),
    ),
    section('Your turn', turnLines.join('\n'), most.turn),
    section('Rules', rulesWithin(input, most.rules - '## Rules\n'.length), most.rules),
    ...(proposalFile === undefined ? [] : [section('Broken environment', proposalText(proposalFile), caps.proposal)]),
  ]
  const left = briefLimit - lengthOf([...machine, ...after])
  const role = section('Your role', input.roleText, isTurn ? most.role : roleRoom(input, left))
  const room = Math.max(caps.failures, Math.min(longestFailures, left - role.length - 2))
  const parts = [role, ...machine, section('Earlier attempts', input.failures.join('\n\n'), room), ...after]
  return cutWithNote(parts.filter((part) => part !== '').join('\n\n'), briefLimit)
}
