/** The recoveries of a task: for each the evidence, the action, its success criterion, the observation, and the cost. */
import type { Recovery, Run } from '../../src/api/contract.ts'
import type { ServerClock } from '../logic/clock.ts'
import { conditionText } from '../logic/condition.ts'
import { costText, parametersOf } from '../logic/cost.ts'
import { linkTo } from '../logic/route.ts'
import { words } from '../logic/text.ts'
import { Ago, Badge, TextBlock, Facts, SafeText } from './basics.tsx'

const longPart = 80

const Parts = ({ value }: { value: Record<string, unknown> }) => (
  <>
    {parametersOf(value).map(([name, part]) =>
      part.length > longPart ? (
        <details key={name} className="part">
          <summary>{name}</summary>
          <SafeText text={part} />
        </details>
      ) : (
        <span key={name} className="part">
          {name}: <SafeText text={part} />
        </span>
      ),
    )}
  </>
)

interface EntryProps {
  recovery: Recovery
  runs: readonly Run[]
  clock: ServerClock
}

const Account = ({ recovery, runs }: Omit<EntryProps, 'clock'>) => (
  <Facts
    rows={[
      ['Evidence', <TextBlock key="evidence" text={`${recovery.label}: ${recovery.issueDetected}`} />],
      [
        'Action',
        <span key="action">
          <code>{recovery.action.name}</code> <Parts value={recovery.action} />
        </span>,
      ],
      [
        'Succeeds when',
        <span key="post">
          <SafeText text={conditionText(recovery.postCondition)} />
        </span>,
      ],
      ['Observed', recovery.detail === '' ? 'nothing yet' : <SafeText key="detail" text={recovery.detail} />],
      ['Cost', costText(recovery, runs)],
    ]}
  />
)

const Entry = ({ recovery, runs, clock }: EntryProps) => {
  const run = runs.find(({ id }) => id === recovery.runId)
  return (
    <li>
      <p className="badges">
        <strong>{words(recovery.playbook)}</strong> <Badge state={recovery.status} />
        <span className="quiet">
          attempt {recovery.attempt}
          {run !== undefined && (
            <>
              , <a href={linkTo.run(run.id)}>run {run.number}</a>
            </>
          )}
          , <Ago at={recovery.startedAt} clock={clock} />
        </span>
      </p>
      <Account recovery={recovery} runs={runs} />
    </li>
  )
}

interface TimelineProps {
  recoveries: readonly Recovery[]
  runs: readonly Run[]
  clock: ServerClock
}

export const Timeline = ({ recoveries, runs, clock }: TimelineProps) =>
  recoveries.length === 0 ? (
    <p className="quiet">No recovery was needed.</p>
  ) : (
    <ol className="timeline">
      {recoveries.map((recovery) => (
        <Entry key={recovery.id} recovery={recovery} runs={runs} clock={clock} />
      ))}
    </ol>
  )
