/**
 * Rung 3: the agent runs and does not get on. It is ended and started again with a hint, in the same workspace: what it
 * wrote stays. Every restart differs from the one before, in its session or in what it is told.
 */
import type { Stalled } from '../stall.ts'
import type { DiagnosisOf } from '../types.ts'
import { transientDelayMs } from './provider.ts'
import { playbook, type Action, type Playbook, type PlaybookFor } from '../playbook.ts'

const namedPaths = 8

const keptText = (changed: readonly string[] | undefined): string => {
  if (changed === undefined) return 'What was written is kept: look at it first and go on from there.'
  if (changed.length === 0) return 'The workspace holds no change so far.'
  const more = changed.length > namedPaths ? ` and ${changed.length - namedPaths} more` : ''
  return `What was written is kept in the workspace: ${changed.slice(0, namedPaths).join(', ')}${more}. Look at it first and go on from there.`
}

const advice: Record<Stalled, string> = {
  silence: 'Commands that may take long need a time limit of their own.',
  hanging_tool: 'Give that command a time limit of its own, or find another way.',
  stuck_after_tool_result: 'Go on with the next step at once.',
  agent_died: 'Output of a great length can end you: send it to a file and look at its parts.',
  doom_loop: 'Do not make that call again: find out why its answer does not change, and take another way.',
  waiting_for_person:
    'Nobody can answer a question: give every answer beforehand, by options such as --yes or by a file, and never start an interactive program.',
}

/** What changes from one restart to the next beside the session. */
const insistence = (number: number, call: string | undefined): string => {
  if (number === 1) return ''
  const other = call === undefined ? 'Take smaller steps.' : `Do not do this again, find another way: ${call}`
  if (number === 2) return other
  return `${other} This is restart ${number}: do the smallest part that fulfils the task, and end.`
}

const hintOf = ({ label, evidence, facts }: DiagnosisOf<Stalled>, number: number): string =>
  [
    `You were stopped and started again, because ${evidence}.`,
    keptText(facts.changed),
    advice[label],
    insistence(number, facts.call),
    'Finish the task; if everything is done already, say so and end.',
  ]
    .filter((part) => part !== '')
    .join(' ')

const restart = (diagnosis: DiagnosisOf<Stalled>, number: number, resume: boolean): Action => ({
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
  // First in its own session, which knows most; a session that hangs twice is not taken up again.
  plan: (diagnosis, { attempts }) => restart(diagnosis, attempts + 1, attempts === 0),
  postCondition: (action) => ({
    type: 'agent_gets_on',
    tree: action.type === 'relaunch' ? (action.restart?.tree ?? '') : '',
  }),
  counted: true,
} satisfies Partial<PlaybookFor<Stalled>>

const stallRestart = playbook({
  ...stalled,
  id: 'stall-restart',
  title: 'End an agent that stands still and start it again with a hint',
  answers: ['silence', 'stuck_after_tool_result', 'hanging_tool', 'waiting_for_person'],
  needs:
    'two signals for the whole of its clock: no output, and no processor time in the process tree; the CLI did not say that it is retrying',
  budget: 5,
})

/** A session that went in circles would go on in them: it is never taken up again. */
const doomLoopRestart = playbook({
  ...stalled,
  id: 'doom-loop-restart',
  title: 'End an agent that goes in circles and start it afresh with a hint that names the call',
  answers: ['doom_loop'],
  needs:
    'the same call with the same input and the same answer in a row, two or three such calls in turn, or many repeated calls without a change of the work',
  plan: (diagnosis, { attempts }) => restart(diagnosis, attempts + 1, false),
  budget: 2,
})

/** Killed from outside, for want of memory perhaps, crashed, or its output cut off: nothing that a task could be blamed for. */
const deathRestart = playbook({
  ...stalled,
  id: 'death-restart',
  title: 'Start an agent again whose process ended without its last word',
  answers: ['agent_died'],
  needs:
    'a signal that was not ours, or an end without the event that closes the turn; the CLI reported no error, and no rule knows its last words',
  budget: 2,
})

/** An agent that says that it is done and did nothing. Whether nothing had to be done was looked at before. */
const noChangeRestart = playbook({
  id: 'no-change-restart',
  rung: 3,
  scope: 'launch',
  title: 'Ask an agent that ended without any change to do the work',
  answers: ['no_changes'],
  needs:
    'a turn that ended well without a change, in a task of which no check that was asked for shows that nothing had to be done',
  example: { tree: '<tree>' },
  plan: ({ label, evidence, facts }, { attempts }) => ({
    type: 'relaunch',
    name: 'RESTART_WITH_HINT',
    restart: { because: label, number: attempts + 1, tree: facts.tree },
    resume: true,
    hint: `You ended your turn, but nothing shows that the task is done: ${evidence}. A plan or a question will not be read: write the changes into the files of the workspace now, and end when the task is done. If there is truly nothing to change, say why and end.`,
  }),
  postCondition: () => ({ type: 'work_appears' }),
  budget: 1,
  counted: true,
})

/** The session to resume is gone or held by another process: the task is given again, in a session of its own. */
const sessionReplay = playbook({
  id: 'session-replay',
  rung: 3,
  scope: 'launch',
  title: 'Start in a fresh session when the one to resume cannot be taken up',
  answers: ['session_lost'],
  needs: "the CLI's own error that it does not find the session, or that the session is in use",
  plan: (diagnosis, { attempts }) => ({
    type: 'relaunch',
    name: 'RESTART_WITH_HINT',
    restart: { because: diagnosis.label, number: attempts + 1, tree: '' },
    resume: false,
    hint: `Your earlier session could not be taken up again${attempts === 0 ? '' : `, for the ${attempts + 1}. time`}. What it wrote is in the workspace: look at it first and go on from there.`,
  }),
  postCondition: () => ({ type: 'session_opens', fresh: true }),
  budget: 2,
  counted: true,
})

/** What the error means is not known. One that comes once costs a launch, and one that stays is a person's. */
const unknownRestart = playbook({
  id: 'unknown-restart',
  rung: 3,
  scope: 'launch',
  title: 'Start an agent again, on the work that is there, after an error that no rule knows',
  answers: ['unknown'],
  needs: 'an error of the CLI, or a failing exit status, that no rule names; for the first time in the task',
  plan: ({ label, evidence }) => ({
    type: 'relaunch',
    name: 'RESTART_WITH_HINT',
    restart: { because: label, number: 1, tree: '' },
    resume: true,
    hint: `You ended with an error before the task was done: ${evidence}. ${keptText(undefined)} If the same error comes again, take another way.`,
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
    'Wait, then run the task again from the work that is there, after an unknown error that a restart did not cure',
  answers: ['unknown'],
  needs: 'the same, after the restart',
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
  deathRestart,
  noChangeRestart,
]
