/** What a person is asked when no recovery is left: the question, what was seen, and what they can do. */
import type { EscalationKind } from '../../domain/escalation.ts'
import { isGivenBack, type TakenOver, type Task } from '../../domain/task.ts'
import { leftRunningAdvice, leftRunningLabel } from '../../recovery/left-running.ts'
import type { AnyFacts, Diagnosis } from '../../recovery/types.ts'
import type { Then } from '../../recovery/playbook.ts'
import type { NewEscalation } from '../../store/escalation.ts'
import { cancel, retry, takeOver } from './choices.ts'
import type { Recovery } from '../../store/recovery.ts'
import { helpfulChoices } from './helpful-choices.ts'
import { providerQuestion } from './provider-question.ts'
import type { Session } from './session.ts'
import { triedLines } from './tried.ts'

const harnessTitle = (name: string): string => name.slice(0, 1).toUpperCase() + name.slice(1)

type Asked = Pick<NewEscalation, 'kind' | 'question' | 'details'>
export type Question = Asked & Pick<NewEscalation, 'happened' | 'tried' | 'choices'>

/** The wording of the founding document for a permission problem that corrections did not cure. */
export const blockerText = (worker: string, place: string): string =>
  `Persistent permission error for ${harnessTitle(worker)} on ${place}. Manual intervention required.`

/** In the founding document's words, what a person can do. `again`: what follows it; `allow`: how a directory is allowed; `allowTool`: how the refused tool is. */
export const permissionAdvice = (
  { label, facts }: Diagnosis,
  { again, allow, allowTool }: { again: string; allow: (directory: string) => string; allowTool?: string | undefined },
): string[] => {
  const { directory, allowedBy, chmodFailed }: AnyFacts = facts
  if (label === 'DIRECTORY_MISSING') return [`Bring the directory back, then ${again}.`]
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
const allowToolText = ({ driver, run }: Session, { facts }: Diagnosis): string | undefined => {
  const { refused }: AnyFacts = facts
  const { ruleOption } = driver
  const rules = refused === undefined ? [] : (driver.grantRules?.(refused) ?? [])
  if (ruleOption === undefined || rules.length === 0) return undefined
  const args = rules.flatMap((rule) => [ruleOption, rule]).map((arg) => JSON.stringify(arg))
  return `To allow it: add ${args.join(', ')} to harness.${run.harness}.args in .unstuck/config.json, then unstuck resume.`
}

const adviceFor = (session: Session, diagnosis: Diagnosis): string[] =>
  permissionAdvice(diagnosis, {
    again: 'unstuck resume',
    allowTool: allowToolText(session, diagnosis),
    allow: (directory) =>
      `To allow it: add "${directory}" to allowedDirs in .unstuck/config.json, then unstuck resume.`,
  })

/** The founding document's words for the event, whatever the person is asked. */
export const blockerEventText = (session: Session, { label, evidence, facts }: Diagnosis): string => {
  const { directory = session.context.repository.root }: AnyFacts = facts
  return label === 'DIRECTORY_MISSING'
    ? `${evidence}. Manual intervention required.`
    : blockerText(session.driver.name, directory)
}

const blockerOf = (session: Session, diagnosis: Diagnosis, details: string[]): Asked => ({
  kind: 'blocker',
  question: sentence(happenedText(session, diagnosis, true)),
  details: [...adviceFor(session, diagnosis), ...details].join('\n'),
})

export const heldUpText = (task: Pick<Task, 'number' | 'title'>, machine: string): string =>
  `Task ${task.number} "${task.title}" is held up by this machine: ${machine}. Retry it after fixing that, or cancel it?`

const askedOf = (session: Session, diagnosis: Diagnosis, { reason, then }: { reason: string; then: Then }): Asked => {
  const { task, run } = session
  const kinds: Record<string, EscalationKind> = { budget: 'budget', git_conflict: 'merge_conflict' }
  const details = [
    `Evidence: ${diagnosis.evidence}`,
    `Why no recovery: ${reason}`,
    `What the agent left is kept: unstuck restore ${run.id} --into <folder>; its output: unstuck logs ${run.id}`,
  ]
  if (then === 'pause_goal') return blockerOf(session, diagnosis, details)
  const provider = providerQuestion(session, diagnosis)
  if (provider !== undefined) {
    const { question, advice } = provider
    return { kind: 'no_playbook', question, details: [...details, advice].join('\n') }
  }
  if (diagnosis.label === 'workspace_setup_failed' || diagnosis.label === 'workspace_copy_failed') {
    return {
      kind: 'exhausted',
      question: `Task ${task.number} "${task.title}" did not begin: ${diagnosis.evidence}. Retry it after correcting that, or cancel it?`,
      details: [
        ...details.slice(0, 2),
        `The output of a set-up: ${session.paths.root}/setup`,
        `Next step: correct the command, the files or "workspace" in .unstuck/config.json, then unstuck retry ${task.id}.`,
      ].join('\n'),
    }
  }
  if (diagnosis.label === 'tests_removed') {
    const next = `Next step: unstuck retry ${task.id} --hint "…"; where these tests are to go, name their files as allowed paths of the task first: unstuck edit ${task.id}.`
    details.push(next)
  }
  if (diagnosis.label === leftRunningLabel) {
    return {
      kind: 'no_playbook',
      question: `Task ${task.number} "${task.title}" cannot be checked: ${diagnosis.evidence}. Retry it after ending them, or cancel it?`,
      details: [...details, `Next step: ${leftRunningAdvice(`unstuck retry ${task.id}`)}`].join('\n'),
    }
  }
  const { machine }: AnyFacts = diagnosis.facts
  if (machine !== undefined) {
    return {
      kind: reason.startsWith('no playbook') ? 'no_playbook' : 'exhausted',
      question: heldUpText(task, machine),
      details: [...details, `Next step: fix it, then unstuck retry ${task.id}.`].join('\n'),
    }
  }
  return {
    kind: kinds[diagnosis.label] ?? (reason.startsWith('no playbook') ? 'no_playbook' : 'exhausted'),
    question: `Task ${task.number} "${task.title}" cannot go on by itself: ${diagnosis.label.replaceAll('_', ' ')}.`,
    details: details.join('\n'),
  }
}

const checkText = ({ command = '', failure, cannotRun }: AnyFacts, evidence: string): string => {
  if (cannotRun === true)
    return `the check \`${command}\` ${evidence.split('; ')[0]?.replace(`${command}: `, '') ?? ''}`
  if (failure === undefined) return evidence
  const { tests, cause } = failure
  const more = tests.length > 1 ? ` and ${tests.length - 1} more` : ''
  const named = tests.length === 0 ? '' : ` at "${tests[0]}"${more}`
  return `the check \`${command}\` fails${named}${cause === undefined ? '' : `: ${cause}`}`
}

const refusalText = (worker: string, { label, facts, evidence }: Diagnosis): string => {
  const { refused, directory, allowedBy, chmodFailed }: AnyFacts = facts
  const name = harnessTitle(worker)
  if (label === 'TOOL_DENIED' && refused !== undefined)
    return refused.target === undefined
      ? `${name} was refused the tool ${refused.tool} ("${evidence}")`
      : `${name} was refused a command: \`${refused.target}\``
  if ((label === 'SANDBOX_ERROR' || label === 'DIR_SCOPE_ERROR') && directory !== undefined)
    return `${name} was refused the folder ${directory}${allowedBy === undefined ? ', which is not in allowedDirs' : ''}`
  return chmodFailed === undefined ? evidence : `${evidence}; ${chmodFailed}`
}

/** The task, and what stopped it, in one sentence. */
const happenedText = (session: Session, diagnosis: Diagnosis, isBlocker: boolean): string => {
  const { task, driver } = session
  const { label, evidence, facts } = diagnosis
  const { command, machine, paths }: AnyFacts = facts
  const about = `Task ${task.number} "${task.title}"`
  if (isBlocker) return `${about} stopped: ${refusalText(driver.name, diagnosis)}`
  if (machine !== undefined) return `${about} is held up by this machine: ${machine}`
  if (label === 'policy_violation')
    return `${about} changed ${(paths ?? []).join(', ')}, which its allowed paths do not cover`
  if (label === 'workspace_setup_failed' || label === 'workspace_copy_failed')
    return `${about} did not begin: ${evidence}`
  if (label === 'auth_failure' || label === 'model_missing') {
    const what = label === 'auth_failure' ? 'cannot log in at its provider' : 'was refused the model'
    return `${about} stopped: harness "${task.harness}" ${what} ("${evidence}")`
  }
  if (command === undefined) return `${about} stopped: ${evidence}`
  return `${about} stopped: ${checkText(facts, evidence)}`
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

/** What the check says of the work that a person gave back. */
const aboutPersonsWork = ({ task, run }: Session, { folder }: TakenOver, diagnosis: Diagnosis): Question => {
  const { id, number, title } = task
  const { command, paths }: AnyFacts = diagnosis.facts
  const checked = command === undefined ? diagnosis.evidence : checkText(diagnosis.facts, diagnosis.evidence)
  const why =
    diagnosis.label === 'policy_violation'
      ? `it changes ${(paths ?? []).join(', ')}, which the allowed paths do not cover`
      : checked
  const question = sentence(`Your work on task ${number} "${title}" did not pass: ${why}`)
  return {
    kind: 'exhausted',
    ...{ happened: question, tried: [], question },
    details: [
      `Your files are unchanged in ${folder}. Correct them there, then: unstuck give-back ${id}`,
      `To leave the task to an agent, which continues from your files: unstuck retry ${id}`,
    ].join('\n'),
    choices: [{ ...takeOver(id, run.id), label: 'Correct it yourself' }, retry(id), cancel(id)],
  }
}

/** `then` is what applies because no recovery is left. `recoveries`: those of the task, oldest first. */
export const questionOf = (
  session: Session,
  diagnosis: Diagnosis,
  { recoveries, ...exhausted }: { reason: string; then: Then; recoveries: readonly Recovery[] },
): Question => {
  const { task } = session
  if (task.takenOver !== null && isGivenBack(task)) return aboutPersonsWork(session, task.takenOver, diagnosis)
  const isBlocker = exhausted.then === 'pause_goal'
  return {
    ...askedOf(session, diagnosis, exhausted),
    happened: sentence(happenedText(session, diagnosis, isBlocker)),
    tried: triedLines(recoveries),
    choices: helpfulChoices(session, diagnosis, isBlocker),
  }
}
