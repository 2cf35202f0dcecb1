/**
 * Rungs 4 and 5: the work itself is at fault, and what was seen goes back to the agent. Only a strictly smaller set of
 * failures is progress; what was told once without effect is not told again in the same way.
 */
import type { DiagnosisOf } from '../types.ts'
import { playbook, type Playbook, type PlaybookFor } from '../playbook.ts'

/** Every label that a failed check can have: its facts say whether the work is to blame. */
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
  'port_in_use',
  'permission_denied',
  'out_of_memory',
  'resource_limit',
  'service_unavailable',
] as const

type CheckLabel = (typeof checkLabels)[number]

const demand =
  'Mend the work so that the command passes. Do not weaken, skip or delete a test for it. End when it passes.'

const feedback = {
  rung: 4,
  answers: checkLabels,
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

const toldOf = ({ facts }: DiagnosisOf<CheckLabel>) =>
  facts.feedback === undefined ? undefined : { command: facts.feedback.command, failing: facts.feedback.failing }

const checkFeedback = playbook({
  ...feedback,
  id: 'check-feedback',
  scope: 'launch',
  title: 'Tell the agent what fails, in its session, and check its work again',
  needs:
    'a check that fails by the work: it passes on the base commit, or it judged the code; nothing of the machine is at fault; not told before without effect',
  plan: (diagnosis) => {
    const told = toldOf(diagnosis)
    return told === undefined
      ? undefined
      : {
          ...{ type: 'relaunch', name: 'RELAUNCH_WITH_FEEDBACK', feedback: told, resume: true },
          hint: `${diagnosis.facts.feedback?.text ?? ''}\n${demand}`,
        }
  },
  budget: 3,
})

const freshFeedback = playbook({
  ...feedback,
  id: 'fresh-feedback',
  scope: 'launch',
  title: 'Begin a new session on the work so far, told what still fails and that mending it failed before',
  needs: 'the same, and the rounds in the session did not mend it',
  plan: (diagnosis) => {
    const told = toldOf(diagnosis)
    return told === undefined
      ? undefined
      : {
          ...{ type: 'relaunch', name: 'RESTART_WITH_FEEDBACK', feedback: told, fresh: true, resume: false },
          hint: `An earlier session worked on this task and did not get it right, although it was told what fails. Look at the failure first, find its cause and take another way than the one that is there.\n${diagnosis.facts.feedback?.text ?? ''}\n${demand}`,
        }
  },
  budget: 1,
})

const otherHarness = playbook({
  ...feedback,
  id: 'feedback-elsewhere',
  scope: 'task',
  title: 'Go on with the next configured harness, which is told what still fails',
  needs:
    'the same, a new session did not mend it either, and `harness.failover` names a harness that did not work on this task yet',
  plan: (diagnosis) => {
    const told = toldOf(diagnosis)
    const harness = diagnosis.facts.otherHarness
    return told === undefined || harness === undefined
      ? undefined
      : { type: 'switch_harness', name: 'SWITCH_HARNESS', harness, feedback: told }
  },
  budget: 3,
})

/** The paths are named; whether they may be changed is not the agent's to decide. */
const policyFeedback = playbook({
  id: 'policy-feedback',
  rung: 5,
  scope: 'launch',
  title: 'Tell the agent which of its changes lie outside of its task, and look again',
  answers: ['policy_violation'],
  needs: 'a changed path that the task may not change, for the first time in the task',
  example: { paths: [] },
  plan: ({ facts, evidence }) => ({
    ...{ type: 'relaunch', name: 'RELAUNCH_WITH_FEEDBACK', resume: true },
    feedback: { command: 'the paths of the task', failing: facts.paths },
    hint: `Your work is not accepted: ${evidence}. Take these changes back (restore the file, or remove it if it is new; where a line is named, that line) and keep the rest of the work. If the task cannot be done without them, take them back nonetheless and say why in your last words.`,
  }),
  postCondition: (action) => ({
    type: 'paths_allowed',
    paths: action.type === 'relaunch' ? (action.feedback?.failing ?? []) : [],
  }),
  budget: 1,
  counted: true,
})

const testsFeedback = playbook({
  id: 'tests-feedback',
  rung: 4,
  scope: 'launch',
  title: 'Tell the agent to bring back the failing tests that it took away, and to mend the code instead',
  answers: ['tests_removed'],
  needs:
    'a test that failed on the base commit or in an earlier round, or that fails with the work once it is back, and that the work deleted or skipped in a file which the task does not name; for the first time in the task',
  example: { tests: [] },
  plan: ({ facts, evidence }) => ({
    ...{ type: 'relaunch', name: 'RELAUNCH_WITH_FEEDBACK', resume: true },
    feedback: { command: 'the tests of the base commit', failing: facts.tests },
    hint: `Your work is not accepted: ${evidence}. Bring these tests back as they were, and mend the code so that they pass. If a test is wrong, bring it back nonetheless and say why in your last words: a person decides that.`,
  }),
  postCondition: () => ({ type: 'tests_kept' }),
  budget: 1,
  counted: true,
})

/** Once: what stays after that, a person is asked about. */
const weakenedFeedback = playbook({
  id: 'weakened-feedback',
  rung: 4,
  scope: 'launch',
  title: 'Tell the agent which checks and tests it weakened, and look again',
  answers: ['checks_weakened'],
  needs:
    'every check passes, and the work changed what a check is or weakened a test in a file that the task does not name; for the first time in the task',
  example: { weakened: [] },
  plan: ({ facts, evidence }) => ({
    ...{ type: 'relaunch', name: 'RELAUNCH_WITH_FEEDBACK', resume: true },
    feedback: { command: 'the checks of the base commit', failing: facts.weakened },
    hint: `Your work is not accepted yet: ${evidence}. Take this back as it was before, keep the rest of the work, and see that the checks pass by it. If the task cannot be done without this change, leave it and say why in your last words: a person decides that.`,
  }),
  postCondition: () => ({ type: 'checks_kept' }),
  budget: 1,
  counted: true,
})

export const feedbackPlaybooks: readonly Playbook[] = [
  testsFeedback,
  weakenedFeedback,
  checkFeedback,
  freshFeedback,
  otherHarness,
  policyFeedback,
]
