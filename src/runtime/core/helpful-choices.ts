/** The choices that a question offers for a failure. A choice that cannot change the outcome is not offered. */
import type { Choice } from '../../domain/escalation.ts'
import { labels } from '../../recovery/diagnosis/labels.ts'
import { leftRunningLabel } from '../../recovery/left-running.ts'
import type { AnyFacts, Diagnosis, DiagnosisLabel } from '../../recovery/types.ts'
import { wideFolder } from '../../wide-folder.ts'
import {
  allowCommand,
  allowDirectory,
  cancel,
  changeCheck,
  commitFix,
  hint,
  resume,
  retry,
  retryWithModel,
  takeOver,
  widen,
} from './choices.ts'
import type { Session } from './session.ts'

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

const agentHelp = ({ task, run }: Session): Choice[] => [
  hint(task.id),
  ...(run.launches.length === 0 ? [] : [takeOver(task.id, run.id)]),
]

const permissionHelp = (session: Session, { label, facts }: Diagnosis): Choice[] => {
  const { task, goal, driver, context } = session
  const { refused, directory, allowedBy }: AnyFacts = facts
  if (label === 'TOOL_DENIED' && refused !== undefined) {
    const rules = driver.grantRules?.(refused) ?? []
    const grant = { harness: session.run.harness, rule: rules.join('\n') }
    const named = refused.target ?? refused.tool
    return [...(rules.length === 0 ? [] : [allowCommand(task.id, named, grant)]), ...agentHelp(session)]
  }
  if (label === 'SANDBOX_ERROR' || label === 'DIR_SCOPE_ERROR') {
    const isNew = directory !== undefined && allowedBy === undefined
    const isGrantable = isNew && wideFolder(context.ports.files, directory) === undefined
    return [...(isGrantable ? [allowDirectory(task.id, directory)] : []), ...agentHelp(session)]
  }
  return label === 'DANGEROUS_COMMAND' ? agentHelp(session) : [resume(goal.id)]
}

const checkHelp = (session: Session, diagnosis: Diagnosis): Choice[] => {
  const { task, goal } = session
  const { command = '', source = '', machine, redOnBase, cannotRun }: AnyFacts = diagnosis.facts
  const change = changeCheck(task.id, { check: command, source })
  const fix = commitFix(task.id, goal.targetBranch)
  if (machine === undefined && (cannotRun === true || wrongCommands.has(diagnosis.label))) return [change, fix]
  const meaning = Object.entries(labels).find(([name]) => name === diagnosis.label)?.[1]
  if (machine !== undefined || meaning?.infra === true)
    return [retry(task.id, 'correct that on this machine'), change, fix]
  // Offered for inferred checks too: the person's command then replaces the inferred one.
  return [...agentHelp(session), change, ...(redOnBase === true ? [fix] : [])]
}

const providerHelp = ({ task }: Session, label: DiagnosisLabel): Choice[] | undefined => {
  if (label === 'auth_failure') return [retry(task.id, 'log in')]
  return label === 'model_missing' ? [retryWithModel(task.id)] : undefined
}

const budgetRetry = ({ task }: Session): Choice => ({
  ...retry(task.id),
  effect: 'The spend of the goal is counted from zero, and the task is retried.',
  command: `unstuck answer ${task.id} retry`,
})

/** By label: choices that come before the general ones (a hint, take over). */
const specificHelp: Partial<Record<DiagnosisLabel, (session: Session, facts: AnyFacts) => Choice[]>> = {
  policy_violation: ({ task }, { paths = [] }) => [widen(task.id, paths)],
  budget: (session) => [budgetRetry(session)],
  git_conflict: ({ task }) => [retry(task.id)],
  red_before: ({ task, goal }) => [commitFix(task.id, goal.targetBranch)],
  not_verified: ({ task }) => [changeCheck(task.id, { check: task.commands[0] ?? '', source: task.commandSource })],
}

const helpOf = (session: Session, diagnosis: Diagnosis, isBlocker: boolean): Choice[] => {
  const { label, facts } = diagnosis
  const { command }: AnyFacts = facts
  if (isBlocker) return permissionHelp(session, diagnosis)
  if (command !== undefined) return checkHelp(session, diagnosis)
  const provider = providerHelp(session, label)
  if (provider !== undefined) return provider
  const first = outsideCauses.get(label)
  if (first !== undefined) return [retry(session.task.id, first)]
  return [...(specificHelp[label]?.(session, facts) ?? []), ...agentHelp(session)]
}

/** Choices for the question about this failure, the most useful first; `cancel` is always the last. `isBlocker`: the goal pauses. */
export const helpfulChoices = (session: Session, diagnosis: Diagnosis, isBlocker: boolean): Choice[] => [
  ...helpOf(session, diagnosis, isBlocker),
  cancel(session.task.id),
]
