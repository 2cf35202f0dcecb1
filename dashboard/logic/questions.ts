/** Which questions a page shows, the text of the link to the inbox, and the actions beside a question. Pure. */
import type { BoardQuestion, BoardTask } from './board.ts'
import type { PageRoute } from './route.ts'

export type QuestionChoice = BoardQuestion['choices'][number]

/** The page of a task shows the question about the task, the page of a goal the one about the whole goal. */
const isHere = ({ taskId, goalId }: BoardQuestion, route: PageRoute): boolean =>
  (route.page === 'task' && taskId === route.id) || (route.page === 'goal' && taskId === null && goalId === route.id)

export const questionsHere = (questions: readonly BoardQuestion[], route: PageRoute): BoardQuestion[] =>
  questions.filter((question) => isHere(question, route))

/** The link to the inbox, which every page has. */
export const waitingText = (count: number): string => {
  if (count === 0) return 'Inbox'
  return count === 1 ? '1 question waits for you' : `${count} questions wait for you`
}

/** Questions that an older version stored have only one text. */
export const happenedIn = ({ happened, question }: Pick<BoardQuestion, 'happened' | 'question'>): string =>
  happened === '' ? question : happened

/** The question is about finished work that lands if it is approved. */
export const isAboutWork = ({ choices }: Pick<BoardQuestion, 'choices'>): boolean =>
  choices.some(({ kind }) => kind === 'approve')

/** Without a text the API uses the suggestion of the choice. */
export const answerBody = (
  { id, input }: QuestionChoice,
  written: string,
): { choice: string; input?: string; by: string } => ({
  choice: id,
  ...(input === null || written.trim() === '' ? {} : { input: written.trim() }),
  by: 'dashboard',
})

/** Choices that continue in a terminal, so that the command is shown too. */
export const inTerminal = ({ kind }: QuestionChoice): boolean => kind === 'take_over' || kind === 'commit_fix'

export type RemainingAction = BoardTask['actions'][number] | 'hint'

/** The action that a choice carries out; its id is the same word, except for a retry with a hint. */
const actionOf = ({ kind }: QuestionChoice): string => (kind === 'hint' ? 'retry' : kind.replace('_', '-'))

/**
 * The actions that no choice of a question offers, so that a page shows each of them once. A question that offers a plain
 * retry leaves the retry with a hint.
 */
export const remainingActions = <Action extends string>(
  actions: readonly Action[],
  choices: readonly QuestionChoice[],
): (Action | 'hint')[] => {
  const offered = new Set(choices.map(actionOf))
  const needsHint = offered.has('retry') && !choices.some(({ kind }) => kind === 'hint')
  return actions.flatMap((action): (Action | 'hint')[] => {
    if (!offered.has(action)) return [action]
    return action === 'retry' && needsHint ? ['hint'] : []
  })
}
