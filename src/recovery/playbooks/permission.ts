/** Rung 1: the harness refuses to start or refuses a path. A correction adds a directory or one flag, never a bypass mode. */
import type { Playbook } from '../playbook.ts'

const maxPerIssue = 3

export const gitTrustRelaunch: Playbook = {
  id: 'git-trust-relaunch',
  rung: 1,
  scope: 'launch',
  title: 'Relaunch Codex with its repository check switched off',
  answers: ['GIT_TRUST_ERROR', 'GIT_CHECK_ERROR'],
  needs: 'Codex ended without a session and its own stderr names the trust check',
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
}

export const directoryScopeRelaunch: Playbook = {
  id: 'directory-scope-relaunch',
  rung: 1,
  scope: 'launch',
  title: 'Relaunch with the refused directory added, resuming the session',
  answers: ['SANDBOX_ERROR', 'DIR_SCOPE_ERROR'],
  needs:
    'a denial told to the model whose existing directory lies inside the allowed directories, in a turn that failed verification or changed nothing',
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
}
