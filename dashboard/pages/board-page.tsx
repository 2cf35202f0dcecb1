/** The first page: every goal that is not over, and their tasks by state. */
import { useState } from 'react'
import { isOver, type Goal, type Question } from '../logic/board.ts'
import type { ServerClock } from '../logic/clock.ts'
import { plural } from '../logic/text.ts'
import { Command } from '../parts/basics.tsx'
import { Board } from '../parts/board.tsx'
import { GoalHead } from '../parts/goal.tsx'

export interface Picture {
  goals: readonly Goal[]
  /** Older goals that have ended and are not among them. */
  leftOut: number
  questions: readonly Question[]
  clock: ServerClock
}

const NoGoal = () => (
  <section className="empty-state">
    <h1>No goal yet</h1>
    <p>Say what you want done, in a terminal in the repository. What happens then shows here by itself.</p>
    <Command text={'unstuck run "Fix the failing test in src/parser"'} />
    <p className="quiet">
      A Markdown checklist or a task file works too: <code>unstuck run tasks.md</code>. Everything else:{' '}
      <code>unstuck --help</code>.
    </p>
  </section>
)

type Choice = 'open' | 'all'

export const BoardPage = ({ goals, leftOut, questions, clock }: Picture) => {
  const [choice, setChoice] = useState<Choice>('open')
  if (goals.length === 0) return <NoGoal />
  const shown = goals
    .filter((goal) => choice === 'all' || !isOver(goal))
    .toSorted((a, b) => b.createdAt.localeCompare(a.createdAt))
  const over = goals.filter(isOver).length
  return (
    <>
      <section aria-labelledby="goals">
        <div className="panel-head">
          <h1 id="goals">Goals</h1>
          <label>
            Show{' '}
            <select value={choice} onChange={({ target }) => setChoice(target.value === 'all' ? 'all' : 'open')}>
              <option value="open">open ({goals.length - over})</option>
              <option value="all">
                all ({goals.length}
                {leftOut > 0 && ` of ${goals.length + leftOut}`})
              </option>
            </select>
          </label>
        </div>
        {shown.length === 0 && (
          <p className="quiet">
            Nothing is open; {plural(over + leftOut, 'goal has', 'goals have')} ended. The next one:{' '}
            <code>unstuck run "…"</code>
          </p>
        )}
        <div className="goals">
          {shown.map((goal) => (
            <GoalHead key={goal.id} goal={goal} whole={false} />
          ))}
        </div>
        {choice === 'all' && leftOut > 0 && (
          <p className="quiet older">
            {plural(leftOut, 'older goal has', 'older goals have')} ended and {leftOut === 1 ? 'is' : 'are'} not shown:{' '}
            <code>unstuck status --ended {goals.length + leftOut}</code>
          </p>
        )}
      </section>
      {shown.length > 0 && <Board goals={shown} questions={questions} clock={clock} withGoal={shown.length > 1} />}
    </>
  )
}
