/**
 * Rung 5: the work changes paths outside its task. What needs no agent comes first: leave out what is generated, allow what the
 * rules allow, let a model decide about the rest. A denied path and a secret are never allowed and never left out silently.
 */
import { playbook, type Playbook, type PlaybookFor } from '../playbook.ts'

const policy = {
  rung: 5,
  scope: 'run',
  labels: ['policy_violation'],
  budget: 5,
  counted: true,
} satisfies Partial<PlaybookFor<'policy_violation'>>

const excludedPaths: Playbook['postCondition'] = (action) => ({
  type: 'paths_allowed',
  paths: action.type === 'exclude_paths' ? action.excluded.map(({ path }) => path) : [],
})

const excludePaths = playbook({
  ...policy,
  id: 'policy-exclude',
  title:
    'Leave out what is generated or ignored, and files outside the task that make a check fail, then check the work again',
  neededEvidence:
    'a new file that the base commit does not contain, and that its ignore files, `policyRecovery.generatedPaths` or a learned path cover; or a path outside the task with which a check fails and without which it passes',
  example: { paths: [], exclude: [{ path: '<path>', because: '<rule>' }] },
  plan: ({ facts: { exclude = [] } }) =>
    exclude.length === 0 ? undefined : { type: 'exclude_paths', name: 'EXCLUDE_PATHS', excluded: exclude },
  postCondition: excludedPaths,
})

const allowByRule = playbook({
  ...policy,
  id: 'policy-allow',
  title: 'Allow the paths that the rules of the policy mode allow, for this task',
  neededEvidence:
    "a path that no rule denies, that holds no secret, that no other task works on, and that a rule of the mode allows: a context file, a build file of the task's commands, an infrastructure file",
  example: { paths: [], allow: [{ path: '<path>', rule: '<rule>', because: '<reason>' }] },
  plan: ({ facts: { allow = [] } }) =>
    allow.length === 0 ? undefined : { type: 'allow_paths', name: 'ALLOW_PATHS', allowed: allow },
  postCondition: (action) => ({
    type: 'paths_allowed',
    paths: action.type === 'allow_paths' ? action.allowed.map(({ path }) => path) : [],
  }),
})

const askModel = playbook({
  ...policy,
  id: 'policy-ask',
  title: 'Let a model decide in a read-only session whether each path is allowed, left out or refused',
  neededEvidence:
    'a path outside the task that no rule decides; `policyRecovery.useLlm` is on, the role is not docs, and the harness can answer a question without changing files',
  example: { paths: [], ask: ['<path>'] },
  plan: ({ facts: { ask = [] } }, { attempts }) =>
    ask.length === 0 ? undefined : { type: 'ask_paths', name: 'ASK_ABOUT_PATHS', paths: ask, attempt: attempts + 1 },
  postCondition: (action) => ({ type: 'paths_allowed', paths: action.type === 'ask_paths' ? action.paths : [] }),
})

const discardGenerated = playbook({
  ...policy,
  id: 'policy-discard',
  title: 'Leave out files that look generated, if the checks make them again without the agent, and learn their paths',
  neededEvidence:
    'a new file that the base commit does not contain and whose name or folder looks generated; it counts only if a check makes it again in a clean clone',
  example: { paths: [], discard: [{ path: '<path>', because: '<reason>', unproven: true }] },
  plan: ({ facts: { discard = [] } }) =>
    discard.length === 0 ? undefined : { type: 'exclude_paths', name: 'DISCARD_GENERATED', excluded: discard },
  postCondition: excludedPaths,
})

/** The feedback names the paths. The agent may not decide that they are allowed. */
const policyFeedback = playbook({
  ...policy,
  id: 'policy-feedback',
  scope: 'launch',
  title: 'Tell the agent which of its changes lie outside its task, and check the paths again',
  neededEvidence:
    'a changed path that the task may not change, for the first time in the task; not a file whose content filter does not run here, which no agent can mend',
  example: { paths: [] },
  plan: ({ facts, evidence }) =>
    facts.filters !== undefined
      ? undefined
      : {
          ...{ type: 'relaunch', name: 'RELAUNCH_WITH_FEEDBACK', resume: true },
          feedback: { command: 'the paths of the task', failing: facts.paths },
          hint: `Your work is not accepted: ${evidence}. Revert these changes (restore the file, or remove it if it is new; where a line is named, only that line) and keep the rest of the work. If the task cannot be done without them, revert them anyway and say why in your final message.`,
        },
  postCondition: (action) => ({
    type: 'paths_allowed',
    paths: action.type === 'relaunch' ? (action.feedback?.failing ?? []) : [],
  }),
  budget: 1,
  counted: true,
})

export const policyPlaybooks: readonly Playbook[] = [
  excludePaths,
  allowByRule,
  // Before the model: a check in a clean clone is cheaper than a question, and proves more.
  discardGenerated,
  askModel,
  policyFeedback,
]
