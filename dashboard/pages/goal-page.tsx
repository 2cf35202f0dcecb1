/** One goal: its head, its question, its requirement, and its tasks by state. */
import { splitQuestions } from '../logic/questions.ts'
import { Block } from '../parts/basics.tsx'
import { Board } from '../parts/board.tsx'
import { GoalActions, GoalHead } from '../parts/goal.tsx'
import { OwnQuestions } from '../parts/questions.tsx'
import { Story } from '../parts/story.tsx'
import type { Picture } from './board-page.tsx'
import { Missing } from './missing.tsx'

export const GoalPage = ({ id, picture }: { id: string; picture: Picture }) => {
  const goal = picture.goals.find((candidate) => candidate.id === id)
  if (goal === undefined) return <Missing what={`goal ${id}`} />
  const { here } = splitQuestions(picture.questions, { page: 'goal', id })
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
          <Block text={goal.requirement} />
        </details>
      )}
      <Board goals={[goal]} questions={picture.questions} clock={picture.clock} withGoal={false} />
      <Story id={goal.id} />
    </>
  )
}
