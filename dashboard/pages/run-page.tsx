/** One run: its phase, its live log, its changes, and its checks, corrections and recoveries. */
import type { Run } from '../../src/api/contract.ts'
import { useJudgements, useRecoveries, useRun, useRuns } from '../data/queries.ts'
import { isRequestFailure } from '../data/client.ts'
import type { BoardGoal } from '../logic/board.ts'
import { dateText, serverTime, spanText, type ServerClock } from '../logic/clock.ts'
import type { RunPart } from '../logic/route.ts'
import { moneyText, tokensText } from '../logic/text.ts'
import { Ago, Badge, Facts, Loading, SafeText, Section } from '../parts/basics.tsx'
import { DiffSection } from '../parts/diff.tsx'
import { JudgementSection } from '../parts/judgement.tsx'
import { GoalLink, TaskLink } from '../parts/links.tsx'
import { LogSection } from '../parts/log.tsx'
import { Checks, ErrorReport, Launches, Phases } from '../parts/run.tsx'
import { History } from '../parts/history.tsx'
import { Timeline } from '../parts/timeline.tsx'
import type { PageData } from './board-page.tsx'
import { NotFound } from './not-found.tsx'

const lasted = (run: Run, clock: ServerClock): string => {
  const end = run.endedAt === null ? serverTime(clock, performance.now()) : Date.parse(run.endedAt)
  return spanText(end - Date.parse(run.startedAt))
}

const Breadcrumbs = ({ run, goals }: { run: Run; goals: readonly BoardGoal[] }) => {
  const goal = goals.find(({ id }) => id === run.goalId)
  const task = goal?.tasks.find(({ id }) => id === run.taskId)
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
    <Phases run={run} />
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

const Recoveries = ({ run, clock }: { run: Run; clock: ServerClock }) => {
  const runs = useRuns(run.taskId)
  const recoveries = useRecoveries(run.taskId)
  return (
    <Section title="Recoveries">
      <Timeline
        recoveries={(recoveries.data ?? []).filter(({ runId }) => runId === run.id)}
        runs={runs.data ?? [run]}
        clock={clock}
      />
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
      <div className="columns">
        <div>
          <LogSection id={id} arrive={part === 'log'} find={find} />
          <DiffSection run={run} arrive={part === 'diff'} />
        </div>
        <div>
          <Judged run={run} clock={picture.clock} />
          <Recoveries run={run} clock={picture.clock} />
          <Checks run={run} />
          <Launches run={run} clock={picture.clock} />
          <Details run={run} />
        </div>
      </div>
      <History id={id} />
    </>
  )
}
