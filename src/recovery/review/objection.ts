/** Objections to finished work: what makes two of them the same, and how they are told. Pure. */
import type { ReviewPoint } from '../../domain/judgement.ts'
import { digestOf } from '../signature.ts'

/** Short words carry no meaning of their own, and a reviewer words the same point differently each time. */
const wordsOf = ({ what }: ReviewPoint): Set<string> =>
  new Set((what.toLowerCase().match(/[\p{L}_$][\p{L}\p{N}_$]*/gu) ?? []).filter((word) => word.length > 3))

const shareInCommon = (one: Set<string>, other: Set<string>): number => {
  const smaller = Math.min(one.size, other.size)
  if (smaller === 0) return one.size === other.size ? 1 : 0
  return [...one].filter((word) => other.has(word)).length / smaller
}

const isSamePoint = (one: ReviewPoint, other: ReviewPoint): boolean =>
  one.path === other.path && shareInCommon(wordsOf(one), wordsOf(other)) >= 0.5

/** What has to be corrected; where nothing is an error, all points. */
const weighty = (points: readonly ReviewPoint[]): readonly ReviewPoint[] => {
  const errors = points.filter(({ severity }) => severity === 'error')
  return errors.length === 0 ? points : errors
}

/**
 * Whether an objection was raised before: each of its points has one in the earlier objection that is about the same file and says the
 * same. Lines are not compared, because they move.
 */
export const isSameObjection = (points: readonly ReviewPoint[], earlier: readonly ReviewPoint[]): boolean =>
  points.length > 0 && weighty(points).every((point) => earlier.some((before) => isSamePoint(point, before)))

/** Equal for objections in the same files with the same severities. */
export const objectionKey = (points: readonly ReviewPoint[]): string =>
  digestOf([...new Set(points.map(({ path, severity }) => `${severity} ${path ?? ''}`))].sort().join('\n'))

const mostNamed = 20

const placeOf = ({ path, line }: ReviewPoint): string =>
  path === null ? '' : `${path}${line === undefined ? '' : `:${line}`}: `

export const pointLine = (point: ReviewPoint): string =>
  `${placeOf(point)}${point.what}${point.why === '' ? '' : ` (${point.why})`}`

/** One line for each point, the errors first. */
export const pointLines = (points: readonly ReviewPoint[]): string[] => {
  const ordered = points.toSorted((a, b) => Number(b.severity === 'error') - Number(a.severity === 'error'))
  const lines = ordered.slice(0, mostNamed).map((point) => `- [${point.severity}] ${pointLine(point)}`)
  return ordered.length > mostNamed ? [...lines, `- and ${ordered.length - mostNamed} more`] : lines
}

/** The first point, for a line of text. */
export const objectionText = (points: readonly ReviewPoint[]): string => {
  const [first, ...more] = weighty(points)
  if (first === undefined) return 'no reason was given'
  return `${pointLine(first).slice(0, 300)}${more.length === 0 ? '' : ` and ${more.length} more`}`
}

const titleStart = /^\[AutoFix\] PR #\d+: /

/** Named once, however many tasks the line has. `number`: of the pull request, else of the judgement. */
export const autoFixTitle = (number: number, title: string): string =>
  `[AutoFix] PR #${number}: ${title.replace(titleStart, '')}`

const heading = '## Objection to the work'

/** The instructions of the parent, and what to correct. The section of an earlier objection is replaced. */
export const autoFixInstructions = (
  { number, instructions }: { number: number; instructions: string },
  { points, summary, by }: { points: readonly ReviewPoint[]; summary: string; by: string },
): string => {
  const at = instructions.lastIndexOf(`\n${heading}\n`)
  return [
    (at === -1 ? instructions : instructions.slice(0, at)).trimEnd(),
    '',
    heading,
    `Task ${number} did this work before you, and ${by} objects to it. Its changes are in the workspace: read them first, keep what is right, and correct these points:`,
    ...pointLines(points),
    ...(summary === '' ? [] : [`In short: ${summary.slice(0, 1_000)}`]),
    'Where a point is wrong, leave the code as it is and say why in your final message.',
  ].join('\n')
}
