/** The head of a goal: progress, spend, why it waits, and what a person may do with it. */
import { goalAction } from '../data/actions.ts'
import { redText } from '../../src/api/contract.ts'
import { progressOf, type BoardGoal, type BoardQuestion } from '../logic/board.ts'
import { spanText } from '../logic/clock.ts'
import { remainingActions } from '../logic/questions.ts'
import { moneyText, plural, tokensText, visible } from '../logic/text.ts'
import { Actions } from './actions.tsx'
import { Badge, CommandLine, SafeText } from './basics.tsx'
import { BudgetUses } from './goal-report.tsx'
import { GoalLink } from './links.tsx'

const spendText = ({ spend, limits }: BoardGoal): string => {
  const of = (limit: number | undefined, text: (value: number) => string): string =>
    limit === undefined || limit <= 0 ? '' : ` of ${text(limit)}`
  const seconds = (value: number): string => spanText(value * 1000)
  return [
    `${tokensText(spend.tokens)}${of(limits.goalTokens, tokensText)}`,
    `${moneyText(spend.costUsd)}${of(limits.goalCostUsd, moneyText)}`,
    `${seconds(spend.seconds)}${of(limits.goalSeconds, seconds)} of agent time`,
  ].join(' · ')
}

const Progress = ({ goal }: { goal: BoardGoal }) => {
  const { done, all } = progressOf(goal)
  return (
    <div className="progress">
      <progress value={done} max={Math.max(1, all)} aria-label={`Progress of ${visible(goal.title)}`} />
      <span>
        {done} of {plural(all, 'task')} done
      </span>
    </div>
  )
}

const waits = new Set<BoardGoal['state']>(['paused', 'awaiting_human', 'failed', 'cancelled'])

/** The reason of a ready goal is its merge command, which is shown below, unless the goal could not land. */
const tellsReason = ({ state, reason, mergeCommand }: BoardGoal): boolean =>
  waits.has(state) || (state === 'ready' && reason !== mergeCommand)

const GoalTitle = ({ goal, whole }: { goal: BoardGoal; whole: boolean }) => (
  <div className="goal-title">
    {whole ? (
      <h1>
        <SafeText text={goal.title} />
      </h1>
    ) : (
      <h2>
        <GoalLink goal={goal} />
      </h2>
    )}
    <Badge state={goal.state} />
  </div>
)

interface GoalActionsProps {
  goal: BoardGoal
  /** Shown on the same page; what its choices offer is left out. */
  question?: BoardQuestion
}

export const GoalActions = ({ goal, question }: GoalActionsProps) => (
  <Actions
    actions={remainingActions(goal.actions, question?.choices ?? []).flatMap((kind) =>
      kind === 'hint' ? [] : [goalAction(kind, goal)],
    )}
    about={`goal ${visible(goal.title)}`}
  />
)

/** A check that fails on the branch of the user since the goal has landed there; the command undoes the work that made it fail. */
export const FailsOnTarget = ({ goal: { landing, targetBranch } }: { goal: BoardGoal }) => {
  const { target } = landing
  if (target?.state !== 'failed') return null
  return (
    <>
      <p>
        <span className="badge warn">fails on {visible(targetBranch ?? 'your branch')}</span>{' '}
        <SafeText text={target.detail} />
      </p>
      {target.taskId !== null && (
        <>
          <p>To undo that work with a new commit on {visible(targetBranch ?? 'your branch')}:</p>
          <CommandLine text={`unstuck revert ${target.taskId}`} />
        </>
      )}
    </>
  )
}

/** `whole` = on the page of the goal; `question` = the one that this page shows below the head. */
export const GoalHead = ({ goal, whole, question }: GoalActionsProps & { whole: boolean }) => (
  <article className="goal" aria-label={`Goal ${visible(goal.title)}`}>
    <GoalTitle goal={goal} whole={whole} />
    {goal.reason !== '' && tellsReason(goal) && (
      <p className="reason">
        <SafeText text={goal.reason} />
      </p>
    )}
    <Progress goal={goal} />
    {goal.stillFailing.length > 0 && (
      <p>
        <span className="badge warn">still failing, as before the work</span>{' '}
        <SafeText text={redText(goal.stillFailing)} />
      </p>
    )}
    {whole ? (
      <BudgetUses goal={goal} />
    ) : (
      <p className="quiet">
        {spendText(goal)} · <code>{goal.id}</code>
      </p>
    )}
    {goal.mergeCommand !== null && (
      <>
        <p>Ready, but not on {visible(goal.targetBranch ?? 'a branch of yours')} yet. To land it:</p>
        <CommandLine text={goal.mergeCommand} />
      </>
    )}
    <FailsOnTarget goal={goal} />
    {question === undefined && <GoalActions goal={goal} />}
  </article>
)
