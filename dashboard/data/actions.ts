/** What a person may decide, each by the API's own route. Afterwards everything is looked at again. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { GoalAction, Question } from '../logic/board.ts'
import { answerBody, type Choice } from '../logic/questions.ts'
import { send } from './client.ts'

export interface Action {
  label: string
  /** Absent = POST. */
  method?: 'POST' | 'PATCH'
  path: string
  body?: object
  /** A text that may go with it. */
  field?: { name: string; label: string; max: number }
  /** Asked before it is done, because it cannot be taken back. */
  confirm?: { question: string; detail: string; yes: string }
  tone?: 'main' | 'danger'
}

export const useAction = () => {
  const client = useQueryClient()
  return useMutation({
    mutationFn: ({ method = 'POST', path, body }: Action) => send<unknown>(method, path, body),
    onSettled: () => client.invalidateQueries(),
  })
}

const resume = (goal: string): Pick<Action, 'path' | 'body'> => ({ path: '/resume', body: { goal } })

const ending = (what: 'goal' | 'task'): Pick<Action, 'confirm' | 'tone'> => ({
  tone: 'danger',
  confirm: {
    question: `Cancel this ${what}?`,
    yes: `Cancel ${what}`,
    detail:
      what === 'goal'
        ? 'Running agents are stopped and nothing new of it begins. What they changed is kept as a snapshot.'
        : 'Its agent is stopped and nothing new of it begins. What it changed is kept as a snapshot.',
  },
})

export const goalAction = (kind: GoalAction, goal: string): Action => {
  switch (kind) {
    case 'land':
      return { label: 'Land', path: `/goals/${goal}/land`, tone: 'main' }
    case 'pause':
      return { label: 'Pause', path: `/goals/${goal}/pause` }
    case 'resume':
      return { label: 'Resume', ...resume(goal), tone: 'main' }
    case 'retry':
      return { label: 'Retry', path: `/goals/${goal}/retry`, tone: 'main' }
    case 'cancel':
      return { label: 'Cancel', path: `/goals/${goal}/cancel`, ...ending('goal') }
  }
}

const hint = { name: 'hint', label: 'Hint for every next attempt (optional; goes with Retry)', max: 1000 }

export const taskAction = (kind: 'retry' | 'cancel', task: string): Action =>
  kind === 'retry'
    ? { label: 'Retry', path: `/tasks/${task}/retry`, tone: 'main', field: hint }
    : { label: 'Cancel', path: `/tasks/${task}/cancel`, ...ending('task') }

/** A choice of a question, with what a person wrote for it. */
export const answerTo = ({ id, taskId }: Question, choice: Choice, said: string): Action => ({
  label: choice.label,
  path: `/escalations/${id}/answer`,
  body: answerBody(choice, said),
  ...(choice.kind === 'cancel' ? ending(taskId === null ? 'goal' : 'task') : {}),
})
