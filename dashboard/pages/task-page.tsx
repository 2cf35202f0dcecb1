/** One task: what happens next, what a person may do, its time, its changes and checks, what was tried, and its runs. */
import type { Run } from '../../src/api/contract.ts'
import { taskAction } from '../data/actions.ts'
import { useJudgements, useRecoveries, useRuns } from '../data/queries.ts'
import type { Card, BoardQuestion, BoardTask } from '../logic/board.ts'
import { spanText, type ServerClock } from '../logic/clock.ts'
import { isAboutWork, remainingActions, questionsHere } from '../logic/questions.ts'
import { linkTo } from '../logic/route.ts'
import { moneyText, tokensText, visible, words } from '../logic/text.ts'
import { Actions } from '../parts/actions.tsx'
import { Ago, Badge, CommandLine, Countdown, Loading, SafeText, Section } from '../parts/basics.tsx'
import { NextStep } from '../parts/card.tsx'
import { EditTask } from '../parts/edit.tsx'
import { FailsOnTarget } from '../parts/goal.tsx'
import { JudgementSection } from '../parts/judgement.tsx'
import { GoalLink } from '../parts/links.tsx'
import { OwnQuestions } from '../parts/questions.tsx'
import { History } from '../parts/history.tsx'
import { AboutTask, PathFence, TaskCost } from '../parts/about-task.tsx'
import { Checks } from '../parts/check-logs.tsx'
import { DiffSection } from '../parts/diff.tsx'
import { Recoveries } from '../parts/recoveries.tsx'
import { Timeline } from '../parts/timeline.tsx'
import type { PageData } from './board-page.tsx'
import { NotFound } from './not-found.tsx'
import { readableTitle } from '../../src/api/contract.ts'

const Runs = ({ runs, clock }: { runs: readonly Run[]; clock: ServerClock }) => (
  <ul className="rows">
    {runs.toReversed().map((run) => (
      <li key={run.id}>
        <a href={linkTo.run(run.id)}>Run {run.number}</a> <Badge state={run.state} />{' '}
        <span className="quiet">
          {run.harness}, <Ago at={run.startedAt} clock={clock} />, {tokensText(run.spend.tokens)},{' '}
          {moneyText(run.spend.costUsd)}, {spanText(run.spend.seconds * 1000)}
          {run.errorMeta !== null && (
            <>
              , <SafeText text={words(run.errorMeta.failureCode)} />
            </>
          )}
        </span>
      </li>
    ))}
  </ul>
)

/** Where a person continues a task; the next run collects the work only after it was given back. */
const TakenOver = ({ takenOver }: { takenOver: NonNullable<BoardTask['takenOver']> }) => (
  <div className="taken-over">
    <p>This task was taken over. To work on it, run this in a terminal:</p>
    <CommandLine text={visible(takenOver.command)} />
    <p className="quiet">When you are done, give it back. Its checks run, and it lands like the work of an agent.</p>
  </div>
)

/** Everything that the question on the same page does not offer. */
const TaskActions = ({ task, question }: { task: BoardTask; question?: BoardQuestion }) => {
  const actions = remainingActions(task.actions, question?.choices ?? [])
    // The folder is shown already.
    .filter((kind) => kind !== 'take-over' || task.takenOver === null || task.takenOver.givenBack)
  return (
    <div className="stack">
      <Actions
        actions={actions.flatMap((kind) => (kind === 'edit' ? [] : [taskAction(kind, task)]))}
        about={`task ${visible(readableTitle(task.title))}`}
      />
      {actions.includes('edit') && <EditTask task={task} />}
    </div>
  )
}

const TaskHead = ({ card, asked, clock }: { card: Card; asked: boolean; clock: ServerClock }) => {
  const { task, goal } = card
  return (
    <article className="goal">
      <p className="quiet">
        <GoalLink goal={goal} />
      </p>
      <h1>
        <span className="number">#{task.number}</span> <SafeText text={readableTitle(task.title)} />
      </h1>
      <p className="badges">
        <Badge state={task.status} />
        {task.nextStep?.at !== undefined && <Countdown at={task.nextStep.at} status={task.status} clock={clock} />}
      </p>
      <NextStep task={task} asked={asked} />
      {task.status === 'blocked(issue_linking)' && <CommandLine text={`unstuck link ${task.id} <issue>`} />}
      {task.takenOver !== null && !task.takenOver.givenBack && <TakenOver takenOver={task.takenOver} />}
      {goal.landing.target?.taskId === task.id && <FailsOnTarget goal={goal} />}
    </article>
  )
}

const Tried = ({ id, runs, clock }: { id: string; runs: readonly Run[]; clock: ServerClock }) => {
  const { data } = useRecoveries(id)
  return (
    <Section title="What was tried">
      {data === undefined ? <Loading what="the recoveries" /> : <Recoveries {...{ recoveries: data, runs, clock }} />}
    </Section>
  )
}

/** The newest one; the pages of the runs have the others. */
const Judged = ({ id, clock }: { id: string; clock: ServerClock }) => {
  const judgement = useJudgements(id).data?.toSorted((a, b) => b.number - a.number)[0]
  return judgement === undefined ? null : <JudgementSection judgement={judgement} clock={clock} />
}

const Attempts = ({ runs, clock }: { runs: readonly Run[] | undefined; clock: ServerClock }) => (
  <Section title="Runs">
    {runs === undefined ? <Loading what="runs" /> : <Runs runs={runs} clock={clock} />}
    {runs?.length === 0 && <p className="quiet">No run yet.</p>}
  </Section>
)

interface BodyProps {
  card: Card
  question: BoardQuestion | undefined
  clock: ServerClock
}

const Body = ({ card, question, clock }: BodyProps) => {
  const { id } = card.task
  const { data: runs } = useRuns(id)
  const newest = runs?.at(-1)
  return (
    <>
      {newest !== undefined && <Timeline id={id} clock={clock} />}
      <div className="columns">
        <div>
          {newest !== undefined && <Checks run={newest} title={`Verdict of run ${newest.number}`} />}
          <Judged id={id} clock={clock} />
          <Tried id={id} runs={runs ?? []} clock={clock} />
        </div>
        <div>
          <Attempts runs={runs} clock={clock} />
          {runs !== undefined && runs.length > 0 && <TaskCost runs={runs} />}
          {card.task.review === null && <PathFence task={card.task} run={newest} />}
          <AboutTask card={card} />
        </div>
      </div>
      {/* The question shows the change already when it is about finished work. */}
      {newest !== undefined && (question === undefined || !isAboutWork(question)) && (
        <DiffSection run={newest} arrive={false} task={card.task} />
      )}
    </>
  )
}

export const TaskPage = ({ id, picture }: { id: string; picture: PageData }) => {
  const { clock } = picture
  const card = picture.goals
    .flatMap((goal) => goal.tasks.map((task) => ({ task, goal })))
    .find(({ task }) => task.id === id)
  if (card === undefined) return <NotFound what={`task ${id}`} />
  const here = questionsHere(picture.questions, { page: 'task', id })
  // A task has at most one open question.
  const [question] = here
  return (
    <>
      <TaskHead card={card} asked={question !== undefined} clock={clock} />
      <OwnQuestions questions={here} goals={picture.goals} clock={clock} />
      {/* Always here: if a question moved it, a form that is being filled in would lose its text. */}
      {card.task.actions.length > 0 && (
        <section className="panel" aria-label="Actions">
          <TaskActions task={card.task} {...(question === undefined ? {} : { question })} />
        </section>
      )}
      <Body card={card} question={question} clock={clock} />
      <History id={id} />
    </>
  )
}
