/** The open questions for the page and the command `inbox`: numbered, and grouped by what caused them. Reads only. */
import type { Escalation } from '../../domain/escalation.ts'
import { digestOf, normalised } from '../../recovery/signature.ts'
import type { Queryable } from '../../store/db.ts'
import { listEscalations } from '../../store/escalation.ts'
import { storeNow } from '../../store/event.ts'
import type { RecoveryProposal } from '../../domain/recovery-proposal.ts'
import {
  askedGoals,
  askedProposals,
  askedRuns,
  askedTasks,
  type AskedGoal,
  type AskedRun,
  type AskedTask,
} from '../../store/question-context.ts'
import { readableTitle } from '../../domain/task-title.ts'
import { commandReport, type CommandReport } from '../../recovery/proposal/command-risks.ts'
import {
  checkProposal,
  proposedCommandOf,
  proposalSteps,
  type Proposal,
  type ProposedCommand,
} from '../../recovery/proposal/proposal.ts'

/** A recovery proposal as people judge it: what would run, read part by part, and why. Pure. */
export interface ShownProposal {
  id: string
  category: Proposal['category'] | null
  severity: Proposal['severity'] | null
  rootCause: string
  expected: string
  evidence: string[]
  doubt: string | null
  problem: string | null
  commands: (ProposedCommand & CommandReport)[]
}

const commandsOf = (proposal: Proposal): ShownProposal['commands'] =>
  proposalSteps.flatMap((step) => {
    const command = proposedCommandOf(proposal, step)
    return command === undefined ? [] : [{ ...command, ...commandReport(command.command) }]
  })

const shownProposal = ({ id, body, problem, flag, notes }: RecoveryProposal): ShownProposal => {
  const read = checkProposal(body)
  const about = {
    id,
    doubt: [...(flag === null ? [] : [flag.detail]), ...notes].join('; ') || null,
    problem: problem === null ? null : `${problem.field === '' ? '' : `${problem.field}: `}${problem.problem}`,
  }
  if (!read.ok)
    return { ...about, category: null, severity: null, rootCause: '', expected: '', evidence: [], commands: [] }
  const { category, severity, diagnosis, recovery } = read.proposal
  return {
    ...about,
    ...{ category, severity, rootCause: diagnosis.root_cause, expected: recovery.expected_outcome },
    ...{ evidence: diagnosis.evidence, commands: commandsOf(read.proposal) },
  }
}

interface Known {
  goals: ReadonlyMap<string, AskedGoal>
  tasks: ReadonlyMap<string, AskedTask>
  runs: ReadonlyMap<string, AskedRun>
  proposals: ReadonlyMap<string, RecoveryProposal>
}

interface Cause {
  /** Equal for questions that one answer may fit. */
  key: string
  text: string
}

/** Where no failure was stored, the sentence without its quoted names and ids is all that is known about the cause. */
const sentenceKey = ({ happened, question }: Escalation): string =>
  normalised(happened === '' ? question : happened)
    .replaceAll(/"[^"]*"/g, '"…"')
    .replaceAll(/\b[a-z]-[a-z0-9]{6,}\b/g, '…')
    .replaceAll(/\b\d+\b/g, 'n')
    .replaceAll('n files', 'n file')

const firstLine = (text: string): string => text.split('\n', 1)[0]?.trim() ?? ''

/** The proposal that the choices of a question are about. */
export const proposalIdOf = ({ choices }: Pick<Escalation, 'choices'>): string | null =>
  choices.flatMap((choice) => ('proposal' in choice ? [choice.proposal] : []))[0] ?? null

/** The same proposed command is the same decision, whatever check it is for. */
const causeOfProposal = ({ kind }: Escalation, { body }: RecoveryProposal): Cause | undefined => {
  const command = (body?.recovery as { command?: unknown } | undefined)?.command
  return typeof command === 'string' ? { key: `${kind}\n${command}`, text: command } : undefined
}

/** The sentence without the name of its task, which the row of each question shows. How much was changed is no cause. */
const sentenceText = ({ happened, question }: Escalation, task: AskedTask | undefined): string => {
  const said = firstLine(happened === '' ? question : happened).replace(/ and changes \d+ files?(?=;)/, '')
  const name = task === undefined ? '' : `Task ${task.number} "${readableTitle(task.title)}" `
  return (name !== '' && said.startsWith(name) ? `The task ${said.slice(name.length)}` : said).replace(/\.$/, '')
}

const causeOf = (question: Escalation, { runs, proposals, tasks }: Known): Cause => {
  // Each agent asks something of its own: no answer fits two of them.
  if (question.kind === 'agent_question') return { key: question.id, text: firstLine(question.happened) }
  const proposal = proposals.get(proposalIdOf(question) ?? '')
  const proposed = proposal === undefined ? undefined : causeOfProposal(question, proposal)
  if (proposed !== undefined) return proposed
  const run = runs.get(question.runId ?? '')
  const failure = run?.errorMeta ?? undefined
  const known = failure?.signature ?? ''
  const said = firstLine(failure?.evidence ?? '') || firstLine(failure?.message ?? '')
  return known === ''
    ? {
        key: `${question.kind}\n${sentenceKey(question)}`,
        text: sentenceText(question, tasks.get(question.taskId ?? '')),
      }
    : { key: `${question.kind}\n${known}`, text: said }
}

/** How much of an output is shown; the log has the rest. */
const shownOutput = 4000

/** An agent that asks has not failed; what ended its run is the question itself. */
const failureOf = ({ kind }: Escalation, run: AskedRun | undefined) => {
  const failure = run?.errorMeta ?? undefined
  if (failure === undefined || kind === 'agent_question') return null
  const { failureCode, evidence, failedCommand, failedCommandStderr = '' } = failure
  return {
    ...{ code: failureCode, evidence, command: failedCommand ?? null },
    output: failedCommandStderr.trim() === '' ? null : failedCommandStderr.slice(-shownOutput),
  }
}

const shownQuestion = (question: Escalation, number: number, { goals, tasks, runs, proposals }: Known) => {
  const task = tasks.get(question.taskId ?? '')
  const run = runs.get(question.runId ?? '')
  const proposal = proposals.get(proposalIdOf(question) ?? '')
  return {
    ...question,
    number,
    goal: { id: question.goalId, title: goals.get(question.goalId)?.title ?? '' },
    task: task === undefined ? null : { id: task.id, number: task.number, title: task.title },
    run: run === undefined ? null : { id: run.id, number: run.number },
    failure: failureOf(question, run),
    proposal: proposal === undefined ? null : shownProposal(proposal),
  }
}

const byId = <T extends { id: string }>(rows: readonly T[]): Map<string, T> => new Map(rows.map((row) => [row.id, row]))
const idsOf = (ids: readonly (string | null)[]): string[] => [...new Set(ids.flatMap((id) => id ?? []))]

const knownAbout = async (db: Queryable, questions: readonly Escalation[]): Promise<Known> => ({
  goals: byId(await askedGoals(db, idsOf(questions.map(({ goalId }) => goalId)))),
  tasks: byId(await askedTasks(db, idsOf(questions.map(({ taskId }) => taskId)))),
  runs: byId(await askedRuns(db, idsOf(questions.map(({ runId }) => runId)))),
  proposals: byId(await askedProposals(db, idsOf(questions.map(proposalIdOf)))),
})

/** The oldest question decides the place of its group, so that numbers change as little as possible. */
export const inboxView = async (db: Queryable) => {
  const questions = await listEscalations(db, { pendingOnly: true })
  const known = await knownAbout(db, questions)
  const withCause = questions.map((question) => ({ question, cause: causeOf(question, known) }))
  let number = 0
  const groups = [...Map.groupBy(withCause, ({ cause }) => cause.key)].map(([key, members]) => ({
    id: digestOf(key),
    kind: members[0]?.question.kind ?? 'exhausted',
    cause: members[0]?.cause.text ?? '',
    questions: members.map(({ question }) => shownQuestion(question, (number += 1), known)),
  }))
  return { at: (await storeNow(db)).toISOString(), count: questions.length, groups }
}
