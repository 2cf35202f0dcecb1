/**
 * The form of a classifier rule, and how a family of them is written down: one row each, read as data. A pattern is applied
 * to one line of bounded length, uses neither look-around nor back-references nor nested quantifiers, and reads how a tool
 * announces a cause; it never holds words of a single sample.
 */
import type { Label } from '../labels.ts'
import type { Refinement } from '../refine.ts'

export type Stream = 'stdout' | 'stderr' | 'either'

export interface Rule {
  id: string
  family: string
  /** The tools whose wording this is; a standard (`POSIX`, `GNU`) where many tools share it. */
  tools: readonly string[]
  stream: Stream
  pattern: RegExp
  /** Only with one of these exit codes. */
  exits?: readonly number[]
  label: Label
  /** How surely this line is the cause: 90 names it, 70 is the tool's own verdict, 40 any program's, 20 a mere hint. */
  specificity: number
  /** Looks at what the pattern caught (a path, a module's name) to settle the label, or to refuse. */
  refine?: Refinement
  /** Where it differs from the label's row in the table. */
  infra?: boolean
  action?: string
  code?: string
  /** Tool and version, or the documentation that has the wording. */
  source: string
  example: string
  /** A line that looks alike and must not match. */
  counter?: string
}

type More = Partial<Pick<Rule, 'stream' | 'exits' | 'refine' | 'infra' | 'action' | 'code' | 'counter'>>
export type Row = [
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

export const rulesOf = (family: string, rows: readonly Row[]): Rule[] =>
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
