/**
 * Rungs 0 and 1: a required folder cannot be used, or the harness refuses to start or refuses a path. A correction adds the
 * owner's permission bits to one folder, one directory, a rule for one tool, or one flag. It never switches on a bypass mode:
 * only the owner may do that.
 */
import { playbook, type Playbook } from '../playbook.ts'

const maxPerIssue = 3

const gitTrustRelaunch = playbook({
  id: 'git-trust-relaunch',
  rung: 1,
  scope: 'launch',
  title: "Relaunch with the CLI's check of trust or of the repository switched off",
  labels: ['GIT_TRUST_ERROR', 'GIT_CHECK_ERROR'],
  neededEvidence: 'the CLI exited before it opened a session, and its own stderr names the check',
  plan: () => ({
    type: 'relaunch',
    name: 'RELAUNCH_WITH_SKIP_GIT_CHECK',
    skipGitCheck: true,
    // The CLI refused before it opened a session, so there is nothing to resume: the prompt is replayed.
    resume: false,
    hint: '',
  }),
  postCondition: () => ({ type: 'session_opens' }),
  budget: maxPerIssue,
  counted: true,
})

const directoryScopeRelaunch = playbook({
  id: 'directory-scope-relaunch',
  rung: 1,
  scope: 'launch',
  title: 'Relaunch with the refused directory added, and resume the session',
  labels: ['SANDBOX_ERROR', 'DIR_SCOPE_ERROR'],
  neededEvidence:
    'a refused path (reported to the model, or fatal for the CLI): either its existing directory lies inside the allowed directories, or the refusal names no path and some allowed directory was not passed to the CLI yet. Whether the turn changed something or its checks pass does not matter',
  example: { directory: '<directory>', allowedBy: '<allowed directory>' },
  plan: ({ facts }) =>
    facts.directory === undefined || facts.allowedBy === undefined
      ? undefined
      : {
          type: 'relaunch',
          name: 'RELAUNCH_WITH_ADD_DIR',
          addDir: facts.directory,
          resume: true,
          hint: `Access to ${facts.directory} was refused before. It is granted now. Continue and finish the task.`,
        },
  postCondition: (action) => ({
    type: 'directory_usable',
    directory: action.type === 'relaunch' ? (action.addDir ?? '') : '',
  }),
  budget: maxPerIssue,
  counted: true,
})

const toolRuleRelaunch = playbook({
  id: 'tool-rule-relaunch',
  rung: 1,
  scope: 'launch',
  title: 'Relaunch with a rule that allows the refused tool call, and resume the session',
  labels: ['TOOL_DENIED'],
  neededEvidence:
    'a refused tool call that consists only of commands of the task, or a refused edit inside the workspace; the CLI has rules for single tools, and the turn failed verification or changed nothing',
  example: { toolRules: ['<rule>'] },
  plan: ({ facts: { toolRules } }) =>
    toolRules === undefined
      ? undefined
      : {
          type: 'relaunch',
          name: 'RELAUNCH_WITH_TOOL_RULE',
          toolRules,
          resume: true,
          hint: `A tool call was refused before. This is allowed now: ${toolRules.join(', ')}. Continue and finish the task.`,
        },
  postCondition: (action) => ({
    type: 'tool_allowed',
    toolRules: action.type === 'relaunch' ? (action.toolRules ?? []) : [],
  }),
  budget: maxPerIssue,
  counted: true,
})

const exampleChange = { directory: '<directory>', oldMode: '<old mode>', newMode: '<new mode>' }

/** This playbook applies before the launch, the next one to a refusal during a launch. Both have the same label. */
const ownerBits = playbook({
  id: 'owner-bits',
  rung: 0,
  scope: 'run',
  title: "Add the owner's missing permission bits to a folder that the run needs",
  labels: ['FS_PERM_ERROR'],
  neededEvidence:
    "before the launch: the run's workspace, the repository or the state folder cannot be used, belongs to the user of Unstuck and lacks permission bits of its owner",
  example: { chmod: exampleChange },
  plan: ({ rung, facts: { chmod } }) =>
    rung === 0 && chmod !== undefined ? { type: 'chmod', name: 'CHMOD', ...chmod } : undefined,
  postCondition: (action) => ({
    type: 'directory_accessible',
    directory: action.type === 'chmod' ? action.directory : '',
  }),
  budget: maxPerIssue,
  counted: true,
})

const ownerBitsRelaunch = playbook({
  id: 'owner-bits-relaunch',
  rung: 1,
  scope: 'launch',
  title: "Add the owner's missing permission bits to the folder that the system refused, and resume the session",
  labels: ['FS_PERM_ERROR'],
  neededEvidence:
    'a path that the operating system refused (reported to the model, or fatal for the CLI), below a folder inside the workspace or the allowed directories that belongs to the user of Unstuck and lacks permission bits of its owner. Whether the turn changed something or its checks pass does not matter',
  example: { chmod: exampleChange },
  plan: ({ rung, facts: { chmod } }) =>
    rung === 1 && chmod !== undefined
      ? {
          type: 'relaunch',
          name: 'RELAUNCH_WITH_CHMOD',
          chmod,
          resume: true,
          hint: `${chmod.directory} could not be used before. It can be read and written now. Continue and finish the task.`,
        }
      : undefined,
  postCondition: (action) => ({
    type: 'directory_accessible',
    directory: action.type === 'relaunch' ? (action.chmod?.directory ?? '') : '',
    relaunch: true,
  }),
  budget: maxPerIssue,
  counted: true,
})

export const permissionPlaybooks: readonly Playbook[] = [
  ownerBits,
  gitTrustRelaunch,
  directoryScopeRelaunch,
  toolRuleRelaunch,
  ownerBitsRelaunch,
]
