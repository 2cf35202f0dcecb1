/**
 * Commands that the owner could let run without a question, because they have proved themselves. They are only suggested: nothing is ever
 * added to the configuration by itself. Pure.
 */
import type { CommandLists } from './match.ts'

/** How often a command worked and failed for one failure. */
export interface CommandRecord {
  command: string
  /** Fingerprint of the failure. */
  signature: string
  /** The failing check ran afterwards. */
  worked: number
  failed: number
}

/** How often a command has to work for the same failure. */
const enough = 3

export interface CommandSuggestion {
  command: string
  signature: string
  worked: number
  /** The line to add to `recovery.auto_approve`. */
  line: string
}

/** A command that failed for any failure is not suggested. */
export const suggestedCommands = (
  records: readonly CommandRecord[],
  { auto_approve, require_human }: Pick<CommandLists, 'auto_approve' | 'require_human'>,
): CommandSuggestion[] => {
  const failed = new Set(records.filter((record) => record.failed > 0).map(({ command }) => command))
  // The same text in both lists is an error of the configuration.
  const listed = new Set([...auto_approve, ...require_human])
  const best = new Map<string, CommandSuggestion>()
  for (const { command, signature, worked } of records) {
    if (worked < enough || failed.has(command) || listed.has(command)) continue
    if (worked > (best.get(command)?.worked ?? 0))
      best.set(command, { command, signature, worked, line: JSON.stringify(command) })
  }
  return [...best.values()].toSorted((a, b) => b.worked - a.worked || (a.command < b.command ? -1 : 1))
}
