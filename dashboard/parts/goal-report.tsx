/** What became of each task of a goal and what it cost, as a table, and as a page for somebody who has no dashboard. */
import { useGoalRuns } from '../data/queries.ts'
import { saveFile } from '../data/save-file.ts'
import type { BoardGoal } from '../logic/board.ts'
import { dateText, serverTime, type ServerClock } from '../logic/clock.ts'
import { reportHtml, reportRows, spentOf, type ReportRow } from '../logic/goal-report.ts'
import { linkTo } from '../logic/route.ts'
import { moneyText } from '../logic/text.ts'
import { SafeText, Section } from './basics.tsx'

/** What is used of each budget; without one only the number. */
export const BudgetUses = ({ goal }: { goal: BoardGoal }) => (
  <dl className="spend">
    {spentOf(goal).map(({ name, text, share }) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>
          {text}
          {share !== undefined && (
            <progress
              className={share >= 0.9 ? 'bad' : share >= 0.7 ? 'warn' : ''}
              value={Math.min(1, share)}
              max={1}
              aria-label={`${name} used`}
            />
          )}
        </dd>
      </div>
    ))}
  </dl>
)

const Row = ({ row }: { row: ReportRow }) => (
  <tr>
    <td className="numeric">{row.number}</td>
    <th scope="row">
      <a href={linkTo.task(row.id)}>
        <SafeText text={row.title} />
      </a>
    </th>
    <td>{row.status}</td>
    <td>
      <SafeText text={row.result} />
    </td>
    <td className="numeric">{row.runs}</td>
    <td className="numeric">{row.recoveries}</td>
    <td className="numeric">{row.tokens.toLocaleString('en')}</td>
    <td className="numeric">{moneyText(row.costUsd)}</td>
  </tr>
)

const columns = [
  ['#', 'numeric'],
  ['Task', ''],
  ['State', ''],
  ['Result', ''],
  ['Runs', 'numeric'],
  ['Recoveries', 'numeric'],
  ['Tokens', 'numeric'],
  ['Money', 'numeric'],
] as const

export const GoalReport = ({ goal, clock }: { goal: BoardGoal; clock: ServerClock }) => {
  const { data: runs } = useGoalRuns(goal.id)
  if (runs === undefined) return null
  const rows = reportRows(goal, runs)
  const save = (): void => {
    const at = dateText(new Date(serverTime(clock, performance.now())).toISOString())
    saveFile(`unstuck-${goal.id}.html`, 'text/html', [reportHtml(goal, rows, at)])
  }
  const download = (
    <button type="button" onClick={save}>
      Download report
    </button>
  )
  return (
    <Section title="Report" extra={download}>
      <div className="table-scroll" tabIndex={0} role="group" aria-label="Report">
        <table className="report">
          <thead>
            <tr>
              {columns.map(([name, className]) => (
                <th key={name} scope="col" className={className}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <Row key={row.id} row={row} />
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  )
}
