/** The message of a commit in the convention of the repository: from facts about its history and files to the text. Pure. */
import { commitTitle, leastCommits } from './commit-title.ts'
import { asksForSignOff, mentionsConvention, messageRulesIn, type MessageTexts } from './message-rules.ts'

/** A commit that a person made before. */
export interface RecentCommit {
  title: string
  isSignedOff: boolean
}

export interface MessageFacts {
  /** The newest first. */
  recent: readonly RecentCommit[]
  /** Of `messageFiles`. */
  files: MessageTexts
  changed: readonly string[]
}

export interface CommitText {
  subject: string
  body: string
  /** Whether the owner signs the commit off. */
  isSignedOff: boolean
}

/** So many of the recent commits make a habit. */
const share = 0.9

const isHabit = (recent: readonly RecentCommit[]): boolean =>
  recent.length >= leastCommits && recent.filter(({ isSignedOff }) => isSignedOff).length >= share * recent.length

/** Breaks lines at spaces; a part that has none is broken anywhere. Items of a list stay indented. */
const wrap = (line: string, most: number): string[] => {
  if (line.length <= most) return [line]
  const indent = /^\s*(?:[-*] )?/.exec(line)?.[0].length ?? 0
  const end = line.lastIndexOf(' ', most)
  const at = end > indent ? end : most
  const rest = ' '.repeat(Math.min(indent, most >> 1)) + line.slice(at).trimStart()
  return [line.slice(0, at).trimEnd(), ...wrap(rest, most)]
}

export const commitMessage = (written: { title: string; body: string }, facts: MessageFacts): CommitText => {
  const { recent, files, changed } = facts
  const rules = messageRulesIn(files)
  const titles = recent.map(({ title }) => title)
  const subject = commitTitle(written.title, { recent: titles, hasRules: mentionsConvention(files), rules, changed })
  const longest = rules?.longestLine
  const lines = written.body.split('\n')
  const body = longest === undefined ? lines : lines.flatMap((line) => wrap(line, longest))
  return { subject, body: body.join('\n'), isSignedOff: asksForSignOff(files) || isHabit(recent) }
}

/** The trailer by which the owner signs a commit off; nothing where it is not asked for, or the owner's name is not known. */
export const signOffOf = (
  owner: { name: string; email: string } | null | undefined,
  isAsked: boolean,
): Record<string, string> => (owner == null || !isAsked ? {} : { 'Signed-off-by': `${owner.name} <${owner.email}>` })
