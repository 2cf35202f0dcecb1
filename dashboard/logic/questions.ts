/** Which questions a page shows open, the text for the others, the actions beside a question, and its keys. Pure. */
import type { BoardQuestion, BoardTask } from './board.ts'
import { linkTo, type PageRoute } from './route.ts'

export type QuestionChoice = BoardQuestion['choices'][number]

/** The page of a task shows the question about the task, the page of a goal the one about the whole goal. */
const isHere = ({ taskId, goalId }: BoardQuestion, route: PageRoute): boolean =>
  (route.page === 'task' && taskId === route.id) || (route.page === 'goal' && taskId === null && goalId === route.id)

export const splitQuestions = (
  questions: readonly BoardQuestion[],
  route: PageRoute,
): { here: BoardQuestion[]; elsewhere: BoardQuestion[] } => ({
  here: questions.filter((question) => isHere(question, route)),
  elsewhere: questions.filter((question) => !isHere(question, route)),
})

export const waitingText = (elsewhere: number, here: number): string => {
  const other = here > 0 ? 'other ' : ''
  return elsewhere === 1 ? `1 ${other}question waits for you` : `${elsewhere} ${other}questions wait for you`
}

/** Questions that an older version stored have only one text. */
export const happenedIn = ({ happened, question }: BoardQuestion): string => (happened === '' ? question : happened)

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

/** The address that a key opens from a question about a run; undefined for other keys. */
export const keyTarget = (key: string, run: string): string | undefined => {
  if (key === 'd') return linkTo.diff(run)
  return key === 'l' ? linkTo.log(run) : undefined
}
