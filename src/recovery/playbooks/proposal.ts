/** Rung 6: commands that agents propose against a problem of the environment. The lists of the owner and people decide; see `../proposal/`. */
import type { RunProposed } from '../diagnosis/direct-evidence.ts'
import { playbook, type Playbook } from '../playbook.ts'

const example: RunProposed = {
  ...{ proposal: '<proposal>', step: 'primary', command: '<command>', workingDir: '.', timeoutSeconds: 120 },
  ...{ approvedBy: 'auto', check: '<check>', signature: '<signature>' },
}

/** `plan` of both: the command with everything that is needed to run it. */
const runIt = { type: 'run_proposed', name: 'RUN_PROPOSED_COMMAND' } as const

const helps: Playbook['postCondition'] = (action) => ({
  type: 'proposal_helps',
  command: action.type === 'run_proposed' ? action.check : '',
  signature: action.type === 'run_proposed' ? action.signature : '',
})

const proposedCommand = playbook({
  id: 'proposed-command',
  rung: 6,
  scope: 'run',
  title: 'Run a command that the agent proposed, in the clean clone of the checks, and run the checks there',
  labels: ['recovery_proposed'],
  neededEvidence:
    'a failed check, and a valid `recovery.json` of this run whose command is in `recovery.auto_approve` byte by byte (or `recovery.on_unknown` is `allow`); the limit of the goal and the cooldown permit it. Not in the list, but allowed: only where the built-in install does not apply or had no effect',
  example,
  plan: ({ facts }) => ({ ...runIt, ...facts }),
  postCondition: helps,
  budget: 12,
  counted: true,
})

/** Not one of the task's recoveries: the person decides how often. */
const approvedCommand = playbook({
  id: 'approved-command',
  rung: 6,
  scope: 'run',
  title: 'Run a proposed command that a person approved, in the clean clone of the checks, and run the checks there',
  labels: ['recovery_approved'],
  neededEvidence: 'the answer of a person to the question about the proposal',
  example,
  plan: ({ facts }) => ({ ...runIt, ...facts }),
  postCondition: helps,
  budget: 100,
  counted: false,
})

const proposalCooldown = playbook({
  id: 'proposal-cooldown',
  rung: 6,
  scope: 'task',
  title: 'Wait until the cooldown between two proposed commands is over',
  labels: ['recovery_cooldown'],
  neededEvidence:
    'a proposed command that may run, less than `recovery.cooldown_seconds` after the last one of the goal',
  example: { delayMs: 60_000, number: 1 },
  plan: ({ facts: { delayMs, number } }) => ({
    ...{ type: 'wait', name: 'WAIT_AND_REQUEUE', delayMs, forChecks: true },
    ...{ count: number, limit: Math.max(number, 100) },
  }),
  postCondition: () => ({ type: 'remaining_checks_pass' }),
  budget: 100,
  counted: false,
})

export const proposalPlaybooks: readonly Playbook[] = [proposedCommand, approvedCommand, proposalCooldown]
