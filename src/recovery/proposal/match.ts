/**
 * Whether a proposed command may run: exact `auto_approve` first, then the globs of `require_human`, then `on_unknown`. Only the
 * whole text can be approved. What a shell would make of it can only add a reason to ask a person. Pure.
 */
import { commandPatternMatcher } from './command-pattern.ts'
import { readShellCommand } from './simple-commands.ts'

export const unknownAnswers = ['escalate', 'deny', 'allow'] as const
export type UnknownAnswer = (typeof unknownAnswers)[number]

/** The lists of the owner. */
export interface CommandLists {
  auto_approve: readonly string[]
  require_human: readonly string[]
  on_unknown: UnknownAnswer
}

export type CommandDecision =
  /** `source` is what the event `recovery_approved` states. */
  { kind: 'run'; source: 'auto' | 'on_unknown' } | { kind: 'ask'; reason: string } | { kind: 'refuse'; reason: string }

/** The `require_human` entry that matches the command or a part of it. */
export const humanPatternFor = (command: string, patterns: readonly string[]): string | undefined => {
  const { texts, words } = readShellCommand(command)
  return patterns.find((pattern) => {
    const { matchesText, matchesWords } = commandPatternMatcher(pattern)
    return [command, ...texts].some(matchesText) || words.some(matchesWords)
  })
}

/** The same bytes: without trimming, folding or expansion. */
export const isAutoApproved = (command: string, { auto_approve }: CommandLists): boolean =>
  auto_approve.includes(command)

const onUnknown = (command: string, lists: CommandLists): CommandDecision => {
  switch (lists.on_unknown) {
    case 'deny':
      return { kind: 'refuse', reason: 'command not in auto_approve, and on_unknown is "deny"' }
    case 'allow': {
      const { unclear } = readShellCommand(command)
      if (unclear.length === 0 || lists.require_human.length === 0) return { kind: 'run', source: 'on_unknown' }
      // A part that cannot be read could be one of those that always need a person.
      return { kind: 'ask', reason: `command not in auto_approve, and it contains ${unclear.join(', ')}` }
    }
    case 'escalate':
      return { kind: 'ask', reason: 'command not in auto_approve' }
  }
}

export const decideCommand = (command: string, lists: CommandLists): CommandDecision => {
  if (isAutoApproved(command, lists)) return { kind: 'run', source: 'auto' }
  const pattern = humanPatternFor(command, lists.require_human)
  // Only a pattern of the owner's own says more than that the command is unknown.
  if (pattern === '*' && lists.on_unknown !== 'deny') return { kind: 'ask', reason: 'command not in auto_approve' }
  if (pattern !== undefined && pattern !== '*')
    return { kind: 'ask', reason: `command not in auto_approve, and require_human lists "${pattern}"` }
  return onUnknown(command, lists)
}

export interface ListOverlap {
  command: string
  pattern: string
}

/** Entries of `auto_approve` that a glob of `require_human` matches as well. They run; the owner may have meant otherwise. */
export const overlapsOf = ({ auto_approve, require_human }: CommandLists): ListOverlap[] =>
  auto_approve.flatMap((command) => {
    const pattern = humanPatternFor(
      command,
      require_human.filter((each) => each !== '*'),
    )
    return pattern === undefined ? [] : [{ command, pattern }]
  })
