/** What `unstuck exec` does and why, in sentences for people. Events keep the names of the actions. */
import type { Action } from '../recovery/playbook.ts'

const doings: Record<string, string> = {
  RELAUNCH_WITH_SKIP_GIT_CHECK: 'Starting it again with --skip-git-repo-check',
  RELAUNCH_WITH_ADD_DIR: 'Starting it again with the allowed directory',
  RELAUNCH_WITH_TOOL_RULE: 'Starting it again with a rule for edits in this folder',
  RELAUNCH_WITH_CHMOD: 'Making the folder writable and restarting it',
  RELAUNCH_WITH_FRESH_SESSION: 'Starting it again in a new session',
  RELAUNCH_WITH_RENEWED_LOGIN: 'Starting it again with the renewed login',
  RESTART_WITH_HINT: 'Starting it again with a hint',
  WAIT_AND_REQUEUE: 'Waiting for the provider',
  WAIT_FOR_QUOTA: 'Waiting for the limit to reset',
}

/** `action_taken` of a recovery event as the beginning of a sentence. */
export const actionSentence = (name: string): string => doings[name] ?? 'Starting it again'

const detailOf = (action: Action): string => {
  if (action.type !== 'relaunch') return ''
  if (action.addDir !== undefined) return ` ${action.addDir}`
  if (action.chmod !== undefined)
    return ` (${action.chmod.directory}, mode ${action.chmod.oldMode} to ${action.chmod.newMode})`
  return ''
}

/** Why the agent is launched again. */
export const relaunchReason = (harness: string, evidence: string, action: Action): string =>
  `${harness} did not finish ("${evidence}"). ${actionSentence(action.name)}${detailOf(action)}.`
