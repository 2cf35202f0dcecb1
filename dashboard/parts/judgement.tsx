/** Whether the work of a run may land: the verdict, who gave it, and the points of an objection. */
import type { Judgement } from '../../src/api/contract.ts'
import { moneyText, tokensText } from '../logic/text.ts'
import { SafeText, Section } from './basics.tsx'

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

const whoText = ({ mode, harness, model, decidedBy }: Judgement): string => {
  if (decidedBy !== null) return `by ${decidedBy}`
  if (harness !== null) return `by ${harness}${model === null ? '' : ` (${model})`}`
  return mode === 'human' ? 'by you' : 'by the gates'
}

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

export const JudgementSection = ({ judgement }: { judgement: Judgement }) => {
  const { text, tone } = verdictOf(judgement)
  const { points, summary, reason, risk, spend } = judgement
  return (
    <Section title="Judgement">
      <p>
        <span className={`badge ${tone}`}>{text}</span> <SafeText text={whoText(judgement)} />
        {reason !== '' && (
          <>
            {': '}
            <SafeText text={reason} />
          </>
        )}
      </p>
      {points.length > 0 && (
        <ul className="plain">
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
      {judgement.harness !== null && (
        <p className="quiet">
          {risk !== null && `risk ${risk} · `}
          {tokensText(spend.tokens)} · {moneyText(spend.costUsd)}
        </p>
      )}
    </Section>
  )
}
