/** All tasks as a table or a board: filtered and sorted by what the address says, equal failures together, several at once. */
import { useMemo, useState } from 'react'
import { useStatus } from '../data/queries.ts'
import { replaceAddress } from '../data/address.ts'
import type { Card } from '../logic/board.ts'
import { linkTo } from '../logic/route.ts'
import { filterQuery, noFilter, optionsOf, parseFilter, workCards, type WorkFilter } from '../logic/work.ts'
import { Columns } from '../parts/board.tsx'
import { BulkBar } from '../parts/bulk-bar.tsx'
import { FilterBar } from '../parts/filter-bar.tsx'
import { TaskTable } from '../parts/task-table.tsx'
import { NoGoal, type PageData } from './board-page.tsx'

/** Tasks that the filter hides are not selected: what a person does not see is not changed. */
const useSelection = (cards: readonly Card[]) => {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const selected = cards.filter(({ task }) => ids.has(task.id))
  const toggle = (id: string): void => {
    const next = new Set(ids)
    if (!next.delete(id)) next.add(id)
    setIds(next)
  }
  /** Selects all of them, or none if all are selected. */
  const toggleAll = (own: readonly Card[]): void => {
    const next = new Set(ids)
    const whole = own.every(({ task }) => next.has(task.id))
    for (const { task } of own) {
      if (whole) next.delete(task.id)
      else next.add(task.id)
    }
    setIds(next)
  }
  return { ids, selected, toggle, toggleAll, clear: () => setIds(new Set()) }
}

const ViewChoice = ({ filter }: { filter: WorkFilter }) => (
  <nav className="tabs" aria-label="View">
    {(['table', 'board'] as const).map((view) => (
      <a
        key={view}
        href={linkTo.work(filterQuery({ ...filter, view }))}
        {...(filter.view === view ? { 'aria-current': 'true' as const } : {})}
      >
        {view === 'table' ? 'Table' : 'Board'}
      </a>
    ))}
  </nav>
)

const NothingFound = ({ filter }: { filter: WorkFilter }) => {
  const isFiltered = filterQuery({ ...filter, view: 'table', sort: 'state', down: false, group: '' }) !== ''
  return (
    <p role="status" className="quiet none">
      {isFiltered ? (
        <>
          No task matches.{' '}
          <a href={linkTo.work(filterQuery({ ...noFilter, view: filter.view }))}>Show all open tasks</a>
        </>
      ) : (
        <>
          No goal is open. <a href={linkTo.work(filterQuery({ ...filter, goals: 'all' }))}>Show ended goals</a>
        </>
      )}
    </p>
  )
}

interface WorkProps extends PageData {
  query: string
}

export const WorkPage = ({ query, goals, leftOut, clock }: WorkProps) => {
  const filter = useMemo(() => parseFilter(query), [query])
  const older = useStatus(filter.goals === 'all' && leftOut > 0 ? true : null)
  const known = older.data?.goals ?? goals
  const cards = useMemo(() => workCards(known, filter), [known, filter])
  const options = useMemo(() => optionsOf(known, filter), [known, filter])
  const selection = useSelection(cards)
  const change = (part: Partial<WorkFilter>): void => replaceAddress(linkTo.work(filterQuery({ ...filter, ...part })))
  if (goals.length + leftOut === 0) return <NoGoal />
  return (
    <section className="work" aria-labelledby="work">
      <div className="work-head">
        <h1 id="work">Work</h1>
        <ViewChoice filter={filter} />
        <span className="quiet" role="status">
          {cards.length} {cards.length === 1 ? 'task' : 'tasks'}
        </span>
      </div>
      <FilterBar filter={filter} options={options} change={change} />
      {cards.length === 0 && <NothingFound filter={filter} />}
      {cards.length > 0 && filter.view === 'board' && (
        <Columns cards={cards} clock={clock} withGoal={filter.goal === ''} />
      )}
      {cards.length > 0 && filter.view === 'table' && (
        <TaskTable cards={cards} filter={filter} change={change} selection={selection} clock={clock} />
      )}
      <BulkBar selected={filter.view === 'table' ? selection.selected : []} clear={selection.clear} />
    </section>
  )
}
