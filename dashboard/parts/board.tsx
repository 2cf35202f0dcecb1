/** Tasks by state. Wide screens show the columns side by side and scroll within the board; narrow screens stack them. */
import { useState } from 'react'
import type { BoardGoal, BoardQuestion, Card } from '../logic/board.ts'
import type { ServerClock } from '../logic/clock.ts'
import type { TaskGroup } from '../logic/states.ts'
import { noFilter, workCards, workColumns } from '../logic/work.ts'
import { TaskCard } from './card.tsx'

interface ColumnsProps {
  cards: readonly Card[]
  clock: ServerClock
  withGoal: boolean
}

/** Thousands of cards at once would make the page slow. */
const shownAtOnce = 30

interface ColumnProps extends ColumnsProps {
  group: TaskGroup
}

const BoardColumn = ({ group, cards, clock, withGoal }: ColumnProps) => {
  const [count, setCount] = useState(shownAtOnce)
  const id = `column-${group.replace(' ', '-')}`
  return (
    <section className={cards.length === 0 ? 'column empty' : 'column'} aria-labelledby={id}>
      <h3 id={id}>
        {group} <span className="count">{cards.length}</span>
      </h3>
      <ul>
        {cards.slice(0, count).map((card) => (
          <TaskCard key={card.task.id} card={card} clock={clock} withGoal={withGoal} />
        ))}
      </ul>
      {cards.length > count && (
        <button type="button" className="link" onClick={() => setCount(count + shownAtOnce)}>
          {cards.length - count} more
        </button>
      )}
    </section>
  )
}

export const Columns = ({ cards, clock, withGoal }: ColumnsProps) => (
  <div className="board" role="region" aria-label="Tasks by state" tabIndex={0}>
    {workColumns(cards).map((column) => (
      <BoardColumn key={column.group} {...column} clock={clock} withGoal={withGoal} />
    ))}
  </div>
)

interface BoardProps {
  goals: readonly BoardGoal[]
  questions: readonly BoardQuestion[]
  clock: ServerClock
  withGoal: boolean
}

/** The tasks of these goals, whether they have ended or not. */
export const Board = ({ goals, clock, withGoal }: BoardProps) => (
  <section aria-labelledby="board">
    <div className="panel-head">
      <h2 id="board">Tasks</h2>
    </div>
    <Columns cards={workCards(goals, { ...noFilter, goals: 'all' })} clock={clock} withGoal={withGoal} />
  </section>
)
