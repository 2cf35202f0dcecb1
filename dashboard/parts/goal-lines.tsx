/** The open goals with their progress, and what landed today. */
import type { ReportView } from '../../src/api/contract.ts'
import { readableTitle } from '../../src/api/contract.ts'
import { progressOf, type BoardGoal } from '../logic/board.ts'
import { linkTo } from '../logic/route.ts'
import { moneyText, plural, tokensText, visible } from '../logic/text.ts'
import { Badge, SafeText } from './basics.tsx'
import { GoalLink } from './links.tsx'
import { PagePart } from './page-part.tsx'

const mostGoals = 8
const mostLanded = 8

const GoalLine = ({ goal }: { goal: BoardGoal }) => {
  const { done, all } = progressOf(goal)
  return (
    <li className="goal-line">
      <span className="what">
        <GoalLink goal={goal} />
      </span>
      <span className="quiet tally-of">
        {goal.state !== 'active' && <Badge state={goal.state} />} {done}/{all}
      </span>
      <progress value={done} max={Math.max(1, all)} aria-label={`Progress of ${visible(goal.title)}`} />
    </li>
  )
}

/** The newest first. */
export const GoalLines = ({ goals }: { goals: readonly BoardGoal[] }) => (
  <PagePart title="Goals" count={goals.length}>
    {goals.length === 0 && (
      <p className="quiet none">
        No goal is open. To start one: <code>unstuck run "…"</code>
      </p>
    )}
    <ul className="lines">
      {goals
        .toSorted((a, b) => b.createdAt.localeCompare(a.createdAt))
        .slice(0, mostGoals)
        .map((goal) => (
          <GoalLine key={goal.id} goal={goal} />
        ))}
    </ul>
    {goals.length > mostGoals && (
      <p className="more">
        <a href={linkTo.work()}>{goals.length - mostGoals} more in Work</a>
      </p>
    )}
  </PagePart>
)

const spentText = ({ spent: { tokens, costUsd } }: ReportView): string =>
  tokens === 0 ? '' : `${tokensText(tokens)}${costUsd === 0 ? '' : `, ${moneyText(costUsd)}`}`

const helpedText = ({ recovered }: ReportView): string => {
  const helped = recovered.filter(({ status }) => status === 'success').length
  return helped === 0 ? '' : plural(helped, 'failure recovered', 'failures recovered')
}

export const Landed = ({ report, goals }: { report: ReportView; goals: readonly BoardGoal[] }) => {
  const titleOf = (id: string): string => goals.find((goal) => goal.id === id)?.title ?? ''
  const rest = report.landed.length - mostLanded
  const summary = [helpedText(report), spentText(report)].filter((text) => text !== '').join(' · ')
  return (
    <PagePart title="Landed today" count={report.landed.length}>
      {report.landed.length === 0 && <p className="quiet none">Nothing yet.</p>}
      <ul className="lines">
        {report.landed.slice(-mostLanded).map((entry) => (
          <li key={entry.task} className="goal-line">
            <span className="what">
              <a href={linkTo.task(entry.task)}>
                <SafeText text={readableTitle(entry.title)} />
              </a>{' '}
              <span className="quiet">
                <SafeText text={titleOf(entry.goal)} />
              </span>
            </span>
            {entry.outcome !== null && entry.outcome !== 'verified' && <Badge state={entry.outcome} />}
          </li>
        ))}
      </ul>
      {rest > 0 && <p className="more quiet">and {rest} earlier</p>}
      {report.failing.map((entry) => (
        <p key={entry.goal} className="none bad-text">
          <SafeText text={`Fails on your branch since: ${entry.detail}`} />
        </p>
      ))}
      {summary !== '' && <p className="quiet none">Today: {summary}.</p>}
    </PagePart>
  )
}
