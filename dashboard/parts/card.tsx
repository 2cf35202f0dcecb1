/** A task on the board: its state, and why it does not move or what it does. A wait counts down beside the state. */
import { ownerText, type Card } from '../logic/board.ts'
import type { ServerClock } from '../logic/clock.ts'
import { linkTo } from '../logic/route.ts'
import { groupOf, groupTone, taskWord, whyText } from '../logic/states.ts'
import { capitalised, plural } from '../logic/text.ts'
import { Badge, Countdown, SafeText, StateMark } from './basics.tsx'
import { readableTitle } from '../../src/api/contract.ts'

export const NextStep = ({ task, asked }: { task: Card['task']; asked: boolean }) => {
  const { nextStep } = task
  if (nextStep === null)
    return (
      <p className="step stuck">
        <strong>No next step.</strong> This is a bug in Unstuck: run <code>unstuck doctor</code> and report its output.
      </p>
    )
  if (nextStep.owner === 'nobody')
    return nextStep.text === 'ended' ? null : (
      <p className="step quiet">
        <SafeText text={capitalised(nextStep.text)} />
      </p>
    )
  return (
    <p className="step">
      <span className="owner">{ownerText(nextStep.owner)}:</span>{' '}
      {asked ? 'answer its question' : <SafeText text={nextStep.text} />}
    </p>
  )
}

const Attempts = ({ task }: { task: Card['task'] }) => (
  <p className="quiet meta">
    <span>
      <SafeText text={task.harness} />
    </span>
    {task.run !== null && (
      <a href={linkTo.run(task.run.id)} aria-label={`run ${task.run.number} of task ${task.number}`}>
        run {task.run.number}
      </a>
    )}
    {task.recoveries > 0 && <span>{plural(task.recoveries, 'recovery', 'recoveries')}</span>}
  </p>
)

/** Shown only where the checks did not verify the work. */
const Unverified = ({ outcome }: { outcome: NonNullable<Card['task']['run']>['outcome'] }) =>
  outcome === null || outcome === 'verified' ? null : <Badge state={outcome} />

interface TaskCardProps {
  card: Card
  clock: ServerClock
  /** Names the goal, where the board holds tasks of several. */
  withGoal: boolean
}

export const TaskCard = ({ card: { task, goal }, clock, withGoal }: TaskCardProps) => {
  const why = whyText(task)
  const group = groupOf(task)
  // The head of the column says it already.
  const isNamed = taskWord(task) === group && group !== 'failed'
  return (
    <li className={`card ${groupTone(group)}`} data-row="">
      <h4>
        <a href={linkTo.task(task.id)} data-open="">
          <span className="number">#{task.number}</span> <SafeText text={readableTitle(task.title)} />
        </a>
      </h4>
      {withGoal && (
        <p className="quiet goal-name">
          <SafeText text={goal.title} />
        </p>
      )}
      <p className="badges">
        {!isNamed && <StateMark task={task} />}
        {task.status === 'done' && <Unverified outcome={task.run?.outcome ?? null} />}
        {task.nextStep?.at !== undefined && <Countdown at={task.nextStep.at} status={task.status} clock={clock} />}
      </p>
      {why !== '' && (
        <p className="step">
          <SafeText text={why} />
        </p>
      )}
      <Attempts task={task} />
    </li>
  )
}
