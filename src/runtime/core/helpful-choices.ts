/** The choices that a question offers for a failure. A choice that cannot change the outcome is not offered. */
import type { Choice } from '../../domain/escalation.ts'
import { isInfra } from '../../recovery/diagnosis/labels.ts'
import { leftRunningLabel } from '../../recovery/left-running.ts'
import type { AnyFacts, Diagnosis, DiagnosisLabel } from '../../recovery/types.ts'
import { whyTooWide } from '../../config/wide-folder.ts'
import {
  allowCommandChoice,
  allowDirectoryChoice,
  cancelChoice,
  changeCheckChoice,
  commitFixChoice,
  copyFilesChoice,
  hintChoice,
  resumeChoice,
  retryChoice,
  retryWithModelChoice,
  runFiltersChoice,
  takeOverChoice,
  widenChoice,
} from './choices.ts'
import { splitGrantable } from './grantable-paths.ts'
import type { RunContext } from './run-context.ts'

/** The command itself is wrong, so it fails again whatever the agent does: a hint would not help. */
const wrongCommands = new Set<DiagnosisLabel>([
  'missing_script',
  'no_test_files',
  'missing_make_target',
  'unsupported_format',
  'invalid_usage',
  'command_not_found',
])

/** Causes outside the work (an outage, this machine, the owner's settings). Once the person has done this, a retry is enough. */
const outsideCauses = new Map<DiagnosisLabel, string>([
  ['workspace_setup_failed', 'correct workspace.setup in .unstuck/config.json, or the program that it runs'],
  ['workspace_copy_failed', 'correct workspace.copy in .unstuck/config.json, or the files'],
  [leftRunningLabel, 'end these processes'],
  ['prepare', 'remove the cause that prevents the workspace from being prepared'],
  ['remote_unreachable', 'make the git remote reachable'],
  ['push_refused', 'read why the git remote refused the push, and correct that'],
  ['launch_refused', 'correct the settings of the harness in .unstuck/config.json'],
  ['provider_overloaded', 'wait until the provider responds'],
  ['network_transient', 'check the network'],
  ['stream_cut', 'check the network'],
  ['temporary_failure', 'wait until the provider responds'],
  ['llm_quota', 'wait for the limit to reset, or raise it'],
])

const agentHelp = ({ task, run }: RunContext): Choice[] => [
  hintChoice(task.id),
  ...(run.launches.length === 0 ? [] : [takeOverChoice(task.id, run.id)]),
]

const permissionHelp = (runContext: RunContext, { label, facts }: Diagnosis): Choice[] => {
  const { task, goal, driver, context } = runContext
  const { refused, directory, allowedBy }: AnyFacts = facts
  if (label === 'TOOL_DENIED' && refused !== undefined) {
    const rules = driver.grantRules?.(refused) ?? []
    const grant = { harness: runContext.run.harness, rule: rules.join('\n') }
    const named = refused.target ?? refused.tool
    return [...(rules.length === 0 ? [] : [allowCommandChoice(task.id, named, grant)]), ...agentHelp(runContext)]
  }
  if (label === 'SANDBOX_ERROR' || label === 'DIR_SCOPE_ERROR') {
    const isNew = directory !== undefined && allowedBy === undefined
    const isGrantable = isNew && whyTooWide(context.ports.files, directory) === undefined
    return [...(isGrantable ? [allowDirectoryChoice(task.id, directory)] : []), ...agentHelp(runContext)]
  }
  return label === 'DANGEROUS_COMMAND' ? agentHelp(runContext) : [resumeChoice(goal.id)]
}

const checkHelp = (runContext: RunContext, diagnosis: Diagnosis): Choice[] => {
  const { task, goal } = runContext
  const { command = '', source = '', machine, redOnBase, cannotRun, copyable = [] }: AnyFacts = diagnosis.facts
  const change = changeCheckChoice(task.id, { check: command, source })
  const fix = commitFixChoice(task.id, goal.targetBranch)
  if (copyable.length > 0) return [copyFilesChoice(task.id, copyable), change, fix]
  if (machine === undefined && diagnosis.label === 'command_not_found')
    return [retryChoice(task.id, 'install the program, or put it on the PATH of the engine'), change, fix]
  if (machine === undefined && (cannotRun === true || wrongCommands.has(diagnosis.label))) return [change, fix]
  if (machine !== undefined || isInfra(diagnosis.label))
    return [retryChoice(task.id, 'correct that on this machine'), change, fix]
  // Offered for inferred checks too: the person's command then replaces the inferred one.
  return [...agentHelp(runContext), change, ...(redOnBase === true ? [fix] : [])]
}

const providerHelp = (runContext: RunContext, label: DiagnosisLabel): Choice[] | undefined => {
  const { task } = runContext
  if (label === 'context_overflow') return [retryWithModelChoice(task.id), ...agentHelp(runContext)]
  if (label === 'auth_failure') return [retryChoice(task.id, 'log in')]
  return label === 'model_missing' ? [retryWithModelChoice(task.id)] : undefined
}

const budgetRetry = ({ task }: RunContext): Choice => ({
  ...retryChoice(task.id),
  effect: 'The spend of the goal is counted from zero, and the task is retried.',
  command: `unstuck answer ${task.id} retry`,
})

/** By label: choices that come before the general ones (a hint, take over). */
const specificHelp: Partial<Record<DiagnosisLabel, (runContext: RunContext, facts: AnyFacts) => Choice[]>> = {
  policy_violation: ({ task, context }, { paths = [], filters }) => {
    if (filters !== undefined) {
      const known = filters.every((name) => context.shadow.drivers.some((driver) => driver.name === name))
      return known
        ? [runFiltersChoice(task.id, filters)]
        : [retryChoice(task.id, `set up the filter ${filters.join(', ')} in git, and start the engine again`)]
    }
    const { grantable } = splitGrantable(paths, context, task.deniedPaths)
    return grantable.length === 0 ? [] : [widenChoice(task.id, grantable)]
  },
  budget: (runContext) => [budgetRetry(runContext)],
  git_conflict: ({ task }) => [retryChoice(task.id)],
  loop_limit: ({ task }) => [retryChoice(task.id)],
  red_before: ({ task, goal }) => [commitFixChoice(task.id, goal.targetBranch)],
  not_verified: ({ task }) => [
    changeCheckChoice(task.id, { check: task.commands[0] ?? '', source: task.commandSource }),
  ],
}

const helpOf = (runContext: RunContext, diagnosis: Diagnosis, isBlocker: boolean): Choice[] => {
  const { label, facts } = diagnosis
  const { command }: AnyFacts = facts
  if (isBlocker) return permissionHelp(runContext, diagnosis)
  if (command !== undefined) return checkHelp(runContext, diagnosis)
  const provider = providerHelp(runContext, label)
  if (provider !== undefined) return provider
  const first = outsideCauses.get(label)
  if (first !== undefined) return [retryChoice(runContext.task.id, first)]
  return [...(specificHelp[label]?.(runContext, facts) ?? []), ...agentHelp(runContext)]
}

/** Choices for the question about this failure, the most useful first; `cancel` is always the last. `isBlocker`: the goal pauses. */
export const helpfulChoices = (runContext: RunContext, diagnosis: Diagnosis, isBlocker: boolean): Choice[] => [
  ...helpOf(runContext, diagnosis, isBlocker),
  cancelChoice(runContext.task.id),
]
