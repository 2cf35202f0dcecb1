/**
 * Rungs 0 and 1: a folder that is needed cannot be used, the harness refuses to start or refuses a path. A correction adds the
 * owner's bits to one folder, a directory, a rule for one tool or one flag, never a bypass mode: that is the owner's to set.
 */
import { playbook, type Playbook } from '../playbook.ts'

const maxPerIssue = 3

const gitTrustRelaunch = playbook({
  id: 'git-trust-relaunch',
  rung: 1,
  scope: 'launch',
  title: 'Relaunch with the check of the repository or of trust switched off',
  answers: ['GIT_TRUST_ERROR', 'GIT_CHECK_ERROR'],
  needs: 'the CLI ended before it opened a session, and its own stderr names the check',
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
  title: 'Relaunch with the refused directory added, resuming the session',
  answers: ['SANDBOX_ERROR', 'DIR_SCOPE_ERROR'],
  needs:
    'a path was refused, to the model or so that the CLI ended, whose existing directory lies inside the allowed directories, or that is not named while an allowed directory was not given yet; whatever else the turn changed, and whether its checks pass',
  example: { directory: '<directory>', allowedBy: '<allowed directory>' },
  plan: ({ facts }) =>
    facts.directory === undefined || facts.allowedBy === undefined
      ? undefined
      : {
          type: 'relaunch',
          name: 'RELAUNCH_WITH_ADD_DIR',
          addDir: facts.directory,
          resume: true,
          hint: `Access to ${facts.directory} was refused before; it is granted now. Continue and finish the task.`,
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
  title: 'Relaunch with a rule for the refused tool call, resuming the session',
  answers: ['TOOL_DENIED'],
  needs:
    'a tool call refused to the model that is made of commands of the task alone, or an edit inside the workspace, for a CLI with rules for single tools, in a turn that failed verification or changed nothing',
  example: { toolRules: ['<rule>'] },
  plan: ({ facts: { toolRules } }) =>
    toolRules === undefined
      ? undefined
      : {
          type: 'relaunch',
          name: 'RELAUNCH_WITH_TOOL_RULE',
          toolRules,
          resume: true,
          hint: `A tool call was refused before; this is allowed now: ${toolRules.join(', ')}. Continue and finish the task.`,
        },
  postCondition: (action) => ({
    type: 'tool_allowed',
    toolRules: action.type === 'relaunch' ? (action.toolRules ?? []) : [],
  }),
  budget: maxPerIssue,
  counted: true,
})

const exampleChange = { directory: '<directory>', oldMode: '<old mode>', newMode: '<new mode>' }

/** One label, two moments: this playbook and the next answer it, each at its own rung. */
const ownerBits = playbook({
  id: 'owner-bits',
  rung: 0,
  scope: 'run',
  title: 'Add the missing bits of the owner to a folder that the run needs',
  answers: ['FS_PERM_ERROR'],
  needs:
    "before the launch: the run's workspace, the repository or the state folder cannot be used, is ours and lacks bits of its owner",
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
  title: 'Add the missing bits of the owner to the folder that the system refused, and resume the session',
  answers: ['FS_PERM_ERROR'],
  needs:
    'the operating system refused a path, to the model or so that the CLI ended, below a folder that is ours and lacks bits of its owner, inside the workspace or the allowed directories; whatever else the turn changed, and whether its checks pass',
  example: { chmod: exampleChange },
  plan: ({ rung, facts: { chmod } }) =>
    rung === 1 && chmod !== undefined
      ? {
          type: 'relaunch',
          name: 'RELAUNCH_WITH_CHMOD',
          chmod,
          resume: true,
          hint: `${chmod.directory} could not be used before; it can be read and written now. Continue and finish the task.`,
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
