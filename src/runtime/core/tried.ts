/** What was tried against a failure, for a person: each kind of recovery once, with its count and its last result. Pure. */
import { actionText } from '../../domain/action-text.ts'
import type { Recovery } from '../../store/recovery.ts'

type Tried = Pick<Recovery, 'action' | 'status' | 'detail'>

const longest = 160

const shortened = (text: string): string => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text)

const timesText = (count: number): string => (count === 1 ? 'once' : count === 2 ? 'twice' : `${count} times`)

const resultText = ({ status, detail }: Tried, evidence: string): string => {
  if (status === 'success') return ': it helped, but the task failed later'
  if (detail === '') return ''
  // The question has just named this failure: a person should see at once that nothing changed.
  if (evidence !== '' && detail.endsWith(evidence)) return ', with the same result'
  return `: ${shortened(detail.replaceAll(/\s+/g, ' '))}`
}

/** One line for each kind of recovery, in the order of the first attempt. `evidence`: the failure that the question is about. */
export const triedLines = (recoveries: readonly Tried[], evidence = ''): string[] => {
  const groups = Map.groupBy(recoveries, ({ action }) => actionText(action))
  return [...groups].flatMap(([what, all]) => {
    const last = all.at(-1)
    return last === undefined ? [] : [`${what} ${timesText(all.length)}${resultText(last, evidence)}`]
  })
}

/** The text of a question: what happened, then what was tried. The choices follow it, so it does not list them. */
export const questionWithTried = (happened: string, tried: readonly string[]): string =>
  tried.length === 0 ? happened : `${happened} Tried: ${tried.join('; ')}.`
