/** What a reviewer answers when it is asked about finished work, in the words of its CLI. */
import type { ReviewPoint, Risk, VerdictWord } from '../../src/domain/judgement.ts'
import { edit, exit, speechOf, type Act, type Script, type Start } from './agents.ts'
import type { SimulatedReview } from './plan.ts'

/** The first changed file, as the question names it. */
const changedFile = ({ spec }: Pick<Start, 'spec'>): string =>
  /"changedFiles": \[\s*"([^"]*)"/.exec(spec.argv.join(' '))?.[1] ?? 'no-file'

/** Words that no other objection has. */
const otherWords = (count: number): string =>
  ['alpha', 'bravo', 'charlie', 'delta'].map((word) => `${word}${'x'.repeat(count + 1)}`).join(' ')

interface Answer {
  verdict: VerdictWord
  risk?: Risk
  points?: ReviewPoint[]
}

const textOf = ({ verdict, risk = 'low', points = [] }: Answer): string =>
  JSON.stringify({ verdict, risk, points, summary: 'Looked at.' })

const point = (path: string, what: string): ReviewPoint => ({ path, severity: 'error', what, why: 'so it is' })

/** `says`: the verdicts that may follow from it. */
interface Said {
  acts: Act[]
  says?: VerdictWord[]
  ends?: Script['ends']
}

const saidBy = (start: Omit<Start, 'behaviour'>, review: SimulatedReview): Said => {
  const speech = speechOf(start)
  const path = changedFile(start)
  const wrong = point(path, 'the value is wrong everywhere')
  const approval = textOf({ verdict: 'approve' })
  const answer = (text: string): Act[] => speech.good(0.02, text)
  switch (review) {
    case 'approve':
      return { acts: answer(approval), says: ['approve'] }
    case 'object':
      return { acts: answer(textOf({ verdict: 'request_changes', points: [wrong] })), says: ['request_changes'] }
    case 'object-anew': {
      const points = [point(path, otherWords(start.count))]
      return { acts: answer(textOf({ verdict: 'request_changes', points })), says: ['request_changes'] }
    }
    case 'contradicts':
      return { acts: answer(textOf({ verdict: 'approve', points: [wrong] })), says: ['request_changes'] }
    case 'object-elsewhere':
      return { acts: answer(textOf({ verdict: 'request_changes', points: [point('no/such/file', 'it is wrong')] })) }
    case 'object-nothing':
      return { acts: answer(textOf({ verdict: 'request_changes' })) }
    case 'risky':
      return { acts: answer(textOf({ verdict: 'approve', risk: 'high' })), says: ['approve'] }
    case 'twice': {
      const first = answer(textOf({ verdict: 'request_changes', points: [wrong] })).slice(0, -1)
      // Either of the two may be taken for its answer, but only one.
      return { acts: [...first, ...answer(approval)], says: ['request_changes', 'approve'] }
    }
    case 'garbage':
      return { acts: answer('I would approve it {"verdict": "approve"') }
    case 'nothing':
      return { acts: answer('') }
    case 'writes':
      return { acts: [edit(path, 'by the reviewer\n'), ...answer(approval)] }
    case 'crash':
      return { acts: [exit(1)], ends: 'badly' }
    case 'quota':
      return { acts: speech.quota, ends: 'badly' }
    case 'hang':
      return { acts: [], ends: 'never' }
  }
}

export const reviewScript = (start: Omit<Start, 'behaviour'>, review: SimulatedReview): Script => {
  const { acts: said, says = [], ends = 'well' } = saidBy(start, review)
  const acts = [...speechOf(start).open, ...said]
  const span = 1_000 + start.dice.int(0, 6_000)
  return {
    ...{ behaviour: undefined, told: `to review: ${review}`, opens: true, deniedBelow: null, ends },
    acts: acts.map((act, index) => ({ at: Math.round((span * (index + 1)) / acts.length), act })),
    verdicts: says,
  }
}
