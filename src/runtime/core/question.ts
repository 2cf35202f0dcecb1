/**
 * The question that a person gets when no recovery is left: what happened with its evidence, what was tried with its result, and
 * what the person can do. `happened` is one sentence, `question` adds what was tried, `details` adds commands and reasons.
 */
import { taskName, taskNameInside } from '../../domain/task-title.ts'
import type { MachineFault } from '../../domain/machine-fault.ts'
import type { EscalationKind } from '../../domain/escalation.ts'
import { isGivenBack, type TakenOver, type Task } from '../../domain/task.ts'
import { nextReviewLines, subjectText, type TaskReview } from '../../domain/task-review.ts'
import { driverNamed } from '../../harness/drivers.ts'
import { secretRuleFor } from '../../recovery/policy/secrets.ts'
import { leftRunningAdvice, leftRunningLabel } from '../../recovery/left-running.ts'
import type { AnyFacts, Diagnosis, DiagnosisLabel } from '../../recovery/types.ts'
import type { OwnQuestion } from '../../recovery/own/own-playbook.ts'
import type { WhenExhausted } from '../../recovery/playbook.ts'
import type { NewEscalation } from '../../store/escalation.ts'
import { ownChoices, ownQuestionLine, ownQuestionText } from './own-question.ts'
import { cancelChoice, retryChoice, takeOverChoice } from './choices.ts'
import type { Recovery } from '../../store/recovery.ts'
import { helpfulChoices } from './helpful-choices.ts'
import { lackAdvice } from './lack-advice.ts'
import { providerAdvice, providerProblem } from './provider-question.ts'
import type { RunContext } from './run-context.ts'
import { questionWithTried, triedLines } from './tried.ts'

const harnessTitle = (name: string): string => name.slice(0, 1).toUpperCase() + name.slice(1)

export type PersonQuestion = Pick<NewEscalation, 'kind' | 'question' | 'details' | 'happened' | 'tried' | 'choices'>

/** The text of the `blocker` event. Public: users match on it, so it stays exactly as it is. */
export const blockerText = (worker: string, directory: string): string =>
  `Persistent permission error for ${harnessTitle(worker)} on ${directory}. Manual intervention required.`

/** What a person does about a permission problem. `again`: the last step; `allow`: how a directory is allowed; `allowTool`: how the refused tool is. */
export const permissionAdvice = (
  { label, facts }: Diagnosis,
  { again, allow, allowTool }: { again: string; allow: (directory: string) => string; allowTool?: string | undefined },
): string[] => {
  const { directory, allowedBy, chmodFailed }: AnyFacts = facts
  if (label === 'DIRECTORY_MISSING') return [`Restore the directory, then ${again}.`]
  if (chmodFailed !== undefined)
    return ['Chmod failed. Please check directory ownership.', `${chmodFailed}. Fix it, then ${again}.`]
  if (label === 'TOOL_DENIED')
    return [
      allowTool ??
        `A tool or a command was refused, so no directory would help. Allow it in the settings of that CLI or by its arguments, then ${again}.`,
    ]
  return label !== 'FS_PERM_ERROR' && directory !== undefined && allowedBy === undefined
    ? [allow(directory)]
    : [`Fix the permission, then ${again}.`]
}

/** How the owner allows the refused call for every run of this harness; undefined when its CLI has no rule for the call. */
const allowToolText = ({ driver, goal, run }: RunContext, { facts }: Diagnosis): string | undefined => {
  const { refused }: AnyFacts = facts
  const { ruleOption } = driver
  const rules = refused === undefined ? [] : (driver.grantRules?.(refused) ?? [])
  if (ruleOption === undefined || rules.length === 0) return undefined
  const args = rules.flatMap((rule) => [ruleOption, rule]).map((arg) => JSON.stringify(arg))
  return `To allow it for every run: add ${args.join(', ')} to harness.${run.harness}.args in .unstuck/config.json, then unstuck resume ${goal.id}.`
}

const blockerAdvice = (runContext: RunContext, diagnosis: Diagnosis): string[] => {
  const { goal, task } = runContext
  const allowTool = allowToolText(runContext, diagnosis)
  if (diagnosis.label === 'TOOL_DENIED' && allowTool !== undefined)
    return [`To allow it for this goal: unstuck answer ${task.id} allow_command`, allowTool]
  return permissionAdvice(diagnosis, {
    again: `unstuck resume ${goal.id}`,
    allow: (directory) =>
      `To allow it: add "${directory}" to allowedDirs in .unstuck/config.json, then unstuck resume ${goal.id}.`,
  })
}

/** The text of the `blocker` event for this diagnosis. It does not follow the question's wording: see `blockerText`. */
export const blockerEventText = (runContext: RunContext, { label, evidence, facts }: Diagnosis): string => {
  const { directory = runContext.context.repository.root }: AnyFacts = facts
  return label === 'DIRECTORY_MISSING'
    ? `${evidence}. Manual intervention required.`
    : blockerText(runContext.driver.name, directory)
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

/** A probe found the cause on this machine, not in the work. */
export const machineProblemText = (task: Pick<Task, 'number' | 'title'>, machine: string): string =>
  sentence(`${taskName(task)} is held up by this machine: ${machine}`)

const checkText = ({ command = '', failure, cannotRun }: AnyFacts, evidence: string): string => {
  if (cannotRun === true)
    return `the check \`${command}\` ${evidence.split('; ')[0]?.replace(`${command}: `, '') ?? ''}`
  if (failure === undefined) return evidence
  const { tests, cause } = failure
  const more = tests.length > 1 ? ` and ${tests.length - 1} more` : ''
  const named = tests.length === 0 ? '' : ` at "${tests[0]}"${more}`
  return `the check \`${command}\` fails${named}${cause === undefined ? '' : `: ${cause}`}`
}

const refusalText = (agent: string, { label, facts, evidence }: Diagnosis): string => {
  const { refused, directory, allowedBy, chmodFailed }: AnyFacts = facts
  const name = driverNamed(agent) === undefined ? agent : harnessTitle(agent)
  if (label === 'TOOL_DENIED' && refused !== undefined)
    return refused.target === undefined
      ? `${name} was refused the tool ${refused.tool} ("${evidence}")`
      : `${name} was refused a command: \`${refused.target}\``
  if ((label === 'SANDBOX_ERROR' || label === 'DIR_SCOPE_ERROR') && directory !== undefined)
    return `${name} was refused the folder ${directory}${allowedBy === undefined ? ', which is not in allowedDirs' : ''}`
  return chmodFailed === undefined ? evidence : `${evidence}; ${chmodFailed}`
}

const unresponsive = new Set<DiagnosisLabel>([
  'silence',
  'stuck_after_tool_result',
  'hanging_tool',
  'waiting_for_person',
])

/** What stopped an agent whose evidence alone is a fragment (a line of output, a measured silence). */
const agentText = ({ label, evidence }: Diagnosis): string => {
  if (label === 'unknown') return `the agent failed ("${evidence}")`
  if (label === 'red_before') return `the check ${evidence}`
  return unresponsive.has(label) ? `the agent did not respond: ${evidence}` : evidence
}

/** The workspace could not be made ready, so no agent ran. */
const isPreparation = ({ label }: Diagnosis): boolean =>
  label === 'workspace_setup_failed' || label === 'workspace_copy_failed'

/** The iterations of a loop are over, or repeat themselves. */
const isLoopEnd = ({ label }: Diagnosis): boolean => label === 'loop_stuck' || label === 'loop_limit'

/** A secret is refused by its name, whatever the allowed paths are. */
const violationText = (paths: readonly string[]): string => {
  const secrets = paths.filter((path) => secretRuleFor(path) !== undefined)
  const others = paths.filter((path) => !secrets.includes(path))
  const kept = secrets.length === 1 ? 'a secret by its name' : 'secrets by their names'
  return [
    ...(others.length === 0 ? [] : [`changed ${others.join(', ')}, which its allowed paths do not cover`]),
    ...(secrets.length === 0 ? [] : [`wrote ${secrets.join(', ')}, ${kept}; secrets never land`]),
  ].join(', and ')
}

/** The task, and what stopped it, in one sentence. */
const happenedText = (runContext: RunContext, diagnosis: Diagnosis, isBlocker: boolean): string => {
  const { task, run } = runContext
  const { label, evidence, facts } = diagnosis
  const { command, machine, paths, filters }: AnyFacts = facts
  const about = taskName(task)
  if (isBlocker) return `${about} stopped: ${refusalText(run.harness, diagnosis)}`
  if (machine !== undefined) return machineProblemText(task, machine)
  if (filters !== undefined)
    return `${about} changed ${(paths ?? []).join(', ')}; git stores such files through the filter ${filters.join(', ')}, which may not run here, so they would be stored as they are`
  if (label === 'policy_violation') return `${about} ${violationText(paths ?? [])}`
  if (isPreparation(diagnosis)) return `${about} did not start: ${evidence}`
  if (label === leftRunningLabel) return `${about} cannot be checked: ${evidence}`
  const provider = providerProblem(runContext, diagnosis)
  if (provider !== undefined) return `${about} stopped: ${provider}`
  return `${about} stopped: ${command === undefined ? agentText(diagnosis) : checkText(facts, evidence)}`
}

/** The command that helps where the choices alone do not say it. */
const nextStepLines = (runContext: RunContext, diagnosis: Diagnosis, { then, fault }: Exhausted): string[] => {
  const { task, paths } = runContext
  const { machine }: AnyFacts = diagnosis.facts
  const again = `unstuck retry ${task.id}`
  if (then === 'pause_goal') return blockerAdvice(runContext, diagnosis)
  const provider = providerAdvice(runContext, diagnosis)
  if (provider !== undefined) return [provider]
  if (isPreparation(diagnosis))
    return [
      `The output of the set-up: ${paths.root}/setup`,
      `Next step: correct the command, the files or "workspace" in .unstuck/config.json, then ${again}.`,
    ]
  if (diagnosis.label === 'tests_removed')
    return [
      `Next step: ${again} --hint "…". If these tests should be removed, first name their files as allowed paths of the task: unstuck edit ${task.id}.`,
    ]
  if (diagnosis.label === leftRunningLabel) return [`Next step: ${leftRunningAdvice(again)}`]
  const lack = lackAdvice(runContext, diagnosis)
  if (lack !== undefined) return [`Next step: ${lack}.`]
  if (machine === undefined) return []
  if (fault?.probe === 'base')
    return [`Next step: fix this on the machine, then ${again}: the checks run again without a call of the agent.`]
  return fault === undefined || fault.probe === 'other'
    ? [`Next step: fix this on the machine, then ${again}.`]
    : [`Next step: fix this on the machine. The checks then run again without a call of the agent; at once: ${again}.`]
}

const hasNoPlaybook = (reason: string): boolean => reason.startsWith('no playbook')

const kindOf = (diagnosis: Diagnosis, { reason, then }: Exhausted): EscalationKind => {
  const { label, facts } = diagnosis
  const { machine }: AnyFacts = facts
  if (then === 'pause_goal') return 'blocker'
  if (label === 'auth_failure' || label === 'model_missing' || label === leftRunningLabel) return 'no_playbook'
  if (isPreparation(diagnosis) || isLoopEnd(diagnosis)) return 'exhausted'
  if (machine === undefined && label === 'budget') return 'budget'
  if (machine === undefined && label === 'git_conflict') return 'merge_conflict'
  return hasNoPlaybook(reason) ? 'no_playbook' : 'exhausted'
}

/** No rule names the cause, so the owner may know more about it than Unstuck. */
const isUnknown = ({ label }: Diagnosis, { reason, question }: Exhausted): boolean =>
  question === undefined && (label === 'unknown' || label === 'check_failed' || hasNoPlaybook(reason))

const detailsOf = (runContext: RunContext, diagnosis: Diagnosis, exhausted: Exhausted): string => {
  const { task, run } = runContext
  const why = isLoopEnd(diagnosis)
    ? 'A hint or a retry begins a new count of iterations.'
    : hasNoPlaybook(exhausted.reason)
      ? 'Unstuck has no recovery for this failure.'
      : 'Every recovery for this failure was tried or does not apply here.'
  return [
    ...nextStepLines(runContext, diagnosis, exhausted),
    `Evidence: ${diagnosis.evidence}`,
    `${why} The decisions: unstuck explain ${task.id}`,
    ...(isUnknown(diagnosis, exhausted)
      ? [
          `To have this failure handled by itself from now on: unstuck playbook draft ${run.id} prints a playbook for it.`,
        ]
      : []),
    `The work of the agent is kept: unstuck restore ${run.id} --into <folder>. Its output: unstuck logs ${run.id}`,
  ].join('\n')
}

/** The question about work that a person gave back and that did not pass. */
const aboutPersonsWork = ({ task, run }: RunContext, { folder }: TakenOver, diagnosis: Diagnosis): PersonQuestion => {
  const { id, number, title } = task
  const { command, paths }: AnyFacts = diagnosis.facts
  const checked = command === undefined ? diagnosis.evidence : checkText(diagnosis.facts, diagnosis.evidence)
  const why =
    diagnosis.label === 'policy_violation'
      ? `it changes ${(paths ?? []).join(', ')}, which the allowed paths do not cover`
      : checked
  const question = sentence(`Your work on ${taskNameInside({ number, title })} did not pass: ${why}`)
  return {
    kind: 'exhausted',
    ...{ happened: question, tried: [], question },
    details: [
      `Your files are unchanged in ${folder}. Correct them there, then: unstuck give-back ${id}`,
      `To leave the task to an agent, which continues from your files: unstuck retry ${id}`,
    ].join('\n'),
    choices: [{ ...takeOverChoice(id, run.id), label: 'Correct it yourself' }, retryChoice(id), cancelChoice(id)],
  }
}

/** The work is not Unstuck's: the owner of the branch corrects it there. */
const aboutReviewedWork = (
  { task, run }: RunContext,
  review: TaskReview,
  { diagnosis: { evidence, facts }, wasRejected }: { diagnosis: Diagnosis; wasRejected: boolean },
): PersonQuestion => {
  const { command, paths }: AnyFacts = facts
  const why = command === undefined ? evidence : checkText(facts, evidence)
  const strayed = paths === undefined || command !== undefined ? '' : ` (${paths.join(', ')})`
  const question = sentence(`${taskName(task)} could not review ${subjectText(review)}: ${why}${strayed}`)
  return {
    kind: 'exhausted',
    ...{ happened: question, tried: [], question },
    details: [
      ...nextReviewLines(review),
      ...(wasRejected
        ? [`Why it was not approved: unstuck explain ${task.id}`]
        : [`To review it again as it is: unstuck retry ${task.id}. The output of its checks: unstuck logs ${run.id}`]),
    ].join('\n'),
    // A verdict is final for its commit: a retry would be refused again.
    choices: [...(wasRejected ? [] : [retryChoice(task.id)]), cancelChoice(task.id)],
  }
}

interface Exhausted {
  /** Why the ladder has no recovery left, in its own words. */
  reason: string
  then: WhenExhausted
  /** The commit that the task reviews has a verdict already, and was not approved. */
  wasRejected?: boolean
  /** What a probe found on this machine; the question is withdrawn once that has passed (engine/jobs.ts). */
  fault?: MachineFault
  /** What the owner's playbook asks instead. */
  question?: OwnQuestion
}

/** The owner's text comes first; what was found and tried follows it as for every question. */
const askedByOwner = (
  runContext: RunContext,
  diagnosis: Diagnosis,
  { recoveries, question: own, ...exhausted }: Exhausted & { recoveries: readonly Recovery[]; question: OwnQuestion },
): PersonQuestion => {
  const { task } = runContext
  const happened = sentence(ownQuestionText(task, own))
  const tried = triedLines(recoveries, diagnosis.evidence)
  return {
    ...{ kind: 'exhausted', happened, tried, question: questionWithTried(happened, tried) },
    details: [ownQuestionLine(own), detailsOf(runContext, diagnosis, exhausted)].join('\n'),
    choices: ownChoices(task.id, own),
  }
}

/** `then`: what applies because no recovery is left. `recoveries`: those of the task, oldest first. */
export const questionOf = (
  runContext: RunContext,
  diagnosis: Diagnosis,
  { recoveries, wasRejected = false, ...exhausted }: Exhausted & { recoveries: readonly Recovery[] },
): PersonQuestion => {
  const { task } = runContext
  if (task.takenOver !== null && isGivenBack(task)) return aboutPersonsWork(runContext, task.takenOver, diagnosis)
  if (task.review !== null) return aboutReviewedWork(runContext, task.review, { diagnosis, wasRejected })
  const isBlocker = exhausted.then === 'pause_goal'
  const { question: own } = exhausted
  if (own !== undefined) return askedByOwner(runContext, diagnosis, { ...exhausted, question: own, recoveries })
  const happened = sentence(happenedText(runContext, diagnosis, isBlocker))
  const tried = triedLines(recoveries, diagnosis.evidence)
  return {
    ...{ kind: kindOf(diagnosis, exhausted), happened, tried },
    question: questionWithTried(happened, tried),
    details: detailsOf(runContext, diagnosis, exhausted),
    choices: helpfulChoices(runContext, diagnosis, isBlocker),
  }
}
