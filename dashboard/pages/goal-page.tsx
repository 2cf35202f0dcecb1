/** One goal: its head, its question, its requirement, its plan, its tasks by state, and its report. */
import { questionsHere } from '../logic/questions.ts'
import { TextBlock } from '../parts/basics.tsx'
import { Board } from '../parts/board.tsx'
import { GoalActions, GoalHead } from '../parts/goal.tsx'
import { GoalReport } from '../parts/goal-report.tsx'
import { PlanSection } from '../parts/plan-graph.tsx'
import { OwnQuestions } from '../parts/questions.tsx'
import { History } from '../parts/history.tsx'
import type { PageData } from './board-page.tsx'
import { NotFound } from './not-found.tsx'

export const GoalPage = ({ id, picture }: { id: string; picture: PageData }) => {
  const goal = picture.goals.find((candidate) => candidate.id === id)
  if (goal === undefined) return <NotFound what={`goal ${id}`} />
  const here = questionsHere(picture.questions, { page: 'goal', id })
  const [question] = here
  return (
    <>
      <GoalHead goal={goal} whole {...(question === undefined ? {} : { question })} />
      <OwnQuestions questions={here} goals={picture.goals} clock={picture.clock} />
      {question !== undefined && (
        <section className="panel" aria-label="Other actions">
          <GoalActions goal={goal} question={question} />
        </section>
      )}
      {goal.requirement !== '' && goal.requirement !== goal.title && (
        <details className="panel">
          <summary>Requirement</summary>
          <TextBlock text={goal.requirement} />
        </details>
      )}
      <PlanSection goal={goal} />
      <Board goals={[goal]} questions={picture.questions} clock={picture.clock} withGoal={false} />
      <GoalReport goal={goal} clock={picture.clock} />
      <History id={goal.id} />
    </>
  )
}
