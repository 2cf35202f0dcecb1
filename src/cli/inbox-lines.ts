/** The inbox as text for people: each question with its evidence, a proposed command with its risks, and its choices by number. */
import { isAboutDetails, questionTopic, type InboxQuestion, type InboxView } from '../api/contract.ts'
import { safe, wordsOf, type Paint } from './render.ts'
import { cutToWidth } from './width.ts'
import { readableTitle } from '../domain/task-title.ts'

const longestLine = 300

const line = (text: string): string => cutToWidth(safe(text), longestLine)

const placeOf = ({ task, goal }: InboxQuestion): string =>
  task === null ? `goal "${safe(goal.title)}"` : `#${task.number} ${safe(readableTitle(task.title))}`

type Proposal = NonNullable<InboxQuestion['proposal']>

const commandLines = (paint: Paint, command: Proposal['commands'][number]): string[] => [
  `${command.step === 'primary' ? 'Proposed' : 'If it does not help'}: ${paint.bold(line(command.command))}`,
  ...command.risks.map(
    ({ kind, grave, text }) => `  ${(grave ? paint.bad : paint.warn)(wordsOf(kind))}: ${line(text)}`,
  ),
]

const proposalLines = (paint: Paint, { commands, rootCause, evidence, doubt, problem }: Proposal): string[] => [
  ...commands.flatMap((command) => commandLines(paint, command)),
  ...(rootCause === '' ? [] : [`Cause: ${line(rootCause)}`]),
  ...evidence.slice(0, 3).map((text) => `Evidence: ${line(text)}`),
  ...(doubt === null ? [] : [`${paint.warn('Doubt')}: ${line(doubt)}`]),
  ...(problem === null ? [] : [`${paint.bad('Not valid')}: ${line(problem)}`]),
]

/** What happened and what was tried, without the choices. */
export const evidenceLines = (paint: Paint, question: InboxQuestion): string[] => [
  line(question.happened === '' ? question.question : question.happened),
  ...(isAboutDetails(question) ? question.details.split('\n').map(line) : []),
  ...(question.proposal === null ? [] : proposalLines(paint, question.proposal)),
  ...question.tried.map((text) => `Tried: ${line(text)}`),
]

export const questionHead = (paint: Paint, question: InboxQuestion): string =>
  `${paint.warn(String(question.number))} ${paint.bold(placeOf(question))} ${paint.dim(`[${question.id}] ${questionTopic(question)}`)}`

/** Each choice by its number, with what it will do. */
export const choiceLines = (question: InboxQuestion): string[] =>
  question.choices.map(({ label, effect }, index) => `${index + 1} ${line(label)}: ${line(effect)}`)

/** For a list that is not answered by number: below each choice the command that makes it. */
const choicesWithCommands = (paint: Paint, question: InboxQuestion): string[] =>
  choiceLines(question).flatMap((text, at) => [text, paint.dim(`  ${line(question.choices[at]?.command ?? '')}`)])

export const inboxLines = (paint: Paint, { groups, count }: InboxView): string[] => {
  if (count === 0) return ['No question waits for you.']
  return groups.flatMap(({ cause, questions }, at) => [
    ...(at === 0 ? [] : ['']),
    ...(questions.length > 1 ? [paint.dim(`${questions.length} with the same cause: ${line(cause)}`)] : []),
    ...questions.flatMap((question) => [
      questionHead(paint, question),
      ...[...evidenceLines(paint, question), ...choicesWithCommands(paint, question)].map((text) => `    ${text}`),
    ]),
  ])
}
