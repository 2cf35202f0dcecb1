/** The question about a proposed command: what failed, what the agent proposes and why, and what each answer does. */
import { taskName } from '../../domain/task-title.ts'
import type { Choice, ChoiceInput } from '../../domain/escalation.ts'
import type { RecoveryProposal } from '../../domain/recovery-proposal.ts'
import type { Task } from '../../domain/task.ts'
import { readShellCommand } from '../../recovery/proposal/simple-commands.ts'
import type { Proposal, ProposedCommand } from '../../recovery/proposal/proposal.ts'
import { cancelChoice, hintChoice } from './choices.ts'
import type { PersonQuestion } from './question.ts'

export type ProposalQuestionKind =
  | 'recovery_approval_required'
  | 'recovery_failed'
  | 'recovery_unknown_outcome'
  | 'invalid_proposal'

const note: ChoiceInput = { name: 'note', label: 'Why, for the record', required: false, suggested: null }

type Kind = 'approve_recovery' | 'approve_always' | 'edit_recovery' | 'reject_recovery' | 'resolve_recovery'

const choice = (
  { proposal, goal }: { proposal: string; goal: string },
  kind: Kind,
  { id, ...text }: Pick<Choice, 'id' | 'label' | 'effect'> & { input?: ChoiceInput | null; command?: string },
): Choice => ({
  ...{ id, kind, proposal },
  command: `unstuck ${kind.replace('_', '-')} --loop ${goal}`,
  input: note,
  ...text,
})

/** Where the command runs: in direct mode the checks have no clone of their own. */
export type CommandPlace = 'clone' | 'folder'

const placeText: Record<CommandPlace, string> = {
  clone: 'the clone in which the checks of the task run',
  folder: 'your folder, in which the task works',
}

interface Offered {
  /** The command that the question is about; undefined = the proposal is invalid. */
  proposed: ProposedCommand | undefined
  place: CommandPlace
}

export const proposalChoices = (
  { id: proposal, goalId: goal }: RecoveryProposal,
  task: Pick<Task, 'id'>,
  { proposed, place }: Offered,
): Choice[] => {
  const about = { proposal, goal }
  const edit = choice(about, 'edit_recovery', {
    ...{ id: 'edit', label: 'Run another command' },
    effect: `Your command runs instead, in ${placeText[place]}; then the checks run.`,
    command: `unstuck answer ${task.id} edit --command "…"`,
    input: {
      ...{ name: 'command', label: 'The command to run', required: true },
      suggested: proposed?.command ?? null,
    },
  })
  const approve = choice(about, 'approve_recovery', {
    ...{ id: 'approve', label: 'Run it' },
    effect: `\`${proposed?.command ?? ''}\` runs for this task, in ${placeText[place]}; then the checks run.`,
  })
  const always = choice(about, 'approve_always', {
    ...{ id: 'always', label: 'Run it, and from now on without a question' },
    effect:
      'It runs, and recovery.auto_approve of your .unstuck/config.json lists it from now on. You see that change before.',
    command: `unstuck answer ${task.id} always`,
    input: null,
  })
  return [
    ...(proposed === undefined ? [] : [approve, always]),
    edit,
    choice(about, 'reject_recovery', {
      ...{ id: 'reject', label: 'Do not run it' },
      effect: 'The command does not run, and an agent continues the task without it.',
    }),
    choice(about, 'resolve_recovery', {
      ...{ id: 'resolve', label: 'I have solved it by hand' },
      effect: 'The work of the task is checked again as it is.',
    }),
    hintChoice(task.id),
    cancelChoice(task.id),
  ]
}

const asList = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)]

const detailsOf = (
  { source, flag, notes, offsetStated }: RecoveryProposal,
  { diagnosis, recovery, timestamp, category, severity }: Proposal,
  { proposed: { command, workingDir, timeoutSeconds, confidence }, place }: Offered & { proposed: ProposedCommand },
): string[] => {
  const { texts, unclear } = readShellCommand(command)
  const parts = texts.filter((text) => text !== command)
  return [
    `Command: ${command}`,
    `It runs in ${workingDir === '.' ? '' : `${workingDir} of `}${placeText[place]}, at most ${timeoutSeconds} s.`,
    `Cause${source === 'agent' ? ' according to the agent' : ''} (${category}, ${severity}, confidence ${confidence}): ${diagnosis.root_cause}`,
    `Expected: ${recovery.expected_outcome}`,
    ...asList('Evidence:', diagnosis.evidence),
    ...(flag === null ? [] : [`Caution: ${flag.detail}.`]),
    ...notes.map((note) => `Caution: ${note}.`),
    ...asList('Its parts:', parts.slice(0, 20)),
    ...(unclear.length === 0 ? [] : [`Caution: it contains ${unclear.join(', ')}.`]),
    `Proposed at ${timestamp}${offsetStated === null ? ' (without a time zone)' : ''}.`,
  ]
}

export interface ProposalAsked extends Offered {
  kind: ProposalQuestionKind
  /** Why a person is asked, as in the event `recovery_escalated`. */
  reason: string
  /** What the failed check showed. */
  evidence: string
}

const whoProposes = ({ source }: RecoveryProposal): string =>
  source === 'diagnosis' ? 'Unstuck' : source === 'playbook' ? 'your playbook' : 'its agent'

const begin: Record<ProposalQuestionKind, (command: string, who: string) => string> = {
  recovery_approval_required: (command, who) => `${who} proposes to run \`${command}\``,
  recovery_failed: (command) => `the proposed \`${command}\` did not help`,
  recovery_unknown_outcome: (command) =>
    `the engine ended while the proposed \`${command}\` ran, so its outcome is unknown`,
  invalid_proposal: () => `the proposal of the agent is not valid and did not run`,
}

export const proposalQuestion = (
  proposal: RecoveryProposal,
  task: Task,
  { kind, reason, evidence, proposed, place }: ProposalAsked,
): PersonQuestion => {
  const about = `${taskName(task)} cannot be checked: ${evidence.split(/\n|; /)[0]?.slice(0, 300) ?? ''}`
  const happened = `${about}; ${begin[kind](proposed?.command ?? '', whoProposes(proposal))} (${reason}).`
  const body = proposal.body as Proposal | null
  return {
    ...{ kind, happened, tried: [], question: happened },
    details: [
      ...(body === null || proposed === undefined ? [] : detailsOf(proposal, body, { proposed, place })),
      ...(proposal.problem === null ? [] : [proposal.problem.problem]),
      `The decisions: unstuck explain ${task.id}`,
    ].join('\n'),
    choices: proposalChoices(proposal, task, { proposed, place }),
  }
}
