/** The first page: every open goal, and the tasks of all of them by state. */
import { useState } from 'react'
import { isGoalOver, type BoardGoal, type BoardQuestion } from '../logic/board.ts'
import type { ServerClock } from '../logic/clock.ts'
import { plural } from '../logic/text.ts'
import { CommandLine } from '../parts/basics.tsx'
import { Board } from '../parts/board.tsx'
import { GoalHead } from '../parts/goal.tsx'

export interface PageData {
  goals: readonly BoardGoal[]
  /** How many older ended goals are not listed. */
  leftOut: number
  questions: readonly BoardQuestion[]
  clock: ServerClock
}

const NoGoal = () => (
  <section className="empty-state">
    <h1>No goal yet</h1>
    <p>Start one from a terminal in the repository. Its progress appears here.</p>
    <CommandLine text={'unstuck run "Fix the failing test in src/parser"'} />
    <p className="quiet">
      A Markdown checklist or a task file works too: <code>unstuck run tasks.md</code>. All commands:{' '}
      <code>unstuck --help</code>.
    </p>
  </section>
)

type Choice = 'open' | 'all'

interface Counts {
  open: number
  over: number
  leftOut: number
}

interface GoalChoiceProps {
  choice: Choice
  counts: Counts
  choose: (choice: Choice) => void
}

const GoalChoice = ({ choice, counts: { open, over, leftOut }, choose }: GoalChoiceProps) => (
  <label>
    Show{' '}
    <select value={choice} onChange={({ target }) => choose(target.value === 'all' ? 'all' : 'open')}>
      <option value="open">open ({open})</option>
      <option value="all">
        all ({open + over}
        {leftOut > 0 && ` of ${open + over + leftOut}`})
      </option>
    </select>
  </label>
)

const NothingOpen = ({ ended }: { ended: number }) => (
  <p className="quiet">
    No open goal; {plural(ended, 'goal has', 'goals have')} ended. To start another: <code>unstuck run "…"</code>
  </p>
)

const OlderGoals = ({ counts: { open, over, leftOut } }: { counts: Counts }) => (
  <p className="quiet older">
    {plural(leftOut, 'older goal that has', 'older goals that have')} ended {leftOut === 1 ? 'is' : 'are'} not shown. To
    list all: <code>unstuck status --ended {open + over + leftOut}</code>
  </p>
)

export const BoardPage = ({ goals, leftOut, questions, clock }: PageData) => {
  const [choice, setChoice] = useState<Choice>('open')
  if (goals.length === 0) return <NoGoal />
  const shown = goals
    .filter((goal) => choice === 'all' || !isGoalOver(goal))
    .toSorted((a, b) => b.createdAt.localeCompare(a.createdAt))
  const over = goals.filter(isGoalOver).length
  const counts = { open: goals.length - over, over, leftOut }
  return (
    <>
      <section aria-labelledby="goals">
        <div className="panel-head">
          <h1 id="goals">Goals</h1>
          <GoalChoice choice={choice} counts={counts} choose={setChoice} />
        </div>
        {shown.length === 0 && <NothingOpen ended={over + leftOut} />}
        <div className="goals">
          {shown.map((goal) => (
            <GoalHead key={goal.id} goal={goal} whole={false} />
          ))}
        </div>
        {choice === 'all' && leftOut > 0 && <OlderGoals counts={counts} />}
      </section>
      {shown.length > 0 && <Board goals={shown} questions={questions} clock={clock} withGoal={shown.length > 1} />}
    </>
  )
}
