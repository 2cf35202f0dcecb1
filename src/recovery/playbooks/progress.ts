/**
 * Rung 3: the agent runs but makes no progress. It is stopped and restarted with a hint in the same workspace, so its files stay.
 * Every restart differs from the previous one, in its session or its hint.
 */
import type { NoProgress } from '../stall.ts'
import type { DiagnosisOf } from '../types.ts'
import { transientDelayMs } from './provider.ts'
import { defined } from '../../domain/defined.ts'
import { playbook, type Action, type Playbook, type PlaybookFor } from '../playbook.ts'

const namedPaths = 8

const keptText = (changed: readonly string[] | undefined): string => {
  if (changed === undefined) return 'What was written is kept: read it first and continue from there.'
  if (changed.length === 0) return 'The workspace holds no changes so far.'
  const more = changed.length > namedPaths ? ` and ${changed.length - namedPaths} more` : ''
  return `What was written is kept in the workspace: ${changed.slice(0, namedPaths).join(', ')}${more}. Read it first and continue from there.`
}

const advice: Record<NoProgress, string> = {
  silence: 'Give commands that may take long a time limit of their own.',
  hanging_tool: 'Give that command a time limit of its own, or find another way.',
  stuck_after_tool_result: 'Continue with the next step at once.',
  agent_died: 'Very long output can crash you: send it to a file and read it in parts.',
  doom_loop: 'Do not make that call again: find out why its result does not change, and take another approach.',
  waiting_for_person:
    'Nobody can answer a question: pass every answer in advance, with options such as --yes or from a file, and never start an interactive program.',
}

/** What changes from one restart to the next, besides the session. */
const insistence = (number: number, call: string | undefined): string => {
  if (number === 1) return ''
  const other = call === undefined ? 'Take smaller steps.' : `Do not do this again, find another way: ${call}`
  if (number === 2) return other
  return `${other} This is restart ${number}: do the smallest part that fulfils the task, and end your turn.`
}

const hintOf = ({ label, evidence, facts }: DiagnosisOf<NoProgress>, number: number): string =>
  [
    `You were stopped and restarted, because ${evidence}.`,
    keptText(facts.changed),
    advice[label],
    insistence(number, facts.call),
    'Finish the task. If everything is done already, say so and end your turn.',
  ]
    .filter((part) => part !== '')
    .join(' ')

const restart = (diagnosis: DiagnosisOf<NoProgress>, number: number, resume: boolean): Action => ({
  type: 'relaunch',
  name: 'RESTART_WITH_HINT',
  restart: { because: diagnosis.label, number, tree: diagnosis.facts.tree },
  resume,
  hint: hintOf(diagnosis, number),
})

const stalled = {
  rung: 3,
  scope: 'launch',
  example: { tree: '<tree>' },
  // The first restart resumes the session, which has the most context. A session that hung twice is not resumed again.
  plan: (diagnosis, { attempts }) => restart(diagnosis, attempts + 1, attempts === 0),
  postCondition: (action) => ({
    type: 'agent_gets_on',
    tree: action.type === 'relaunch' ? (action.restart?.tree ?? '') : '',
  }),
  counted: true,
} satisfies Partial<PlaybookFor<NoProgress>>

/** Where it never gets as far as to read its prompt, a hint changes nothing, and a second try shows that it was no accident. */
const mostSilentStarts = 1

const stallRestart = playbook({
  ...stalled,
  plan: (diagnosis, { attempts }) =>
    diagnosis.facts.started !== undefined && attempts >= mostSilentStarts
      ? undefined
      : restart(diagnosis, attempts + 1, attempts === 0),
  id: 'stall-restart',
  title: 'Stop an agent that hangs, and restart it with a hint',
  labels: ['silence', 'stuck_after_tool_result', 'hanging_tool', 'waiting_for_person'],
  neededEvidence:
    'no output and no processor time in the whole process tree, both for as long as `stall` allows; the CLI did not report that it is retrying. Once only, if it is silent before it opens a session while a program that it started runs',
  budget: 5,
})

/** A resumed session would repeat its loop, so every restart opens a new session. */
const doomLoopRestart = playbook({
  ...stalled,
  id: 'doom-loop-restart',
  title: 'Stop an agent that repeats itself, and restart it in a new session with a hint that names the call',
  labels: ['doom_loop'],
  neededEvidence:
    'the same call with the same input and the same result several times in a row, two or three such calls in turn, or many repeated calls without a change in the workspace',
  plan: (diagnosis, { attempts }) => restart(diagnosis, attempts + 1, false),
  budget: 2,
})

/** The process was killed from outside (out of memory, perhaps), crashed, or its output was cut off. The task is not the cause. */
const deathRestart = playbook({
  ...stalled,
  id: 'death-restart',
  title: 'Restart an agent whose process died in the middle of its turn',
  labels: ['agent_died'],
  neededEvidence:
    'a signal that Unstuck did not send, or an exit without the event that ends a turn; the CLI reported no error, and no rule matches its last lines of output',
  budget: 2,
})

const checksLeft = {
  rung: 3,
  scope: 'run',
  example: { tree: '<tree>', left: '<tree>' },
  postCondition: () => ({ type: 'remaining_checks_pass' }),
  // It costs no call of an agent.
  counted: false,
} satisfies Partial<PlaybookFor<NoProgress>>

const checkOf = (tree: string, held?: true): Action => ({
  ...{ type: 'check_work', name: 'CHECK_LEFT_WORK', tree },
  ...defined({ held }),
})

/** Another restart would change nothing, and how a process was ended says nothing about the work: it can die after the last file. */
const deathCheck = playbook({
  ...checksLeft,
  id: 'death-check',
  title: 'Check what an agent left that was killed once more on the same files',
  labels: ['agent_died'],
  neededEvidence:
    'the same as for `death-restart`, the files are as they were at the death before, and the task has a check',
  example: { tree: '<tree>', left: '<tree>', again: true },
  plan: ({ facts: { left, again } }) => (left === undefined || again === undefined ? undefined : checkOf(left)),
  budget: 3,
})

/** Instead of a question alone: the work may be complete. What fails its checks goes back to the agent with their output. */
const lastCheck = playbook({
  ...checksLeft,
  id: 'last-check',
  title: 'Check what an agent left that fails each time, before a person is asked',
  labels: [
    ...['unknown', 'session_lost', 'agent_died', 'doom_loop'],
    ...['silence', 'stuck_after_tool_result', 'hanging_tool', 'waiting_for_person'],
  ] as const,
  neededEvidence:
    'every restart for this failure was tried, the agent left a change that was not checked yet, and the task has a check',
  plan: ({ facts: { left } }) => (left === undefined ? undefined : checkOf(left, true)),
  budget: 3,
})

/** The agent ended its turn without a change. That the task needed no change has been ruled out before. */
const noChangeRestart = playbook({
  id: 'no-change-restart',
  rung: 3,
  scope: 'launch',
  title: 'Ask an agent that ended without any change to do the work',
  labels: ['no_changes'],
  neededEvidence:
    'a turn that ended normally without a change, and no check of the task shows that nothing had to be done',
  example: { tree: '<tree>' },
  plan: ({ label, evidence, facts }, { attempts }) => ({
    type: 'relaunch',
    name: 'RESTART_WITH_HINT',
    restart: { because: label, number: attempts + 1, tree: facts.tree },
    resume: true,
    hint: `You ended your turn, but nothing shows that the task is done: ${evidence}. Nobody reads a plan or a question: write the changes to the files of the workspace now, and end your turn when the task is done. If there is truly nothing to change, say why and end your turn.`,
  }),
  postCondition: () => ({ type: 'work_appears' }),
  budget: 1,
  counted: true,
})

/** The session to resume is gone or in use by another process, so the task is given again in a new session. */
const sessionReplay = playbook({
  id: 'session-replay',
  rung: 3,
  scope: 'launch',
  title: 'Start a new session when the earlier one cannot be resumed',
  labels: ['session_lost'],
  neededEvidence: "the CLI's own error that the session was not found or is in use",
  plan: (diagnosis, { attempts }) => ({
    type: 'relaunch',
    name: 'RESTART_WITH_HINT',
    restart: { because: diagnosis.label, number: attempts + 1, tree: '' },
    resume: false,
    hint: `Your earlier session could not be resumed${attempts === 0 ? '' : ` (failure ${attempts + 1})`}. What it wrote is in the workspace: read it first and continue from there.`,
  }),
  postCondition: () => ({ type: 'session_opens', fresh: true }),
  budget: 2,
  counted: true,
})

/** No rule names the error. If it does not return, it costs one launch; if it returns, a person is asked. */
const unknownRestart = playbook({
  id: 'unknown-restart',
  rung: 3,
  scope: 'launch',
  title: 'Restart an agent on its work in progress after an error that no rule names',
  labels: ['unknown'],
  neededEvidence: 'an error of the CLI or a failing exit status that no rule names, for the first time in the task',
  plan: ({ label, evidence }) => ({
    type: 'relaunch',
    name: 'RESTART_WITH_HINT',
    restart: { because: label, number: 1, tree: '' },
    resume: true,
    hint: `You ended with an error before the task was done: ${evidence}. ${keptText(undefined)} If the same error returns, take another approach.`,
  }),
  postCondition: () => ({ type: 'agent_gets_on', tree: '' }),
  budget: 1,
  counted: true,
})

const unknownRequeue = playbook({
  id: 'unknown-requeue',
  rung: 3,
  scope: 'task',
  title:
    'Wait, then run the task again from its work in progress, after an unknown error that a restart did not resolve',
  labels: ['unknown'],
  neededEvidence: 'the same as for `unknown-restart`, after that restart',
  plan: (_diagnosis, { attempts, taskId, retry }) => ({
    type: 'wait',
    name: 'WAIT_AND_REQUEUE',
    delayMs: transientDelayMs(retry, attempts, taskId),
    count: attempts + 1,
    limit: 1,
  }),
  postCondition: () => ({ type: 'agent_gets_on', tree: '' }),
  budget: 1,
  counted: true,
})

export const progressPlaybooks: readonly Playbook[] = [
  sessionReplay,
  unknownRestart,
  unknownRequeue,
  stallRestart,
  doomLoopRestart,
  deathCheck,
  deathRestart,
  noChangeRestart,
  // After all that calls the agent once more.
  lastCheck,
]
