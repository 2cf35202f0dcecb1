/** The work of `unstuck answer`: finds the question, then shows it or sends the choice. */
import type { AlwaysChangeView, Answered, Escalation } from '../api/contract.ts'
import { questionLines } from '../domain/question-lines.ts'
import { AppError, exitCodes } from '../errors.ts'
import { alwaysLines } from './always-lines.ts'
import type { JsonOption } from './command-options.ts'
import type { Client } from './engine/client.ts'
import { connectToExisting } from './engine/connect-to-change.ts'
import { printLine, printJson, type Io } from './io.ts'
import { createPaint, safe } from './render.ts'
import { showTakenOver } from './take-over.ts'
import { userName } from './user-name.ts'
import { defined } from '../domain/defined.ts'

type Choice = Escalation['choices'][number]
type InputName = NonNullable<Choice['input']>['name']

export type AnswerOptions = JsonOption & Partial<Record<InputName, string>> & { seen?: string }

const inputNames: readonly InputName[] = ['hint', 'check', 'paths', 'model', 'text', 'command', 'note']

const noQuestion = (id: string): AppError =>
  new AppError('NOT_FOUND', `${id} has no open question; "unstuck status" shows the questions that wait for you`)

/** Finds a question by its own id, by the id of its task, or by the id of a goal with a single question. */
const questionOf = async (client: Client, id: string): Promise<Escalation> => {
  const state = id.startsWith('q-') ? 'all' : 'pending'
  const all = await client.get<Escalation[]>(`/escalations?state=${state}`)
  const named =
    all.find((entry) => entry.id === id || entry.taskId === id) ??
    // The goal asks about a task that was given up.
    all.find(({ choices }) => choices.some((choice) => 'task' in choice && choice.task === id))
  if (named !== undefined) return named
  const ofGoal = all.filter(({ goalId, kind }) => goalId === id && kind !== 'checkout_changed')
  const [first, ...more] = ofGoal
  const own = ofGoal.find(({ taskId }) => taskId === null) ?? (more.length === 0 ? first : undefined)
  if (own !== undefined) return own
  if (first === undefined) throw noQuestion(id)
  const open = ofGoal.map(({ taskId }) => `unstuck answer ${taskId}`).join(', ')
  throw new AppError('USAGE', `goal ${id} has ${ofGoal.length} open questions; answer one of them: ${open}`)
}

const inputOf = (choice: Choice | undefined, options: AnswerOptions): string | undefined => {
  const given = inputNames.filter((name) => options[name] !== undefined)
  const wrong = given.find((name) => name !== choice?.input?.name)
  if (wrong !== undefined && choice !== undefined) {
    const takes = choice.input === null ? 'takes no value' : `takes --${choice.input.name}`
    throw new AppError('USAGE', `--${wrong} does not apply to the choice "${choice.id}", which ${takes}`)
  }
  const [name] = given
  return name === undefined ? undefined : options[name]
}

const show = (io: Io, question: Escalation, options: AnswerOptions): number => {
  if (options.json === true) printJson(io, question)
  else for (const text of questionLines(question)) printLine(io, safe(text))
  return exitCodes.needsPerson
}

/** By its id, or by its number in the list of choices, which never changes. */
const chosenOf = ({ choices }: Escalation, chosen: string): Choice | undefined =>
  choices.find(({ id }) => id === chosen) ?? (/^[1-9]\d?$/.test(chosen) ? choices[Number(chosen) - 1] : undefined)

/** Nothing is written that was not shown: without `--seen`, the change is only shown. */
const showChange = async (io: Io, client: Client, { id }: Escalation, options: AnswerOptions): Promise<number> => {
  const change = await client.get<AlwaysChangeView>(`/escalations/${id}/always`)
  if (options.json === true) printJson(io, change)
  else {
    for (const text of alwaysLines(createPaint(io.colours), change)) printLine(io, text)
    printLine(io, `To write this and run the command: unstuck answer ${id} always --seen ${change.seen}`)
  }
  return exitCodes.needsPerson
}

export const answerCommand = async (
  io: Io,
  { id, choice: chosen }: { id: string; choice: string | undefined },
  options: AnswerOptions,
): Promise<number> => {
  const client = await connectToExisting(io)
  const question = await questionOf(client, id)
  if (chosen === undefined) return show(io, question, options)
  const choice = chosenOf(question, chosen)
  const input = inputOf(choice, options)
  if (choice?.input?.required === true && choice.input.suggested === null && input === undefined)
    throw new AppError('USAGE', `the choice "${choice.id}" needs a value: ${choice.command}`)
  const { seen } = options
  if (choice?.kind === 'approve_always' && seen === undefined) return showChange(io, client, question, options)
  const request = {
    ...{ choice: choice?.id ?? chosen, by: userName() },
    ...defined({ input, seen }),
  }
  const answered = await client.post<Answered>(`/escalations/${question.id}/answer`, request)
  if (options.json === true) printJson(io, answered)
  else if (answered.line !== null) showTakenOver(io, answered.taskId ?? '', answered.line)
  else printLine(io, `${choice?.label ?? chosen}: done. ${safe(choice?.effect ?? '')}`)
  return exitCodes.ok
}
