/**
 * The form of a classifier rule, and the compact rows in which a family of rules is written. A pattern matches one line of
 * bounded length, without look-around, back-references or nested quantifiers. It describes how a tool reports a cause, never
 * the words of a single sample.
 */
import type { Label } from '../labels.ts'
import type { Refinement } from '../refine.ts'

export type RuleStream = 'stdout' | 'stderr' | 'either'

export interface Rule {
  id: string
  family: string
  /** The tools with this wording; a standard (`POSIX`, `GNU`) where many tools share it. */
  tools: readonly string[]
  stream: RuleStream
  pattern: RegExp
  /** The rule applies only with one of these exit codes. */
  exits?: readonly number[]
  label: Label
  /** How certainly this line is the cause: 90 names it, 70 is the tool's own verdict, 40 a generic message, 20 only a hint. */
  specificity: number
  /** Refines the label by what the pattern captured (a path, a module's name), or rejects the match. */
  refine?: Refinement
  /** Overrides of the label's row in `labels`. */
  infra?: boolean
  action?: string
  code?: string
  /** Tool and version, or the documentation that has the wording. */
  source: string
  example: string
  /** A similar line that must not match. */
  counter?: string
}

type More = Partial<Pick<Rule, 'stream' | 'exits' | 'refine' | 'infra' | 'action' | 'code' | 'counter'>>
export type RuleRow = [
  id: string,
  label: Label,
  specificity: number,
  source: string,
  pattern: RegExp,
  example: string,
  more?: More,
]

/** `source` is "tool version, tool version" or "tool: where it is documented"; its first words name the tools. */
const toolsOf = (source: string): string[] =>
  source.split(', ').map((part) => part.replace(/(:.*| v?\d[\w.]*)$/, '').trim())

export const rulesOf = (family: string, rows: readonly RuleRow[]): Rule[] =>
  rows.map(([id, label, specificity, source, pattern, example, more]) => ({
    id: `${family}/${id}`,
    family,
    tools: toolsOf(source),
    stream: 'either',
    pattern,
    label,
    specificity,
    source,
    example,
    ...more,
  }))
