import { expect, test } from 'vitest'
import { readReviewAnswer, reviewAnswerSchema, riskOfSize, riskRefusal, type ReviewAnswer } from './review-answer.ts'

const limits = { maxFiles: 100, maxLines: 1000 }
const facts = { changedPaths: ['a.ts', 'b.ts'], size: { files: 2, lines: 10 }, limits }
const point = { path: 'a.ts', line: 3, severity: 'error' as const, what: 'It loses data', why: 'the file is cut' }
const answer = (more: Partial<ReviewAnswer> = {}): ReviewAnswer => ({
  ...{ verdict: 'approve', risk: 'low', points: [], summary: 'fine', ...more },
})

test('an approval without an error is one, and its notes are kept', () => {
  const note = { ...point, severity: 'note' as const }
  expect(readReviewAnswer(answer({ points: [note] }), facts)).toMatchObject({
    ...{ kind: 'verdict', verdict: 'approve', risk: 'low', points: [note] },
  })
})

test('an approval with an error is an objection', () => {
  expect(readReviewAnswer(answer({ points: [point] }), facts)).toMatchObject({ verdict: 'request_changes' })
})

test('points on files that the work did not change are dropped', () => {
  const stray = { ...point, path: 'c.ts' }
  const read = readReviewAnswer(answer({ verdict: 'request_changes', points: [stray, point] }), facts)
  expect(read).toMatchObject({ verdict: 'request_changes', points: [point], reason: 'the reviewer objects in 1 point' })
  const note = { ...stray, severity: 'note' as const }
  expect(readReviewAnswer(answer({ points: [note] }), facts)).toMatchObject({ verdict: 'approve', points: [] })
})

test.each(['./a.ts', '/a.ts', 'a/a.ts', 'b/a.ts'])('a point on %s is about a.ts', (path) => {
  expect(readReviewAnswer(answer({ points: [{ ...point, path }] }), facts)).toMatchObject({
    ...{ verdict: 'request_changes', points: [point] },
  })
})

test('an approval with an error on another file contradicts itself, and is no verdict', () => {
  expect(readReviewAnswer(answer({ points: [{ ...point, path: 'c.ts' }] }), facts)).toEqual({
    ...{ kind: 'unusable', problem: 'it approves, and names an error in "c.ts", which the work did not change' },
  })
})

test('an objection without a point on a changed file is no verdict', () => {
  expect(readReviewAnswer(answer({ verdict: 'request_changes' }), facts)).toEqual({
    ...{ kind: 'unusable', problem: 'it objects without a point on a changed file' },
  })
})

test.each([
  [{ files: 10, lines: 100 }, 'low'],
  [{ files: 30, lines: 100 }, 'medium'],
  [{ files: 10, lines: 501 }, 'high'],
] as const)('the size has a risk of its own: %j', (size, risk) => {
  expect(riskOfSize(size, limits)).toBe(risk)
  expect(readReviewAnswer(answer(), { ...facts, size })).toMatchObject({ risk })
})

test('a limit that is off gives no risk', () => {
  expect(riskOfSize({ files: 999, lines: 99_999 }, { maxFiles: -1, maxLines: -1 })).toBe('low')
})

test('the ceiling outvotes an approval', () => {
  expect(riskRefusal('medium', 'medium')).toBeUndefined()
  expect(riskRefusal('high', 'medium')).toBe(
    'the reviewer approves, but the risk is high and judge.maxRisk allows medium at most',
  )
})

test.each([
  ['a word that is no verdict', { ...answer(), verdict: 'ok' }],
  ['a missing risk', { verdict: 'approve', points: [], summary: '' }],
  ['a point without words', answer({ verdict: 'request_changes', points: [{ ...point, what: '' }] })],
  ['too many points', answer({ points: Array.from({ length: 51 }, () => point) })],
])('an answer that does not match is none: %s', (_, given) => {
  expect(reviewAnswerSchema.safeParse(given).success).toBe(false)
})
