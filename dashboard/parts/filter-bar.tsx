/** The filters of the page of all work. They are plain fields of the browser, so that they work by keyboard and on a phone. */
import { filterQuery, noFilter, type optionsOf, type Option, type WorkFilter } from '../logic/work.ts'
import { linkTo } from '../logic/route.ts'
import { visible } from '../logic/text.ts'

interface ChoiceProps {
  label: string
  value: string
  any: string
  options: readonly Option[]
  choose: (value: string) => void
}

const shownText = 60

const cut = (text: string): string => (text.length > shownText ? `${text.slice(0, shownText)}…` : text)

/** A value of the address that no task has any more stays a choice, so that the reader sees why the page is empty. */
const Choice = ({ label, value, any, options, choose }: ChoiceProps) => (
  <label className="filter">
    <span>{label}</span>
    <select value={value} onChange={({ target }) => choose(target.value)} className={value === '' ? '' : 'chosen'}>
      <option value="">{any}</option>
      {value !== '' && !options.some((option) => option.value === value) && (
        <option value={value}>{cut(visible(value))}</option>
      )}
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {cut(visible(option.text))}
        </option>
      ))}
    </select>
  </label>
)

interface FilterBarProps {
  filter: WorkFilter
  options: ReturnType<typeof optionsOf>
  change: (part: Partial<WorkFilter>) => void
}

export const FilterBar = ({ filter, options, change }: FilterBarProps) => {
  const isPlain = filterQuery({ ...filter, view: 'table' }) === ''
  return (
    <form className="filters" role="search" aria-label="Filter tasks" onSubmit={(event) => event.preventDefault()}>
      <label className="filter search">
        <span>Text</span>
        <input
          type="search"
          data-search=""
          aria-keyshortcuts="/"
          placeholder="Title, number, failure …  /"
          value={filter.text}
          onChange={({ target }) => change({ text: target.value })}
        />
      </label>
      <Choice
        {...{ label: 'State', value: filter.state, any: 'any state', options: options.states }}
        choose={(value) => change({ state: value as WorkFilter['state'] })}
      />
      <Choice
        {...{ label: 'Cause', value: filter.cause, any: 'any cause', options: options.causes }}
        choose={(cause) => change({ cause })}
      />
      <Choice
        {...{ label: 'Goal', value: filter.goal, any: 'any goal', options: options.goals }}
        choose={(goal) => change({ goal })}
      />
      <Choice
        {...{ label: 'Harness', value: filter.harness, any: 'any harness', options: options.harnesses }}
        choose={(harness) => change({ harness })}
      />
      <label className="filter">
        <span>Show</span>
        <select
          value={filter.goals}
          onChange={({ target }) => change({ goals: target.value === 'all' ? 'all' : 'open', goal: '' })}
        >
          <option value="open">open goals</option>
          <option value="all">ended goals too</option>
        </select>
      </label>
      {filter.view === 'table' && (
        <label className="filter check">
          <input
            type="checkbox"
            checked={filter.group === 'cause'}
            onChange={({ target }) => change({ group: target.checked ? 'cause' : '' })}
          />
          <span>Group by cause</span>
        </label>
      )}
      {!isPlain && <a href={linkTo.work(filterQuery({ ...noFilter, view: filter.view }))}>Reset</a>}
    </form>
  )
}
