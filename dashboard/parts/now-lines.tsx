/** One line for each thing that needs the reader, moves or waits. Text that does not fit is cut; the page of the task has all of it. */
import { questionTopic, readableTitle } from '../../src/api/contract.ts'
import { goalAction } from '../data/actions.ts'
import { useActivity } from '../data/queries.ts'
import { progressOf, type BoardGoal, type Card } from '../logic/board.ts'
import type { ServerClock } from '../logic/clock.ts'
import { nameOf } from '../logic/inbox.ts'
import type { AskedGroup, WaitLine } from '../logic/now.ts'
import { linkTo } from '../logic/route.ts'
import { groupOf, withoutCommands } from '../logic/states.ts'
import { plural, shortTokensText, tokensText, visible } from '../logic/text.ts'
import { filterQuery, noFilter } from '../logic/work.ts'
import { Actions } from './actions.tsx'
import { Ago, Countdown, Elapsed, SafeText, StateMark } from './basics.tsx'

export const AskedLine = ({ group, clock }: { group: AskedGroup; clock: ServerClock }) => {
  const [first, ...others] = group.questions
  if (first === undefined) return null
  return (
    <li className="line-of asked-line" data-row="">
      <span className="state bad">{questionTopic(first)}</span>
      <span className="what">
        <a href={linkTo.question(first.id)} data-open="">
          <SafeText text={nameOf(first)} />
        </a>
        {others.length > 0 && <span className="quiet"> and {others.length} more</span>}
      </span>
      <span className="why">
        <SafeText text={group.cause} />
      </span>
      <span className="clock quiet">
        <Ago at={first.createdAt} clock={clock} />
      </span>
    </li>
  )
}

/** Finished work lands only where a person says so. */
export const ReadyLine = ({ goal }: { goal: BoardGoal }) => {
  const { all } = progressOf(goal)
  const canLand = goal.actions.includes('land')
  return (
    <li className="line-of asked-line" data-row="">
      <span className="state good">ready to land</span>
      <span className="what">
        <a href={linkTo.goal(goal.id)} data-open="">
          <SafeText text={goal.title} />
        </a>
      </span>
      <span className="why">
        {goal.reason === '' || goal.reason === goal.mergeCommand ? (
          <>
            {plural(all, 'task')} for {visible(goal.targetBranch ?? 'a branch of yours')}
          </>
        ) : (
          <SafeText text={goal.reason} />
        )}
      </span>
      <span className="clock">
        {canLand && <Actions actions={[goalAction('land', goal)]} about={`goal ${visible(goal.title)}`} />}
      </span>
    </li>
  )
}

/** The agent's last line, or the check that runs; before the first line the phase. */
const Doing = ({ card: { task }, run }: { card: Card; run: string }) => {
  const { data } = useActivity(run)
  const check = data?.check ?? null
  const said = data?.report ?? data?.last ?? null
  const phase = withoutCommands(task.nextStep?.text ?? '')
  return (
    <>
      <span className="why" title={phase}>
        {check !== null && <code>$ {visible(check)}</code>}
        {check === null && said !== null && <code>{visible(said.replaceAll(/\s+/g, ' '))}</code>}
        {check === null && said === null && <SafeText text={phase} />}
      </span>
      <span className="clock quiet" title={data === undefined ? '' : tokensText(data.tokens)}>
        {data !== undefined && data.tokens > 0 && `${shortTokensText(data.tokens)} tokens`}
      </span>
    </>
  )
}

/** The goal stands beside it, because numbers count within a goal. */
const What = ({ card: { task, goal } }: { card: Card }) => (
  <span className="what">
    <a href={linkTo.task(task.id)} data-open="">
      <span className="number">#{task.number}</span> <SafeText text={readableTitle(task.title)} />
    </a>{' '}
    <span className="quiet">
      <SafeText text={goal.title} />
    </span>
  </span>
)

export const MovingLine = ({ card, clock }: { card: Card; clock: ServerClock }) => {
  const { run } = card.task
  return (
    <li className="line-of" data-row="">
      <span className="state busy">{run === null ? 'starting' : <Elapsed from={run.startedAt} clock={clock} />}</span>
      <What card={card} />
      {run === null ? <span className="why">preparing</span> : <Doing card={card} run={run.id} />}
    </li>
  )
}

const Several = ({ line: { cards } }: { line: WaitLine }) => {
  const [first] = cards
  if (first === undefined) return null
  const query = filterQuery({ ...noFilter, goal: first.goal.id, state: groupOf(first.task) })
  return (
    <span className="what">
      <a href={linkTo.work(query)} data-open="">
        {plural(cards.length, 'task')}
      </a>{' '}
      <span className="quiet">
        <SafeText text={first.goal.title} />
      </span>
    </span>
  )
}

export const WaitingLine = ({ line, clock }: { line: WaitLine; clock: ServerClock }) => {
  const [first] = line.cards
  if (first === undefined) return null
  const { task } = first
  return (
    <li className="line-of" data-row="">
      <StateMark task={task} />
      {line.cards.length === 1 ? <What card={first} /> : <Several line={line} />}
      <span className="why">
        <SafeText text={line.why} />
      </span>
      <span className="clock">
        {line.at !== undefined && <Countdown at={line.at} status={task.status} clock={clock} />}
      </span>
    </li>
  )
}
