/**
 * Rungs 4 and 5: the work itself is at fault, and the agent gets the failure as feedback. Only a strictly smaller set of
 * failures counts as progress. Feedback that had no effect is not repeated in the same form.
 */
import type { DiagnosisOf } from '../types.ts'
import { playbook, type Playbook, type PlaybookFor } from '../playbook.ts'

/** Every label of a failed check. Its facts say whether the work is to blame. */
const checkLabels = [
  'check_failed',
  'test_failure',
  'compile_error',
  'lint_error',
  'config_error',
  'runtime_error',
  'timeout',
  'dependency_missing',
  'command_not_found',
  'corrupted_install',
  'dependency_version_conflict',
  'build_artifact_missing',
  'sequence_issue',
  'missing_env_var',
  'terminal_missing',
  'port_in_use',
  'permission_denied',
  'out_of_memory',
  'resource_limit',
  'service_unavailable',
] as const

type CheckLabel = (typeof checkLabels)[number]

const demand =
  'Fix the work so that the command passes. Do not weaken, skip or delete a test for that. End your turn when it passes.'

const feedback = {
  rung: 4,
  labels: checkLabels,
  example: {
    ...{ command: '<command>', remaining: 1, otherHarness: '<harness>' },
    feedback: { command: '<command>', failing: [], text: '' },
  },
  postCondition: (action) => ({
    type: 'fewer_failures',
    ...(('feedback' in action ? action.feedback : undefined) ?? { command: '', failing: [] }),
  }),
  refilled: true,
  counted: true,
} satisfies Partial<PlaybookFor<CheckLabel>>

const feedbackTargetOf = ({ facts }: DiagnosisOf<CheckLabel>) =>
  facts.feedback === undefined ? undefined : { command: facts.feedback.command, failing: facts.feedback.failing }

const checkFeedback = playbook({
  ...feedback,
  id: 'check-feedback',
  scope: 'launch',
  title: 'Send the failure to the agent in its session, and check the work again',
  neededEvidence:
    'a check that fails because of the work (it passes on the base commit, or it judged the code), or that misses what the task asks for; no probe found the machine at fault, and the same feedback was not given before without effect',
  plan: (diagnosis) => {
    const target = feedbackTargetOf(diagnosis)
    return target === undefined
      ? undefined
      : {
          ...{ type: 'relaunch', name: 'RELAUNCH_WITH_FEEDBACK', feedback: target, resume: true },
          hint: `${diagnosis.facts.feedback?.text ?? ''}\n${demand}`,
        }
  },
  budget: 3,
})

const freshFeedback = playbook({
  ...feedback,
  id: 'fresh-feedback',
  scope: 'launch',
  title: 'Start a new session on the work so far, with what still fails and the note that earlier fixes failed',
  neededEvidence:
    'the same as for `check-feedback`, the rounds in the earlier session did not fix the failure, and the failure is not exactly that of the base commit in a check that the task does not name',
  plan: (diagnosis) => {
    const target = feedbackTargetOf(diagnosis)
    return target === undefined || diagnosis.facts.unchanged === true
      ? undefined
      : {
          ...{ type: 'relaunch', name: 'RESTART_WITH_FEEDBACK', feedback: target, fresh: true, resume: false },
          hint: `An earlier session worked on this task and did not fix the failure, although it knew what fails. Study the failure first, find its cause, and take another approach than the existing one.\n${diagnosis.facts.feedback?.text ?? ''}\n${demand}`,
        }
  },
  budget: 1,
})

const otherHarness = playbook({
  ...feedback,
  id: 'feedback-elsewhere',
  scope: 'task',
  title: 'Continue with the next configured harness, with what still fails in the instructions',
  neededEvidence:
    'the same as for `fresh-feedback`, the new session did not fix the failure either, and `harness.failover` names a harness that has not worked on this task yet',
  plan: (diagnosis) => {
    const target = feedbackTargetOf(diagnosis)
    const harness = diagnosis.facts.otherHarness
    return target === undefined || harness === undefined
      ? undefined
      : { type: 'switch_harness', name: 'SWITCH_HARNESS', harness, feedback: target }
  },
  budget: 3,
})

const testsFeedback = playbook({
  id: 'tests-feedback',
  rung: 4,
  scope: 'launch',
  title: 'Tell the agent to restore the failing tests that it removed, and to fix the code instead',
  labels: ['tests_removed'],
  neededEvidence:
    'a test that the work deleted or skipped, in a file that the task does not name, and that failed on the base commit or in an earlier round, or fails when it is restored; for the first time in the task',
  example: { tests: [] },
  plan: ({ facts, evidence }) => ({
    ...{ type: 'relaunch', name: 'RELAUNCH_WITH_FEEDBACK', resume: true },
    feedback: { command: 'the tests of the base commit', failing: facts.tests },
    hint: `Your work is not accepted: ${evidence}. Restore these tests as they were, and fix the code so that they pass. If a test is wrong, restore it anyway and say why in your final message: a person will decide.`,
  }),
  postCondition: () => ({ type: 'tests_kept' }),
  budget: 1,
  counted: true,
})

/** Once: a person is asked about what stays weakened after that. */
const weakenedFeedback = playbook({
  id: 'weakened-feedback',
  rung: 4,
  scope: 'launch',
  title: 'Tell the agent which checks and tests it weakened, and compare them again',
  labels: ['checks_weakened'],
  neededEvidence:
    'every check passes, but the work changed the definition of a check, or weakened a test in a file that the task does not name; for the first time in the task',
  example: { weakened: [] },
  plan: ({ facts, evidence }) => ({
    ...{ type: 'relaunch', name: 'RELAUNCH_WITH_FEEDBACK', resume: true },
    feedback: { command: 'the checks of the base commit', failing: facts.weakened },
    hint: `Your work is not accepted yet: ${evidence}. Revert this change, keep the rest of the work, and make sure that the checks pass. If the task cannot be done without this change, keep the change and say why in your final message: a person will decide.`,
  }),
  postCondition: () => ({ type: 'checks_kept' }),
  budget: 1,
  counted: true,
})

const markersFeedback = playbook({
  id: 'conflict-markers-feedback',
  rung: 4,
  scope: 'launch',
  title: 'Tell the agent in which files it left conflict markers',
  labels: ['conflict_markers_left'],
  neededEvidence: 'the work of a task that solves a conflict still contains conflict markers',
  example: { paths: ['<path>'] },
  plan: ({ facts, evidence }, { attempts }) => ({
    ...{ type: 'relaunch', name: 'RELAUNCH_WITH_FEEDBACK', resume: true },
    // The number makes the second round another action: the agent may have solved some of the files.
    feedback: { command: `conflict markers, round ${attempts + 1}`, failing: facts.paths },
    hint: `Your work is not accepted: ${evidence}. Solve every conflict so that the file does what both sides want, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>. Then run the checks.`,
  }),
  postCondition: (action) => ({
    type: 'markers_gone',
    paths: 'feedback' in action ? [...(action.feedback?.failing ?? [])] : [],
  }),
  budget: 2,
  counted: true,
})

export const feedbackPlaybooks: readonly Playbook[] = [
  testsFeedback,
  weakenedFeedback,
  markersFeedback,
  checkFeedback,
  freshFeedback,
  otherHarness,
]
