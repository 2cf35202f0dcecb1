/** Which questions a page shows openly, what the line on top says of the others, and which keys lead from a question. Pure. */
import type { Question } from './board.ts'
import { linkTo, type Route } from './route.ts'

export type Choice = Question['choices'][number]

/** The page of a task holds its question, the page of a goal the question about the goal as a whole. */
const isHere = ({ taskId, goalId }: Question, route: Route): boolean =>
  (route.page === 'task' && taskId === route.id) || (route.page === 'goal' && taskId === null && goalId === route.id)

export const splitQuestions = (
  questions: readonly Question[],
  route: Route,
): { here: Question[]; elsewhere: Question[] } => ({
  here: questions.filter((question) => isHere(question, route)),
  elsewhere: questions.filter((question) => !isHere(question, route)),
})

export const waitingText = (elsewhere: number, here: number): string => {
  const other = here > 0 ? 'other ' : ''
  return elsewhere === 1 ? `1 ${other}question waits for you` : `${elsewhere} ${other}questions wait for you`
}

/** Questions of older versions say all of it in one text. */
export const happenedIn = ({ happened, question }: Question): string => (happened === '' ? question : happened)

/** What is sent with a choice: an empty text is none, and then the suggestion counts. */
export const answerBody = ({ id, input }: Choice, said: string): { choice: string; input?: string; by: string } => ({
  choice: id,
  ...(input === null || said.trim() === '' ? {} : { input: said.trim() }),
  by: 'dashboard',
})

/** Choices that a person carries out in a terminal, so that the command is part of the answer. */
export const inTerminal = ({ kind }: Choice): boolean => kind === 'take_over' || kind === 'commit_fix'

/** Where a key leads from a question with a run. */
export const keyTarget = (key: string, run: string): string | undefined => {
  if (key === 'd') return linkTo.diff(run)
  return key === 'l' ? linkTo.log(run) : undefined
}
