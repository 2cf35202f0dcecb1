/** What decides how a commit message is written: the history before it, and the files of its base that have rules. */
import type { MessageFacts } from '../../domain/commit-message.ts'
import { messageFiles } from '../../domain/message-rules.ts'
import type { Context } from './context.ts'

/** How many earlier commits show the habit of a repository. */
const habitOf = 50

export const messageFacts = async (
  { ports: { git }, repository, shadow }: Context,
  base: string,
  changed: readonly string[],
): Promise<MessageFacts> => ({
  recent: await git.recentCommits(repository, base, habitOf),
  files: await git.textsAt(shadow, base, messageFiles),
  changed,
})
