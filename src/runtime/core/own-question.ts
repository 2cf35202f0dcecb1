/** The question that a playbook of the owner asks, with the owner's text and choices. Pure. */
import type { Choice } from '../../domain/escalation.ts'
import { taskName } from '../../domain/task-title.ts'
import type { Task } from '../../domain/task.ts'
import { ownId, type OwnChoice, type OwnQuestion } from '../../recovery/own/own-playbook.ts'
import { cancelChoice, hintChoice, retryChoice } from './choices.ts'

/** Two choices of a kind have different names. */
const idOf = ({ answer }: OwnChoice, at: number, all: readonly OwnChoice[]): string => {
  const before = all.slice(0, at).filter((other) => other.answer === answer).length
  return before === 0 ? answer : `${answer}${before + 1}`
}

const choiceOf = (task: string, own: OwnChoice, id: string): Choice => {
  const { label, hint } = own
  const plain = { id, label, command: `unstuck answer ${task} ${id}` }
  return hint === undefined
    ? { ...retryChoice(task), ...plain }
    : {
        ...{ ...hintChoice(task), ...plain, effect: `The task is retried, and every attempt reads: ${hint}` },
        input: { name: 'hint', label: 'What the agent should know', required: false, suggested: hint },
      }
}

export const ownChoices = (task: string, { choices }: OwnQuestion): Choice[] => [
  ...(choices.length === 0
    ? [retryChoice(task), hintChoice(task)]
    : choices.map((own, at) => choiceOf(task, own, idOf(own, at, choices)))),
  cancelChoice(task),
]

export const ownQuestionText = (task: Pick<Task, 'number' | 'title'>, { text }: OwnQuestion): string =>
  `${taskName(task)}: ${text}`

export const ownQuestionLine = ({ name }: OwnQuestion): string =>
  `Your playbook ${ownId(name)} asks this: .unstuck/playbooks/${name}.json`
