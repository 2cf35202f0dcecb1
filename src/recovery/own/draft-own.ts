/** A playbook for a failure that happened, for the owner to complete: its pattern fits the line of the cause, not one run alone. Pure. */
import { RE2JS } from 're2js'

export interface DraftFailure {
  failure: 'check' | 'agent'
  /** Of a check. */
  command?: string
  /** The line of the cause. */
  line: string
}

const longestLine = 200

/** What differs between two runs: numbers, ids and times, hashes, and the folder of a run. */
const varying: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/(?:\/[\w.@+-]+){2,}\//g, String.raw`\S*/`],
  [/\b(?=[0-9a-f]*\d)[0-9a-f]{7,}\b/gi, '[0-9A-Fa-f]+'],
  [/\d+/g, String.raw`\d+`],
]

/** Each part between what varies is quoted, so that it matches only itself. */
const patternOf = (text: string, [first, ...rest] = varying): string => {
  if (first === undefined) return RE2JS.quote(text)
  const [varies, instead] = first
  return text
    .split(varies)
    .map((part) => (part === '' ? '' : patternOf(part, rest)))
    .join(instead)
}

export const draftOf = ({ failure, command, line }: DraftFailure): object => ({
  title: 'What is wrong, in your words',
  match: {
    failure,
    ...(command === undefined ? {} : { command: `^${RE2JS.quote(command)}$` }),
  },
  evidence: { pattern: patternOf(line.trim().slice(0, longestLine)) },
  action: { type: 'wait', seconds: 60 },
  budget: 2,
  then: 'ask',
})
