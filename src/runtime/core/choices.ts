/** The choices of a question as records: the label of a button, its effect, and the command with the same effect. */
import type { CheckoutChange, CheckoutPlace } from '../../domain/checkout-change.ts'
import type { Choice, ChoiceInput } from '../../domain/escalation.ts'
import type { Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'

/** The task or goal that a question is about. */
type Id = string

const input = (name: ChoiceInput['name'], label: string, more: Partial<ChoiceInput> = {}): ChoiceInput => ({
  ...{ name, label, required: false, suggested: null },
  ...more,
})

const shortened = (text: string, longest = 80): string => {
  const plain = text.replaceAll(/\s+/g, ' ').trim()
  return plain.length > longest ? `${plain.slice(0, longest - 1)}…` : plain
}

/** A task that a question of its goal is about: its choices are answers to the question of the goal. */
export interface OfGoal {
  goal: Id
  /** Paths that the person does not name are left out of the work. */
  leavesOut?: boolean
}

export const widenChoice = (task: Id, paths: string[], ofGoal?: OfGoal): Choice => ({
  ...{ id: 'widen', kind: 'widen', paths, ...(ofGoal === undefined ? {} : { task }) },
  label: `Allow ${shortened(paths.join(', '))} for this task`,
  effect: `The task may also change ${paths.join(', ')} (a grant, which "unstuck grants" lists); it continues from its work and is checked again.${ofGoal?.leavesOut === true ? ' Name only some paths to leave the others out of the work.' : ''}`,
  command: `unstuck answer ${ofGoal?.goal ?? task} widen`,
  input: input('paths', 'Paths, separated by commas', { suggested: paths.join(', ') }),
})

export const leaveOutChoice = (task: Id, paths: string[], { goal }: OfGoal): Choice => ({
  ...{ id: 'leave_out', kind: 'leave_out', paths, task },
  label: `Leave ${shortened(paths.join(', '))} out of the work`,
  effect: `The task continues from its work without ${paths.join(', ')}, and later changes of that are left out too. A snapshot keeps what was changed.`,
  command: `unstuck answer ${goal} leave_out`,
  input: null,
})

export const editChoice = (task: Id): Choice => ({
  ...{ id: 'edit', kind: 'edit', task },
  label: 'Change the instructions',
  effect: 'The task is retried with your instructions instead of its own.',
  command: `unstuck edit ${task} --text "…" --retry`,
  input: input('text', 'The new instructions for the agent', { required: true }),
})

export const allowCommandChoice = (
  task: Id,
  command: string,
  { harness, rule }: { harness: string; rule: string },
): Choice => ({
  ...{ id: 'allow_command', kind: 'allow_command', harness, rule },
  label: `Allow \`${shortened(command)}\` for this goal`,
  effect: `Every agent of this goal that uses ${harness} may run it (${rule.replaceAll('\n', ', ')}), and the task is retried.`,
  command: `unstuck answer ${task} allow_command`,
  input: null,
})

export const allowDirectoryChoice = (task: Id, directory: string): Choice => ({
  ...{ id: 'allow_directory', kind: 'allow_directory', directory },
  label: `Allow ${directory} for this goal`,
  effect: `Agents of this goal may read and change ${directory}, and the task is retried.`,
  command: `unstuck answer ${task} allow_directory`,
  input: null,
})

export const changeCheckChoice = (task: Id, { check, source }: { check: string; source: string }): Choice => ({
  ...{ id: 'change_check', kind: 'change_check', check, source },
  label: 'Use another check',
  effect: `Another command replaces the check \`${shortened(check)}\`, and the task is retried.`,
  command: `unstuck answer ${task} change_check --check "…"`,
  input: input('check', `The command that replaces ${shortened(check)}`, { required: true }),
})

export const copyFilesChoice = (task: Id, paths: string[]): Choice => ({
  ...{ id: 'copy_files', kind: 'copy_files', paths },
  label: `Copy ${shortened(paths.join(', '))} into every workspace`,
  effect: `Adds ${paths.join(', ')} to workspace.copy in .unstuck/config.json, so that agents and checks have it; it never becomes part of the work. The task is retried.`,
  command: `unstuck answer ${task} copy_files`,
  input: null,
})

export const runFiltersChoice = (task: Id, filters: string[]): Choice => ({
  ...{ id: 'run_filters', kind: 'run_filters', filters },
  label: `Let the filter ${filters.join(', ')} run`,
  effect: `Adds ${filters.join(', ')} to workspace.filters in .unstuck/config.json: git stores such files through it, with the program that the repository's git configuration names. The task is retried.`,
  command: `unstuck answer ${task} run_filters`,
  input: null,
})

export const commitFixChoice = (task: Id, branch: string | null): Choice => ({
  ...{ id: 'commit_fix', kind: 'commit_fix' },
  label: 'I have committed a fix',
  effect: `The task is retried on the newest commit of ${branch ?? 'your checkout'}. Commit the fix there first.`,
  command: `unstuck answer ${task} commit_fix`,
  input: null,
})

export const hintChoice = (task: Id, ofGoal?: OfGoal): Choice => ({
  ...{ id: 'hint', kind: 'hint', ...(ofGoal === undefined ? {} : { task }) },
  label: 'Retry with a hint',
  effect: 'The task is retried, and every attempt reads your hint.',
  command: `unstuck retry ${task} --hint "…"`,
  input: input('hint', 'What the agent should know', { required: true }),
})

/** For a question that the agent asked itself. */
export const replyChoice = (task: Id): Choice => ({
  ...{ id: 'reply', kind: 'reply' },
  label: 'Answer the agent',
  effect: 'The agent gets your answer: at once while it waits for it, else when it is started next.',
  command: `unstuck answer ${task} reply --text "…"`,
  input: input('text', 'Your answer to the agent', { required: true }),
})

export const takeOverChoice = (task: Id, runId: string): Choice => ({
  ...{ id: 'take_over', kind: 'take_over', runId },
  label: 'Take over',
  effect: 'You continue in the workspace and session of the agent; "unstuck give-back" collects the result.',
  command: `unstuck take-over ${task}`,
  input: null,
})

/** Reviewed work is not continued here: it is corrected where it comes from. */
export const takeOverChoices = ({ id, review }: Pick<Task, 'id' | 'review'>, runId: string): Choice[] =>
  review === null ? [takeOverChoice(id, runId)] : []

/** What changed in the checkout stays, and counts as the owner's. */
export const keepChoice = (question: Id): Choice => ({
  ...{ id: 'keep', kind: 'keep' },
  label: 'Keep it: it was me',
  effect: 'Nothing changes. Later runs and landings take the checkout as it is; the state before stays held.',
  command: `unstuck answer ${question} keep`,
  input: null,
})

export const keepStartedChoice = (question: Id): Choice => ({
  ...{ id: 'keep', kind: 'keep' },
  label: 'Go on as the work began',
  effect: 'Nothing changes. The same change is not asked about again.',
  command: `unstuck answer ${question} keep`,
  input: null,
})

export const restartChoice = (question: Id): Choice => ({
  ...{ id: 'restart', kind: 'restart' },
  label: 'Start again with the new text',
  effect: 'The goal is cancelled, and the issue as it is now becomes another goal.',
  command: `unstuck answer ${question} restart`,
  input: null,
})

export const landChoice = (command: string): Choice => ({
  ...{ id: 'land', kind: 'land' },
  label: 'Sign and land',
  effect: 'The key is tried again. If it can be used, the commits are signed and land.',
  command,
  input: null,
})

export const landUnsignedChoice = (goal: Id): Choice => ({
  ...{ id: 'land_unsigned', kind: 'land_unsigned' },
  label: 'Land without signatures',
  effect: 'The commits of this goal land as they are. For all goals: git.signCommits in .unstuck/config.json.',
  command: `unstuck answer ${goal} land_unsigned`,
  input: null,
})

export const restoreChoice = (question: Id, place: CheckoutPlace, changes: CheckoutChange[]): Choice => ({
  ...{ id: 'restore', kind: 'restore', place, changes },
  label: 'Restore the state before',
  effect:
    'Everything that the question lists becomes what it was, if nothing of it has changed since. Copies of what is replaced are kept.',
  command: `unstuck answer ${question} restore`,
  input: null,
})

/** With the commit that the question is about, so that nothing else is decided by the command. Work in place has none. */
const ofCommit = ({ commit }: Pick<Run, 'commit'>): string =>
  commit === null ? '' : ` --commit ${commit.slice(0, 12)}`

export const commandToApprove = (task: Id, work: Pick<Run, 'commit'>): string =>
  `unstuck approve ${task}${ofCommit(work)}`

export const approveChoice = (task: Id, work: Pick<Run, 'commit'>): Choice => ({
  ...{ id: 'approve', kind: 'approve' },
  label: 'Approve the work as it is',
  effect: 'The finished work is merged as it is.',
  command: commandToApprove(task, work),
  input: null,
})

export const mergeAgainChoice = (task: Id, work: Pick<Run, 'commit'>): Choice => ({
  ...approveChoice(task, work),
  label: 'Merge it again',
  effect: 'The finished work enters the merge queue again; no agent is started.',
})

export const rejectChoice = (task: Id, work: Pick<Run, 'commit'>): Choice => ({
  ...{ id: 'reject', kind: 'reject' },
  label: 'Reject the work',
  effect: 'The work does not land; it is corrected by what you write, and judged again.',
  command: `unstuck reject ${task}${ofCommit(work)} --note "…"`,
  input: input('note', 'What has to be corrected', { required: true }),
})

export const askAgainChoice = (task: Id): Choice => ({
  ...{ id: 'ask_again', kind: 'ask_again' },
  label: 'Ask the reviewer again',
  effect: 'The reviewer is asked about the same work once more.',
  command: `unstuck answer ${task} ask_again`,
  input: null,
})

/** For a question of kind `budget`: the limit would be reached again at once. */
export const askBeyondLimitChoice = (task: Id): Choice => ({
  ...askAgainChoice(task),
  label: 'Ask the reviewer beyond the limit',
  effect: 'The spend of the goal is counted from zero, and the reviewer is asked about the same work.',
})

/** `after`: what the person does first, because a retry alone would fail in the same way. */
export const retryChoice = (id: Id, after?: string): Choice => ({
  ...{ id: 'retry', kind: 'retry' },
  label: `Retry the ${id.startsWith('g-') ? 'goal' : 'task'}`,
  effect: `It is retried, and its recoveries are counted from zero.${after === undefined ? '' : ` First ${after}.`}`,
  command: `unstuck retry ${id}`,
  input: null,
})

/** For a model that the account may not use: the person names another. */
export const retryWithModelChoice = (task: Id): Choice => ({
  ...retryChoice(task),
  label: 'Use another model',
  effect: 'The task is retried with the model that you name.',
  command: `unstuck answer ${task} retry --model "…"`,
  input: input('model', 'A model that the account may use', { required: true }),
})

export const resumeChoice = (goal: Id): Choice => ({
  ...{ id: 'resume', kind: 'resume' },
  label: 'Resume the goal',
  effect: 'The goal continues, and its blocked tasks are retried.',
  command: `unstuck resume ${goal}`,
  input: null,
})

/** For the plan of a goal that a person looks at. */
export const startPlanChoice = (goal: Id): Choice => ({
  ...resumeChoice(goal),
  id: 'start',
  label: 'Start the plan',
  effect: 'Its tasks begin.',
  command: `unstuck answer ${goal} start`,
})

export const planAgainChoice = (goal: Id): Choice => ({
  ...{ id: 'edit', kind: 'plan_again' },
  label: 'Have it planned again',
  effect: 'The planner reads what you write, and its new plan waits for you. No task of this plan begins.',
  command: `unstuck answer ${goal} edit --text "…"`,
  input: input('text', 'What should be different', { required: true }),
})

const goalOrTask = (id: Id): string => (id.startsWith('g-') ? 'goal' : 'task')

export const cancelChoice = (id: Id): Choice => ({
  ...{ id: 'cancel', kind: 'cancel' },
  label: `Cancel the ${goalOrTask(id)}`,
  effect: `The ${goalOrTask(id)} ends. Its changes are kept as a snapshot.`,
  command: `unstuck cancel ${id}`,
  input: null,
})
