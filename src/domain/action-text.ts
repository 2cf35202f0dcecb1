/** What a recovery did, as a person says it: each kind of action in the past tense. Pure. */

/** As it is stored; each kind has fields of its own. */
export type StoredAction = { type: string; name: string } & Record<string, unknown>

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const directoryOf = (value: unknown): string =>
  typeof value === 'object' && value !== null && 'directory' in value ? textOf(value.directory) : ''

const relaunchText = (action: StoredAction): string => {
  const { addDir, toolRules, chmod, feedback, restart, ask, red, skipGitCheck, fresh } = action
  if (addDir !== undefined) return `allowed the folder ${textOf(addDir)}`
  if (Array.isArray(toolRules)) return `allowed ${toolRules.join(', ')}`
  if (chmod !== undefined) return `corrected the mode of ${directoryOf(chmod)}`
  if (action.own !== undefined) return 'gave the agent the hint of your playbook'
  if (feedback !== undefined)
    return fresh === true ? 'gave the failure to a new session of the agent' : 'sent the failure back to the agent'
  if (ask !== undefined) return 'asked the agent for another check'
  if (red !== undefined) return 'sent the tests that already failed before the work to the agent'
  if (restart !== undefined) return 'restarted the agent with a hint'
  if (skipGitCheck === true) return 'restarted the agent without its git check'
  if (fresh === true) return 'restarted the agent in a new session'
  return action.name === 'RELAUNCH_WITH_RENEWED_LOGIN'
    ? 'restarted the agent with the renewed login'
    : 'restarted the agent with a correction'
}

/** The first paths of a list of `{path}`. */
const pathsText = (list: unknown): string => {
  const paths = Array.isArray(list) ? list.map((entry: { path?: unknown }) => textOf(entry.path)) : []
  return paths.length > 3 ? `${paths.slice(0, 3).join(', ')} and ${paths.length - 3} more` : paths.join(', ')
}

const names: Record<string, (action: StoredAction) => string> = {
  relaunch: relaunchText,
  chmod: ({ directory }) => `corrected the mode of ${textOf(directory)}`,
  switch_harness: ({ harness }) => `gave the task to ${textOf(harness)}`,
  drop_command: ({ command }) => `left out the check ${textOf(command)}`,
  replace_command: ({ by }) => `ran ${textOf(by)} instead`,
  reorder: ({ build }) =>
    build === undefined ? 'ran the checks in another order' : `ran ${textOf(build)} before the checks`,
  exclude_paths: ({ excluded }) => `left out ${pathsText(excluded)}`,
  allow_paths: ({ allowed }) => `allowed ${pathsText(allowed)}`,
  ask_paths: () => 'asked a model about the changed paths',
  install: ({ install }) => {
    const { files } = install as { files?: string[] }
    return files === undefined
      ? 'installed the dependencies'
      : `copied ${pathsText(files.map((path) => ({ path })))} from your checkout`
  },
  check_work: () => 'checked what the agent left',
  run_proposed: ({ command }) => `ran the proposed \`${textOf(command)}\``,
  solve_conflict: () => 'had a new task solve the conflict',
  answer_objection: ({ harness }) =>
    harness === undefined
      ? 'had a new task correct the work'
      : `had a new task correct the work with ${textOf(harness)}`,
  run_again: () => 'did the task again on the newer base',
  wait: ({ name }) => (name === 'WAIT_FOR_QUOTA' ? 'waited for the limit to reset' : 'waited and retried'),
}

/** What a recovery does, in the past tense: `restarted the agent with a hint`. An unknown action keeps its stored name. */
export const actionText = (action: StoredAction): string => names[action.type]?.(action) ?? action.name
