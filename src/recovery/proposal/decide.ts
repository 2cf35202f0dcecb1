/** What happens with one command of a proposal: the lists of the owner, the pattern, and secrets together. Pure. */
import type { PatternFlag } from './error-pattern.ts'
import { decideCommand, isAutoApproved, type CommandDecision, type CommandLists } from './match.ts'

export interface ProposalFacts {
  /** Undefined = the pattern matches the failure. */
  flag: PatternFlag | undefined
  /** The rule that found a secret in the command. */
  secret: string | undefined
}

/**
 * A person's approval skips the lists and nothing else, so `secret` is checked for approved commands as well (see `refusedAlways`).
 */
export const refusedAlways = ({ secret }: Pick<ProposalFacts, 'secret'>): CommandDecision | undefined =>
  secret === undefined
    ? undefined
    : { kind: 'refuse', reason: `the command contains a secret (${secret}); pass it in a variable of the environment` }

export const decideProposal = (command: string, lists: CommandLists, facts: ProposalFacts): CommandDecision => {
  const refused = refusedAlways(facts)
  if (refused !== undefined) return refused
  const decision = decideCommand(command, lists)
  if (decision.kind !== 'run' || facts.flag === undefined || isAutoApproved(command, lists)) return decision
  return { kind: 'ask', reason: facts.flag.detail }
}
