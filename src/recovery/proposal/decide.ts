/** What happens with one command of a proposal: the lists of the owner and the pattern together. A secret makes the proposal invalid before. Pure. */
import type { PatternFlag } from './error-pattern.ts'
import { decideCommand, isAutoApproved, type CommandDecision, type CommandLists } from './match.ts'

/** `flag`: why the pattern does not fit; then only a command that the owner listed exactly may run without a person. */
export const decideProposal = (
  command: string,
  lists: CommandLists,
  flag: PatternFlag | undefined,
): CommandDecision => {
  const decision = decideCommand(command, lists)
  if (decision.kind !== 'run' || flag === undefined || isAutoApproved(command, lists)) return decision
  return { kind: 'ask', reason: flag.detail }
}
