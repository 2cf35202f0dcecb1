/** Tasks as a table, sorted by its heads; tasks with the same failure may stand under it, with their number. */
import { useState } from 'react'
import type { Card } from '../logic/board.ts'
import type { ServerClock } from '../logic/clock.ts'
import { linkTo } from '../logic/route.ts'
import { whyText } from '../logic/states.ts'
import { plural, visible } from '../logic/text.ts'
import { byCause, type CauseGroup, type SortKey, type WorkFilter } from '../logic/work.ts'
import { Ago, Badge, Countdown, SafeText, StateMark } from './basics.tsx'
import { readableTitle } from '../../src/api/contract.ts'

interface Selection {
  ids: ReadonlySet<string>
  toggle: (id: string) => void
  toggleAll: (cards: readonly Card[]) => void
}

const columns: readonly (readonly [key: SortKey | 'why', head: string])[] = [
  ['task', 'Task'],
  ['state', 'State'],
  ['why', 'Why, and what is next'],
  ['harness', 'Harness'],
  ['attempts', 'Attempts'],
  ['changed', 'Changed'],
]

interface TableProps {
  cards: readonly Card[]
  filter: WorkFilter
  change: (part: Partial<WorkFilter>) => void
  selection: Selection
  clock: ServerClock
}

interface HeadProps {
  column: (typeof columns)[number]
  filter: WorkFilter
  change: TableProps['change']
}

const Head = ({ column: [key, head], filter, change }: HeadProps) => {
  if (key === 'why') return <th scope="col">{head}</th>
  const isSorted = filter.sort === key
  const sorted = isSorted ? (filter.down ? 'descending' : 'ascending') : 'none'
  return (
    <th scope="col" aria-sort={sorted} className={key}>
      <button type="button" className="sort" onClick={() => change({ sort: key, down: isSorted && !filter.down })}>
        {head}
      </button>
    </th>
  )
}

const isAll = (cards: readonly Card[], { ids }: Selection): boolean =>
  cards.length > 0 && cards.every(({ task }) => ids.has(task.id))

interface RowProps {
  card: Card
  selection: Selection
  clock: ServerClock
  withGoal: boolean
  /** The group names it. */
  withoutCause: boolean
}

const Row = ({ card: { task, goal }, selection, clock, withGoal, withoutCause }: RowProps) => {
  const title = readableTitle(task.title)
  const why = withoutCause && task.run?.failure?.text === whyText(task) ? '' : whyText(task)
  return (
    <tr data-row="" className={selection.ids.has(task.id) ? 'selected' : ''}>
      <td className="select">
        <input
          type="checkbox"
          data-select=""
          aria-label={`Select #${task.number} ${visible(title)}`}
          checked={selection.ids.has(task.id)}
          onChange={() => selection.toggle(task.id)}
        />
      </td>
      <td className="task">
        <a href={linkTo.task(task.id)} data-open="">
          <span className="number">#{task.number}</span> <SafeText text={title} />
        </a>
        {withGoal && (
          <span className="quiet goal-name">
            <SafeText text={goal.title} />
          </span>
        )}
      </td>
      <td className="state-cell">
        <StateMark task={task} />{' '}
        {task.nextStep?.at !== undefined && <Countdown at={task.nextStep.at} status={task.status} clock={clock} />}
        {task.status === 'done' && task.run !== null && (task.run.outcome ?? 'verified') !== 'verified' && (
          <Badge state={task.run.outcome ?? ''} />
        )}
      </td>
      <td className="why" title={visible(why)}>
        <SafeText text={why} />
      </td>
      <td className="quiet harness">
        <SafeText text={task.harness} />
      </td>
      <td className="quiet attempts">
        {task.run === null ? (
          ''
        ) : (
          <a href={linkTo.run(task.run.id)} aria-label={`Attempt ${task.run.number} of #${task.number}`}>
            {task.run.number}
          </a>
        )}
      </td>
      <td className="quiet changed">
        <Ago at={task.changedAt} clock={clock} />
      </td>
    </tr>
  )
}

interface GroupHeadProps {
  group: CauseGroup
  selection: Selection
}

const GroupHead = ({ group: { cause, cards }, selection }: GroupHeadProps) => (
  <tr className="group-head">
    <td className="select">
      <input
        type="checkbox"
        aria-label={`Select ${plural(cards.length, 'task')}: ${visible(cause?.text ?? 'without a failure')}`}
        checked={isAll(cards, selection)}
        onChange={() => selection.toggleAll(cards)}
      />
    </td>
    <th scope="rowgroup" colSpan={columns.length}>
      <span className="times">{cards.length}×</span>{' '}
      {cause === undefined ? 'without a failure' : <SafeText text={cause.text} />}
    </th>
  </tr>
)

/** Thousands of rows at once would make the page slow. */
const shownAtOnce = 100

export const TaskTable = ({ cards, filter, change, selection, clock }: TableProps) => {
  const [count, setCount] = useState(shownAtOnce)
  const shown = cards.slice(0, count)
  const isGrouped = filter.group === 'cause'
  const groups = isGrouped ? byCause(shown) : [{ cause: undefined, cards: shown }]
  return (
    <>
      <div className="table-frame">
        <table className="tasks">
          <thead>
            <tr>
              <th scope="col" className="select">
                <input
                  type="checkbox"
                  aria-label={`Select all ${cards.length}`}
                  checked={isAll(cards, selection)}
                  onChange={() => selection.toggleAll(cards)}
                />
              </th>
              {columns.map((column) => (
                <Head key={column[0]} column={column} filter={filter} change={change} />
              ))}
            </tr>
          </thead>
          {groups.map((group) => (
            <tbody key={group.cause?.key ?? ''}>
              {isGrouped && <GroupHead group={group} selection={selection} />}
              {group.cards.map((card) => (
                <Row
                  key={card.task.id}
                  {...{ card, selection, clock }}
                  withGoal={filter.goal === ''}
                  withoutCause={isGrouped}
                />
              ))}
            </tbody>
          ))}
        </table>
      </div>
      {cards.length > count && (
        <button type="button" className="link" onClick={() => setCount(count + shownAtOnce)}>
          Show {Math.min(shownAtOnce, cards.length - count)} more of {cards.length - count}
        </button>
      )}
    </>
  )
}
