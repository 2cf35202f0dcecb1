/** One goal: its head, what was asked for, and its tasks by state. */
import { Block } from '../parts/basics.tsx'
import { Board } from '../parts/board.tsx'
import { GoalHead } from '../parts/goal.tsx'
import { Story } from '../parts/story.tsx'
import type { Picture } from './board-page.tsx'
import { Missing } from './missing.tsx'

export const GoalPage = ({ id, picture }: { id: string; picture: Picture }) => {
  const goal = picture.goals.find((candidate) => candidate.id === id)
  if (goal === undefined) return <Missing what={`goal ${id}`} />
  return (
    <>
      <GoalHead goal={goal} whole />
      {goal.requirement !== '' && goal.requirement !== goal.title && (
        <details className="panel">
          <summary>What was asked for</summary>
          <Block text={goal.requirement} />
        </details>
      )}
      <Board goals={[goal]} questions={picture.questions} clock={picture.clock} withGoal={false} />
      <Story id={goal.id} />
    </>
  )
}
