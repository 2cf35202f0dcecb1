/**
 * What each label means for the runtime: the stored code, whether the environment or the repository's files have to change, and
 * the first action. A label whose remedy is a change of the code never drops the failed check.
 */

/** The family of playbooks that a diagnosis belongs to: see docs/recovery.md. */
export type Rung = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9

export type Category = 'env' | 'setup' | 'permission' | 'policy' | 'noop' | 'test' | 'flaky' | 'model' | 'model_loop'

/** How the store and the ladder treat a label. */
export interface LabelMeaning<L extends string> {
  rung: Rung
  /** Our own name of the failure, finer than the code; for rung 1 the seed's issue type, e.g. `GIT_TRUST_ERROR`. */
  label: L
  failureCode: string
  category: Category
  /** The same action may pass later without a change. */
  retryable: boolean
}

export type RecoveryKind =
  | 'drop_command'
  | 'reorder'
  | 'reinstall'
  | 'install'
  | 'rebuild'
  | 'retry_later'
  | 'escalate'
  | 'code_fix'
  | 'adjust_paths'
  | 'relaunch'

interface LabelRow {
  code: string
  infra: boolean
  action: RecoveryKind
  /** For people. */
  meaning: string
}

const nextSteps: Record<RecoveryKind, string> = {
  drop_command: 'Remove the command from the checks or correct it; it cannot run as written.',
  reorder: 'Run the build first, then this check.',
  reinstall: 'Install the dependencies again from the lockfile.',
  install: 'Install what is missing, then run the same command again.',
  rebuild: 'Run the build that creates the file, then the same command again.',
  retry_later: 'Run the same command again later.',
  escalate: 'A person has to check this machine or this message.',
  code_fix: 'Change the repository’s files; running the command again will not help.',
  adjust_paths: 'Allow the path if it should change, or revert the change.',
  relaunch: 'Correct the setting and start again.',
}

const row = (code: string, infra: boolean, action: RecoveryKind, meaning: string): LabelRow => ({
  code,
  infra,
  action,
  meaning,
})

const setup = 'setup_or_bootstrap_issue'
const environment = 'environment_issue'
const failed = 'verification_command_failed'

export const labels = {
  missing_script: row(
    'verification_command_missing_script',
    true,
    'drop_command',
    'The script, task or manifest that the command names does not exist.',
  ),
  no_test_files: row(
    'verification_command_no_test_files',
    true,
    'drop_command',
    'The test runner found nothing to run.',
  ),
  missing_make_target: row(
    'verification_command_missing_make_target',
    true,
    'drop_command',
    'The build tool has no such target, or no build file.',
  ),
  unsupported_format: row(
    'verification_command_unsupported_format',
    true,
    'drop_command',
    'The command line needs a shell, and checks are started without one.',
  ),
  invalid_usage: row(
    'verification_command_unsupported_format',
    true,
    'drop_command',
    'The command line itself is wrong: an unknown option or sub-command.',
  ),
  sequence_issue: row(
    'verification_command_sequence_issue',
    true,
    'reorder',
    'The commands of the plan are in the wrong order.',
  ),
  dependency_missing: row(setup, true, 'install', 'A package, module, header, plugin or browser is not installed.'),
  dependency_version_conflict: row(setup, true, 'reinstall', 'Version ranges or the lockfile contradict each other.'),
  corrupted_install: row(setup, true, 'reinstall', 'Something is installed, but damaged.'),
  build_artifact_missing: row(setup, true, 'rebuild', 'The output of an earlier build step is absent.'),
  config_error: row(failed, false, 'code_fix', 'A configuration file is broken or was rejected.'),
  command_not_found: row(setup, true, 'install', 'A program is not on the machine or not on the PATH.'),
  runtime_version: row(setup, true, 'escalate', 'A language runtime or build tool has the wrong version.'),
  permission_denied: row(environment, true, 'escalate', 'The operating system refused access.'),
  auth_failure: row(environment, true, 'escalate', 'Credentials are missing or were refused.'),
  disk_full: row(environment, true, 'escalate', 'No space or quota is left on the disk.'),
  out_of_memory: row(environment, true, 'escalate', 'Memory ran out.'),
  resource_limit: row(
    environment,
    true,
    'escalate',
    'A system limit was reached: open files, processes, watchers or arguments.',
  ),
  port_in_use: row(environment, true, 'relaunch', 'Another program uses the port.'),
  service_unavailable: row(environment, true, 'retry_later', 'A database, daemon or server does not respond.'),
  network_unreachable: row(environment, true, 'retry_later', 'Name resolution, routing, proxy or certificate failed.'),
  network_transient: row(
    'transient_or_flaky_failure',
    true,
    'retry_later',
    'The connection broke, or the remote side failed temporarily.',
  ),
  timeout: row('transient_or_flaky_failure', true, 'retry_later', 'The command timed out.'),
  missing_env_var: row(environment, true, 'escalate', 'A required environment variable is not set.'),
  terminal_missing: row(environment, true, 'escalate', 'The command asks at a terminal, and a check has none.'),
  git_conflict: row(
    'branch_diverged_requires_recreate',
    false,
    'code_fix',
    'Changes overlap and have to be merged by hand.',
  ),
  git_diverged: row('branch_diverged_requires_recreate', true, 'relaunch', 'Local and remote history have diverged.'),
  git_state: row(setup, true, 'relaunch', 'The state of the git repository does not allow the operation.'),
  no_changes: row('no_actionable_changes', true, 'drop_command', 'There is nothing to commit or to propose.'),
  policy_violation: row(
    'policy_violation',
    true,
    'adjust_paths',
    'Files outside the allowed paths changed, or a forbidden command was used.',
  ),
  permission_prompt: row(
    'external_directory_permission_prompt',
    true,
    'relaunch',
    'A coding agent stopped at its own permission check.',
  ),
  llm_quota: row('quota_failure', true, 'retry_later', 'A model provider’s rate limit, quota or credit is used up.'),
  model_doom_loop: row('model_doom_loop', true, 'relaunch', 'The agent repeats itself without progress.'),
  compile_error: row(failed, false, 'code_fix', 'The code does not parse, type-check, compile or link.'),
  lint_error: row(failed, false, 'code_fix', 'A linter or formatter reports a problem.'),
  test_failure: row('test_failure', false, 'code_fix', 'A test or another check of the result fails.'),
  runtime_error: row(failed, false, 'code_fix', 'The program crashed.'),
  unknown: row('model_or_unknown_failure', false, 'escalate', 'The output does not show what is wrong.'),
} as const satisfies Record<string, LabelRow>

export type Label = keyof typeof labels

/**
 * Labels that lead to an action only if a fact confirms them. The output of a check alone is no reason to drop it or to wait,
 * and it says nothing about the agent or its provider.
 */
const claims = [
  'unsupported_format',
  'network_transient',
  'unknown',
  'permission_prompt',
  'llm_quota',
  'model_doom_loop',
  'policy_violation',
  'no_changes',
] as const satisfies readonly Label[]

export type ClaimLabel = (typeof claims)[number]

export const isClaim = (label: Label): label is ClaimLabel => claims.some((claim) => claim === label)

/** Category of a stored code, and whether the same command may pass later without a change. */
export const failureCodes: Record<string, [category: Category, retryable: boolean]> = {
  verification_command_missing_script: ['setup', false],
  verification_command_no_test_files: ['setup', false],
  verification_command_missing_make_target: ['setup', false],
  verification_command_unsupported_format: ['setup', false],
  verification_command_sequence_issue: ['setup', false],
  setup_or_bootstrap_issue: ['setup', true],
  environment_issue: ['env', true],
  quota_failure: ['env', true],
  transient_or_flaky_failure: ['flaky', true],
  timeout: ['flaky', true],
  permission_or_auth_failure: ['permission', false],
  external_directory_permission_prompt: ['permission', false],
  branch_diverged_requires_recreate: ['setup', false],
  no_actionable_changes: ['noop', false],
  policy_violation: ['policy', true],
  model_doom_loop: ['model_loop', true],
  verification_command_failed: ['test', true],
  test_failure: ['test', true],
  model_or_unknown_failure: ['model', true],
}

/** The advice for a person whose command failed in this way. */
export const adviceOf = (action: RecoveryKind): string => nextSteps[action]

/**
 * Whether such a failure of a check teaches something about the machine: neither a command line that is wrong everywhere, nor what the output
 * only claims.
 */
export const isOfMachine = (label: string): boolean =>
  Object.entries(labels).some(
    ([name, { infra, action }]) =>
      name === label && infra && action !== 'drop_command' && !claims.some((claim) => claim === name),
  )

/** Whether the environment has to change, not the repository's files. False for a label of another kind of evidence. */
export const isInfra = (label: string): boolean =>
  Object.entries(labels).some(([name, { infra }]) => name === label && infra)
