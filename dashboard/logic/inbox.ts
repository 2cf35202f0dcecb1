/** The inbox as data: which question is open, what its keys do, which choices several questions share, and what became of answers. Pure. */
import type { AnswerResults, InboxQuestion, InboxView } from '../../src/api/contract.ts'
import { capitalised, words } from './text.ts'
import type { QuestionChoice } from './questions.ts'
import { readableTitle } from '../../src/api/contract.ts'

export type InboxGroup = InboxView['groups'][number]
export type { InboxQuestion }

/** The question that a person is at. `index` is its place, for the time after it is gone. */
export interface Place {
  id: string
  index: number
}

/** After an answer the next question takes the place; at the end of the list the last one. */
export const placeIn = (ids: readonly string[], before: Place | undefined): Place | undefined => {
  const kept = ids.indexOf(before?.id ?? '')
  const index = kept >= 0 ? kept : Math.min(before?.index ?? 0, ids.length - 1)
  const id = ids[index]
  return id === undefined ? undefined : { id, index }
}

export const movedBy = (ids: readonly string[], place: Place | undefined, step: 1 | -1): Place | undefined => {
  const index = Math.max(0, Math.min(ids.length - 1, (place?.index ?? 0) + step))
  const id = ids[index]
  return id === undefined ? undefined : { id, index }
}

export type InboxKey =
  | { do: 'move'; step: 1 | -1 }
  | { do: 'choose'; choice: number }
  | { do: 'select' | 'selectAll' | 'clear' }

const named: Readonly<Record<string, InboxKey>> = {
  j: { do: 'move', step: 1 },
  ArrowDown: { do: 'move', step: 1 },
  k: { do: 'move', step: -1 },
  ArrowUp: { do: 'move', step: -1 },
  x: { do: 'select' },
  a: { do: 'selectAll' },
  Escape: { do: 'clear' },
}

export const keyOf = (key: string): InboxKey | undefined => {
  if (/^[1-9]$/.test(key)) return { do: 'choose', choice: Number(key) }
  return Object.hasOwn(named, key) ? named[key] : undefined
}

/** They open something of one question alone, or change a file that the next answer would find changed. */
const forOneAlone = new Set<string>(['take_over', 'approve_always'])

/** What the questions suggest differs, so that a text left empty keeps each suggestion. */
const sharedInput = (all: readonly QuestionChoice[]): QuestionChoice['input'] => {
  const [first] = all
  if (first === undefined || first.input === null) return null
  if (all.every(({ input }) => input?.suggested === first.input?.suggested)) return first.input
  const suggests = all.every(({ input }) => (input?.suggested ?? null) !== null)
  return {
    ...{ name: first.input.name, suggested: null },
    required: first.input.required && !suggests,
    label: `${capitalised(first.input.name)}${suggests ? '; empty = the suggestion of each question' : ''}`,
  }
}

/** The choices that every one of the questions offers, worded for all of them. */
export const sharedChoices = (questions: readonly Pick<InboxQuestion, 'choices'>[]): QuestionChoice[] => {
  const [first, ...others] = questions
  return (first?.choices ?? []).flatMap((choice) => {
    if (forOneAlone.has(choice.kind)) return []
    const same = others.map(({ choices }) => choices.find(({ id, kind }) => id === choice.id && kind === choice.kind))
    const all = [choice, ...same.flatMap((each) => each ?? [])]
    if (all.length !== questions.length) return []
    const isSame = all.every(({ label, effect }) => label === choice.label && effect === choice.effect)
    return [
      {
        ...choice,
        label: isSame ? choice.label : capitalised(words(choice.kind)),
        effect: isSame ? choice.effect : `For the first of them: ${choice.effect}`,
        command: '',
        input: sharedInput(all),
      },
    ]
  })
}

export interface Notice {
  key: number
  tone: 'good' | 'bad'
  text: string
}

/** Named by task, because the numbers of the other questions change after an answer. */
export const nameOf = ({ task, goal }: Pick<InboxQuestion, 'task' | 'goal'>): string =>
  task === null ? `Goal "${goal.title}"` : `#${task.number} ${readableTitle(task.title)}`

/** The engine words a refusal for a terminal; the inbox itself shows what waits. */
export const answerRefusal = (message: string): string => message.replace(/; "unstuck status" [^;]*$/, '')

export const batchNotices = (
  results: AnswerResults['results'],
  questions: readonly InboxQuestion[],
  label: string,
): Omit<Notice, 'key'>[] => {
  const done = results.filter(({ error }) => error === null).length
  const refused = results.flatMap(({ id, error }) => {
    const question = questions.find((each) => each.id === id)
    return error === null ? [] : [`${question === undefined ? id : nameOf(question)}: ${answerRefusal(error.message)}`]
  })
  return [
    ...(done === 0 ? [] : [{ tone: 'good' as const, text: `${label}: ${done} of ${results.length} answered.` }]),
    ...refused.map((text) => ({ tone: 'bad' as const, text })),
  ]
}
