/** Tasks by state. Wide screens show the columns side by side and scroll within the board; narrow screens stack them. */
import { useState } from 'react'
import { columnsOf, type Column, type BoardGoal, type BoardQuestion } from '../logic/board.ts'
import type { ServerClock } from '../logic/clock.ts'
import { words } from '../logic/text.ts'
import { TaskCard } from './card.tsx'

interface BoardProps {
  goals: readonly BoardGoal[]
  questions: readonly BoardQuestion[]
  clock: ServerClock
  withGoal: boolean
}

/** Thousands of cards at once would make the page slow. */
const shownAtOnce = 30

const BoardColumn = ({ column, board }: { column: Column; board: BoardProps }) => {
  const [count, setCount] = useState(shownAtOnce)
  const { state, cards } = column
  const asked = new Set(board.questions.map(({ taskId }) => taskId))
  return (
    <section className={cards.length === 0 ? 'column empty' : 'column'} aria-labelledby={`column-${state}`}>
      <h3 id={`column-${state}`}>
        {words(state)} <span className="count">{cards.length}</span>
      </h3>
      <ul>
        {cards.slice(0, count).map((card) => (
          <TaskCard
            key={card.task.id}
            card={card}
            clock={board.clock}
            asked={asked.has(card.task.id)}
            withGoal={board.withGoal}
          />
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

export const Board = (props: BoardProps) => {
  const [filter, setFilter] = useState('')
  const columns = columnsOf(props.goals, filter)
  const found = columns.reduce((sum, { cards }) => sum + cards.length, 0)
  return (
    <section aria-labelledby="board">
      <div className="panel-head">
        <h2 id="board">Tasks</h2>
        <input
          type="search"
          placeholder="Filter tasks"
          aria-label="Filter tasks by title, number, harness or state"
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
        />
      </div>
      {filter !== '' && found === 0 && (
        <p role="status" className="quiet">
          No task matches “{filter}”.
        </p>
      )}
      <div className="board" role="region" aria-label="Tasks by state" tabIndex={0}>
        {columns.map((column) => (
          <BoardColumn key={column.state} column={column} board={props} />
        ))}
      </div>
    </section>
  )
}
