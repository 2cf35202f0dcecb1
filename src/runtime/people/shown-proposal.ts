/** A recovery proposal as people judge it: what would run, read part by part, and why. Pure. */
import type { RecoveryProposal } from '../../domain/recovery-proposal.ts'
import { commandReport, type CommandReport } from '../../recovery/proposal/command-risks.ts'
import {
  checkProposal,
  proposedCommandOf,
  proposalSteps,
  type Proposal,
  type ProposedCommand,
} from '../../recovery/proposal/proposal.ts'

export interface ShownProposal {
  id: string
  category: Proposal['category'] | null
  severity: Proposal['severity'] | null
  rootCause: string
  expected: string
  evidence: string[]
  doubt: string | null
  problem: string | null
  commands: (ProposedCommand & CommandReport)[]
}

const commandsOf = (proposal: Proposal): ShownProposal['commands'] =>
  proposalSteps.flatMap((step) => {
    const command = proposedCommandOf(proposal, step)
    return command === undefined ? [] : [{ ...command, ...commandReport(command.command) }]
  })

export const shownProposal = ({ id, body, problem, flag, notes }: RecoveryProposal): ShownProposal => {
  const read = checkProposal(body)
  const about = {
    id,
    doubt: [...(flag === null ? [] : [flag.detail]), ...notes].join('; ') || null,
    problem: problem === null ? null : `${problem.field === '' ? '' : `${problem.field}: `}${problem.problem}`,
  }
  if (!read.ok)
    return { ...about, category: null, severity: null, rootCause: '', expected: '', evidence: [], commands: [] }
  const { category, severity, diagnosis, recovery } = read.proposal
  return {
    ...about,
    ...{ category, severity, rootCause: diagnosis.root_cause, expected: recovery.expected_outcome },
    ...{ evidence: diagnosis.evidence, commands: commandsOf(read.proposal) },
  }
}
