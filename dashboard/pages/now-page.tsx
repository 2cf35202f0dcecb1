/** The first page: what needs the reader, what moves, what waits and why, what landed today, and how the engine is. */
import type { StatusView } from '../../src/api/contract.ts'
import { useInbox, useReport } from '../data/queries.ts'
import type { StreamState } from '../data/live-updates.ts'
import { isGoalOver, type BoardGoal, type Card } from '../logic/board.ts'
import { serverTime, type ServerClock } from '../logic/clock.ts'
import { landedMark, movingOf, readyOf, startOfDay, tasksIn, waitingOf, type WaitLine } from '../logic/now.ts'
import { linkTo } from '../logic/route.ts'
import { filterQuery, noFilter } from '../logic/work.ts'
import { plural } from '../logic/text.ts'
import { EngineHealth } from '../parts/engine-health.tsx'
import { GoalLines, Landed } from '../parts/goal-lines.tsx'
import { OtherRepositories } from '../parts/other-repositories.tsx'
import { AskedLine, MovingLine, ReadyLine, WaitingLine } from '../parts/now-lines.tsx'
import { PagePart } from '../parts/page-part.tsx'
import { Scheduled } from '../parts/scheduled.tsx'
import { NoGoal, type PageData } from './board-page.tsx'

export interface NowProps extends PageData {
  status: StatusView
  connection: StreamState | 'gone'
}

/** More lines than a reader takes in at a glance are one link away. */
const mostLines = 12

const workIn = (state: 'running' | 'waiting' | 'needs you'): string => linkTo.work(filterQuery({ ...noFilter, state }))

interface Counts {
  yours: number
  moving: number
  waiting: number
  /** Undefined = not known yet. */
  landed: number | undefined
}

const Tally = ({ yours, moving, waiting, landed }: Counts) => (
  <ul className="tally" aria-label="In short">
    <li className={yours > 0 ? 'bad' : ''}>
      <strong>{yours}</strong> {yours === 1 ? 'needs' : 'need'} you
    </li>
    <li className={moving > 0 ? 'busy' : ''}>
      <strong>{moving}</strong> running
    </li>
    <li className={waiting > 0 ? 'warn' : ''}>
      <strong>{waiting}</strong> waiting
    </li>
    {landed !== undefined && (
      <li className={landed > 0 ? 'good' : ''}>
        <strong>{landed}</strong> landed today
      </li>
    )}
  </ul>
)

const More = ({ count, href, what }: { count: number; href: string; what: string }) =>
  count <= 0 ? null : (
    <p className="more">
      <a href={href}>{plural(count, `more ${what}`, `more ${what}`)}</a>
    </p>
  )

const Yours = ({ goals, clock }: { goals: readonly BoardGoal[]; clock: ServerClock }) => {
  const groups = useInbox().data?.groups ?? []
  const ready = readyOf(goals)
  if (groups.length + ready.length === 0) return null
  return (
    <PagePart title="Needs you" count={groups.reduce((sum, { questions }) => sum + questions.length, 0) + ready.length}>
      <ul className="lines aligned">
        {groups.slice(0, mostLines).map((group) => (
          <AskedLine key={group.id} group={group} clock={clock} />
        ))}
        {ready.map((goal) => (
          <ReadyLine key={goal.id} goal={goal} />
        ))}
      </ul>
      <More count={groups.length - mostLines} href={linkTo.inbox} what="in the inbox" />
    </PagePart>
  )
}

const Moving = ({ cards, clock }: { cards: readonly Card[]; clock: ServerClock }) => (
  <PagePart title="Running" count={cards.length}>
    {cards.length === 0 && <p className="quiet none">No agent works at the moment.</p>}
    <ul className="lines aligned">
      {cards.slice(0, mostLines).map((card) => (
        <MovingLine key={card.task.id} card={card} clock={clock} />
      ))}
    </ul>
    <More count={cards.length - mostLines} href={workIn('running')} what="running" />
  </PagePart>
)

const Waiting = ({ lines, clock }: { lines: readonly WaitLine[]; clock: ServerClock }) => {
  if (lines.length === 0) return null
  return (
    <PagePart title="Waiting" count={tasksIn(lines)}>
      <ul className="lines aligned">
        {lines.slice(0, mostLines).map((line) => (
          <WaitingLine key={line.key} line={line} clock={clock} />
        ))}
      </ul>
      <More count={lines.length - mostLines} href={linkTo.work()} what="in Work" />
    </PagePart>
  )
}

export const NowPage = ({ goals, questions, clock, status, connection }: NowProps) => {
  const since = startOfDay(serverTime(clock, performance.now()))
  const report = useReport(since, landedMark(goals)).data
  if (goals.length + status.endedLeftOut === 0) return <NoGoal />
  const open = goals.filter((goal) => !isGoalOver(goal))
  const [moving, lines] = [movingOf(goals), waitingOf(goals)]
  const counts = { yours: questions.length + readyOf(goals).length, moving: moving.length, waiting: tasksIn(lines) }
  return (
    <div className="now">
      <div className="now-head">
        <h1>Now</h1>
        <Tally {...counts} landed={report?.landed.length} />
      </div>
      <div className="now-main">
        <Yours goals={goals} clock={clock} />
        <Moving cards={moving} clock={clock} />
        <Waiting lines={lines} clock={clock} />
      </div>
      <div className="now-side">
        <GoalLines goals={open} />
        {report !== undefined && <Landed report={report} goals={goals} />}
        <Scheduled schedules={status.schedules} />
        <OtherRepositories />
        <EngineHealth status={status} connection={connection} clock={clock} />
      </div>
    </div>
  )
}
