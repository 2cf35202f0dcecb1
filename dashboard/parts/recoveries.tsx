/** What was tried when something failed: for each attempt what was seen, what was done, what it should bring about, and what it came to. */
import { actionText, type Recovery, type Run } from '../../src/api/contract.ts'
import type { ServerClock } from '../logic/clock.ts'
import { conditionText } from '../logic/condition.ts'
import { costText } from '../logic/cost.ts'
import { linkTo } from '../logic/route.ts'
import { capitalised } from '../logic/text.ts'
import { Ago, SafeText, TextBlock } from './basics.tsx'

interface EntryProps {
  recovery: Recovery
  runs: readonly Run[]
  clock: ServerClock
}

/** The text that the agent was given, as it was. */
const Told = ({ action }: { action: Recovery['action'] }) => {
  const { hint } = action
  return typeof hint !== 'string' || hint === '' ? null : (
    <details>
      <summary>What the agent was told</summary>
      <TextBlock text={hint} />
    </details>
  )
}

const results: Record<Recovery['status'], { text: string; tone: string }> = {
  acting: { text: 'not decided yet', tone: 'busy' },
  success: { text: 'it helped', tone: 'good' },
  failed: { text: 'it did not help', tone: 'bad' },
}

const Entry = ({ recovery, runs, clock }: EntryProps) => {
  const run = runs.find(({ id }) => id === recovery.runId)
  const { text, tone } = results[recovery.status]
  return (
    <li>
      <p className="badges">
        <strong>{capitalised(actionText(recovery.action))}</strong> <span className={`badge ${tone}`}>{text}</span>
      </p>
      <p>
        <span className="quiet">Because:</span> <SafeText text={recovery.issueDetected} />
      </p>
      {recovery.detail !== '' && (
        <p>
          <span className="quiet">Then:</span> <SafeText text={recovery.detail} />
        </p>
      )}
      {recovery.status === 'acting' && (
        <p>
          <span className="quiet">It has helped when</span> <SafeText text={conditionText(recovery.postCondition)} />.
        </p>
      )}
      <p className="quiet">
        {run !== undefined && (
          <>
            <a href={linkTo.run(run.id)}>run {run.number}</a> ·{' '}
          </>
        )}
        <Ago at={recovery.startedAt} clock={clock} /> · {costText(recovery, runs)}
      </p>
      <Told action={recovery.action} />
    </li>
  )
}

interface RecoveriesProps {
  recoveries: readonly Recovery[]
  runs: readonly Run[]
  clock: ServerClock
}

export const Recoveries = ({ recoveries, runs, clock }: RecoveriesProps) =>
  recoveries.length === 0 ? (
    <p className="quiet">No recovery was tried.</p>
  ) : (
    <ol className="timeline">
      {recoveries.map((recovery) => (
        <Entry key={recovery.id} recovery={recovery} runs={runs} clock={clock} />
      ))}
    </ol>
  )
