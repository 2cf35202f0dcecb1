/** The command of the owner's playbook as a proposal, so that it takes the same way as one of an agent. Pure. */
import { defaultTimeoutSeconds } from '../proposal/command-text.ts'
import type { Proposal } from '../proposal/proposal.ts'
import { ownId } from './own-playbook.ts'
import type { OwnCommand } from './own-step.ts'
import { defined } from '../../domain/defined.ts'

export const ownProposal = ({ name, playbook, action, line }: OwnCommand, check: string, now: Date): Proposal => ({
  version: 1,
  timestamp: now.toISOString(),
  category: 'environment',
  severity: 'blocking',
  diagnosis: {
    error_pattern: playbook.evidence.pattern,
    root_cause: `${playbook.title} (${ownId(name)})`,
    evidence: [line],
  },
  recovery: {
    command: action.command,
    ...defined({ working_dir: action.workingDir }),
    timeout_seconds: action.timeoutSeconds ?? defaultTimeoutSeconds,
    expected_outcome: `\`${check.slice(0, 200)}\` passes`,
    confidence: 'high',
  },
})
