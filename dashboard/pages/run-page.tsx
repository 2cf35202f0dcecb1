/** One run: its phase, its live log, its changes, and its checks, corrections and recoveries. */
import type { Run } from '../../src/api/contract.ts'
import { useJudgements, useRecoveries, useRun, useRuns } from '../data/queries.ts'
import { isRequestFailure } from '../data/client.ts'
import type { BoardGoal, BoardTask } from '../logic/board.ts'
import { dateText, serverTime, spanText, type ServerClock } from '../logic/clock.ts'
import type { RunPart } from '../logic/route.ts'
import { moneyText, tokensText } from '../logic/text.ts'
import { Ago, Badge, Facts, Loading, SafeText, Section } from '../parts/basics.tsx'
import { DiffSection } from '../parts/diff.tsx'
import { JudgementSection } from '../parts/judgement.tsx'
import { GoalLink, TaskLink } from '../parts/links.tsx'
import { LogSection } from '../parts/log.tsx'
import { Checks } from '../parts/check-logs.tsx'
import { Recoveries } from '../parts/recoveries.tsx'
import { ErrorReport, Launches, Phases } from '../parts/run.tsx'
import { History } from '../parts/history.tsx'
import type { PageData } from './board-page.tsx'
import { NotFound } from './not-found.tsx'

const lasted = (run: Run, clock: ServerClock): string => {
  const end = run.endedAt === null ? serverTime(clock, performance.now()) : Date.parse(run.endedAt)
  return spanText(end - Date.parse(run.startedAt))
}

const taskOf = (run: Run, goals: readonly BoardGoal[]): BoardTask | undefined =>
  goals.find(({ id }) => id === run.goalId)?.tasks.find(({ id }) => id === run.taskId)

const Breadcrumbs = ({ run, goals }: { run: Run; goals: readonly BoardGoal[] }) => {
  const goal = goals.find(({ id }) => id === run.goalId)
  const task = taskOf(run, goals)
  return (
    <p className="quiet">
      {goal !== undefined && <GoalLink goal={goal} />}
      {task !== undefined && (
        <>
          {' / '}
          <TaskLink task={task} />
        </>
      )}
    </p>
  )
}

const RunHead = ({ run, picture: { goals, clock } }: { run: Run; picture: PageData }) => (
  <article className="goal">
    <Breadcrumbs run={run} goals={goals} />
    <div className="goal-title">
      <h1>Run {run.number}</h1>
      <Badge state={run.state} />
    </div>
    {run.state !== 'success' && <Phases run={run} />}
    <p className="quiet">
      <SafeText text={run.harness} /> · started <Ago at={run.startedAt} clock={clock} /> · {lasted(run, clock)} ·{' '}
      {tokensText(run.spend.tokens)} · {moneyText(run.spend.costUsd)} · <code>{run.id}</code>
    </p>
  </article>
)

const Details = ({ run }: { run: Run }) => (
  <Section title="Details">
    <Facts
      rows={[
        ['Agent', run.agentId],
        ['Session', run.sessionId === null ? null : <SafeText key="session" text={run.sessionId} />],
        ['Base', run.baseCommit === null ? null : <code key="base">{run.baseCommit.slice(0, 12)}</code>],
        ['Commit', run.commit === null ? null : <code key="commit">{run.commit.slice(0, 12)}</code>],
        ['Judged', run.judgedAt === null ? null : dateText(run.judgedAt)],
      ]}
    />
  </Section>
)

const Tried = ({ run, clock }: { run: Run; clock: ServerClock }) => {
  const runs = useRuns(run.taskId)
  const { data } = useRecoveries(run.taskId)
  const recoveries = (data ?? []).filter(({ runId }) => runId === run.id)
  return (
    <Section title="What was tried">
      <Recoveries recoveries={recoveries} runs={runs.data ?? [run]} clock={clock} />
    </Section>
  )
}

const Judged = ({ run, clock }: { run: Run; clock: ServerClock }) => {
  const judgement = useJudgements(run.taskId).data?.find(({ runId }) => runId === run.id)
  return judgement === undefined ? null : <JudgementSection judgement={judgement} clock={clock} />
}

interface RunPageProps {
  id: string
  part: RunPart | undefined
  /** A text to find in the log. */
  find: string | undefined
  picture: PageData
}

export const RunPage = ({ id, part, find, picture }: RunPageProps) => {
  const { data: run, error } = useRun(id)
  if (run === undefined) {
    if (isRequestFailure(error) && error.status === 404) return <NotFound what={`run ${id}`} />
    return <Loading what="the run" />
  }
  return (
    <>
      <RunHead run={run} picture={picture} />
      {run.errorMeta !== null && <ErrorReport error={run.errorMeta} />}
      <LogSection run={run} arrive={part === 'log'} find={find} />
      <div className="columns">
        <div>
          <Checks run={run} />
          <Tried run={run} clock={picture.clock} />
        </div>
        <div>
          <Judged run={run} clock={picture.clock} />
          <Launches run={run} clock={picture.clock} />
          <Details run={run} />
        </div>
      </div>
      <DiffSection run={run} arrive={part === 'diff'} task={taskOf(run, picture.goals)} />
      <History id={id} />
    </>
  )
}
