/** Whether the work of a run may land: the verdict, who gave it, and the points of an objection. */
import type { Judgement } from '../../src/api/contract.ts'
import type { ServerClock } from '../logic/clock.ts'
import { moneyText, tokensText } from '../logic/text.ts'
import { Ago, SafeText, Section } from './basics.tsx'

const tones = { approve: 'good', request_changes: 'bad' } as const

const stateWords = {
  claimed: 'in review',
  waiting: 'waits for its reviewer',
  asked: 'waits for you',
  decided: 'decided',
  withdrawn: 'withdrawn',
} as const

const verdictOf = ({ verdict, state }: Judgement): { text: string; tone: string } => {
  if (verdict === 'approve') return { text: 'approved', tone: tones.approve }
  if (verdict === 'request_changes') return { text: 'changes requested', tone: tones.request_changes }
  return { text: stateWords[state], tone: 'warn' }
}

const reviewerText = ({ harness, model }: Judgement): string =>
  harness === null ? '' : `${harness}${model === null ? '' : ` (${model})`}`

/** Who gave the verdict; without one, who is asked. */
const whoText = (judgement: Judgement): string => {
  const { verdict, decidedBy } = judgement
  const reviewer = reviewerText(judgement)
  if (verdict === null) return reviewer === '' ? '' : `reviewer ${reviewer}`
  if (decidedBy !== null) return `by ${decidedBy}`
  return reviewer === '' ? 'by the gates' : `by ${reviewer}`
}

/** The badge says already that a person decides. */
const reasonText = ({ mode, state, harness, reason }: Judgement): string =>
  mode === 'human' && state === 'asked' && harness === null && reason === 'a person decides' ? '' : reason

const Point = ({ point: { path, line, severity, what, why } }: { point: Judgement['points'][number] }) => (
  <li>
    <span className={`badge ${severity === 'error' ? 'bad' : 'warn'}`}>{severity}</span>{' '}
    {path !== null && (
      <code>
        <SafeText text={line === undefined ? path : `${path}:${line}`} />
      </code>
    )}{' '}
    <SafeText text={why === '' ? what : `${what} (${why})`} />
  </li>
)

/** Which commit was judged and when, and what the reviewer made of it. */
const Account = ({ judgement, clock }: JudgementProps) => {
  const { commit, risk, spend, harness, changedAt } = judgement
  return (
    <p className="quiet">
      {commit !== null && (
        <>
          commit <code>{commit.slice(0, 12)}</code> ·{' '}
        </>
      )}
      <Ago at={changedAt} clock={clock} />
      {risk !== null && ` · risk ${risk}`}
      {harness !== null && ` · ${tokensText(spend.tokens)} · ${moneyText(spend.costUsd)}`}
    </p>
  )
}

interface JudgementProps {
  judgement: Judgement
  clock: ServerClock
}

export const JudgementSection = ({ judgement, clock }: JudgementProps) => {
  const { text, tone } = verdictOf(judgement)
  const { points, summary } = judgement
  const said = [whoText(judgement), reasonText(judgement)].filter((part) => part !== '').join(': ')
  return (
    <Section title="Judgement">
      <div className="spaced">
        <p>
          <span className={`badge ${tone}`}>{text}</span> <SafeText text={said} />
        </p>
        {points.length > 0 && (
          <ul className="plain spaced">
            {points.map((point) => (
              <Point key={`${point.path} ${point.line} ${point.what}`} point={point} />
            ))}
          </ul>
        )}
        {summary !== '' && (
          <p>
            <SafeText text={summary} />
          </p>
        )}
        <Account judgement={judgement} clock={clock} />
      </div>
    </Section>
  )
}
