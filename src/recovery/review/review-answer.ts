/** The answer of a reviewer, and what of it counts. Pure. */
import { z } from 'zod'
import type { ChangeLimits } from '../../domain/change-size.ts'
import { highestRisk, isRiskAbove, risks, severities, verdictWords } from '../../domain/judgement.ts'
import type { ReviewPoint, Risk, VerdictWord } from '../../domain/judgement.ts'

const words = (list: readonly string[]): string => `allowed: ${list.map((word) => `"${word}"`).join(', ')}`
const text = (most: number) =>
  z.string({ error: 'allowed: a text' }).max(most, { error: `allowed: at most ${most} characters` })
const mostPoints = 50

/** The harness gets it as a JSON Schema. */
export const reviewAnswerSchema = z.object({
  verdict: z.enum(verdictWords, { error: words(verdictWords) }),
  risk: z.enum(risks, { error: words(risks) }),
  points: z
    .array(
      z.object({
        path: text(4096),
        line: z
          .int({ error: 'allowed: the number of a line' })
          .min(1, { error: 'allowed: the number of a line' })
          .nullish(),
        severity: z.enum(severities, { error: words(severities) }),
        what: text(2000).min(1, { error: 'allowed: a sentence' }),
        why: text(2000),
      }),
      { error: 'allowed: a list of points' },
    )
    .max(mostPoints, { error: `allowed: at most ${mostPoints} points` }),
  summary: text(4000),
})

export type ReviewAnswer = z.output<typeof reviewAnswerSchema>

/** `unusable`: it says nothing that could be acted on, so it is no verdict. */
export type Reviewed =
  | { kind: 'verdict'; verdict: VerdictWord; risk: Risk; points: ReviewPoint[]; summary: string; reason: string }
  | { kind: 'unusable'; problem: string }

interface ReviewFacts {
  changedPaths: readonly string[]
  size: { files: number; lines: number }
  limits: ChangeLimits
}

const shareOf = (value: number, limit: number): number => (limit <= 0 ? 0 : value / limit)

/** By size alone: more than half of what the owner allows without a question is much. */
export const riskOfSize = ({ files, lines }: ReviewFacts['size'], { maxFiles, maxLines }: ChangeLimits): Risk => {
  const share = Math.max(shareOf(files, maxFiles), shareOf(lines, maxLines))
  return share > 0.5 ? 'high' : share > 0.25 ? 'medium' : 'low'
}

const countedPoints = (count: number): string => (count === 1 ? '1 point' : `${count} points`)

/** As git names it: reviewers also write it as a diff does, or as a shell would. */
const changedPath = (path: string, changedPaths: readonly string[]): string | undefined =>
  [path, path.replace(/^(?:\.?\/)+/, ''), path.replace(/^[ab]\//, '')].find((name) => changedPaths.includes(name))

/**
 * Points on files that the work did not change are dropped. An approval with an error among its points contradicts itself, so it is none;
 * neither is an objection without a point that the work could be corrected by.
 */
export const readReviewAnswer = (answer: ReviewAnswer, { changedPaths, size, limits }: ReviewFacts): Reviewed => {
  const points = answer.points.flatMap(({ line, ...point }): ReviewPoint[] => {
    const path = changedPath(point.path, changedPaths)
    return path === undefined ? [] : [{ ...point, path, ...(line == null ? {} : { line }) }]
  })
  const isError = ({ severity }: Pick<ReviewPoint, 'severity'>): boolean => severity === 'error'
  const errors = points.filter(isError).length
  const elsewhere = errors === 0 ? answer.points.find(isError) : undefined
  if (answer.verdict === 'approve' && elsewhere !== undefined)
    return {
      kind: 'unusable',
      problem: `it approves, and names an error in ${JSON.stringify(elsewhere.path.slice(0, 200))}, which the work did not change`,
    }
  const { summary } = answer
  const verdict = answer.verdict === 'approve' && errors === 0 ? 'approve' : 'request_changes'
  const risk = highestRisk([answer.risk, riskOfSize(size, limits)])
  if (verdict === 'approve')
    return { kind: 'verdict', verdict, risk, points, summary, reason: 'the reviewer found no error' }
  if (points.length === 0) return { kind: 'unusable', problem: 'it objects without a point on a changed file' }
  const reason = `the reviewer objects in ${countedPoints(points.length)}`
  return { kind: 'verdict', verdict, risk, points, summary, reason }
}

/** Why an approval of a reviewer does not count; undefined = it does. */
export const riskRefusal = (risk: Risk, ceiling: Risk): string | undefined =>
  isRiskAbove(risk, ceiling)
    ? `the reviewer approves, but the risk is ${risk} and judge.maxRisk allows ${ceiling} at most`
    : undefined
