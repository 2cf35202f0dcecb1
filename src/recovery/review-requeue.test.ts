import { describe, expect, it, test } from 'vitest'
import { chooseReviewMove, restoreLimit, reviewRules, type ReviewFacts, type ReviewMove } from './review-requeue.ts'

const base: ReviewFacts = {
  ...{ status: 'blocked(awaiting_judge)', isReview: true, run: 'none', hasFix: false, restored: 0, started: 0 },
}

const failed = { status: 'failed' } as const
const rework = { status: 'blocked(needs_rework)' } as const

describe('a review task that failed', () => {
  test('pr_review_failed_to_awaiting_judge: a run of it waits for the judge', () => {
    expect(chooseReviewMove({ ...base, ...failed, run: 'pending' })).toEqual({
      ...{ kind: 'await_judge', reason: 'pr_review_failed_to_awaiting_judge' },
    })
  })

  test('pr_review_failed_run_restored: the judge took its run and gave no verdict', () => {
    expect(chooseReviewMove({ ...base, ...failed, run: 'restorable' })).toEqual({
      ...{ kind: 'restore', reason: 'pr_review_failed_run_restored', count: 1, limit: restoreLimit },
    })
  })

  it('without such a run continues as any other failed task', () => {
    expect(chooseReviewMove({ ...base, ...failed })).toBeUndefined()
  })
})

describe('a review task whose work did not pass', () => {
  it('is left alone while another task corrects the work', () => {
    for (const run of ['pending', 'restorable', 'none'] as const)
      expect(chooseReviewMove({ ...base, ...rework, run, hasFix: true })).toEqual({ kind: 'keep' })
  })

  test('pr_review_needs_rework_to_awaiting_judge: a run of it waits for the judge', () => {
    expect(chooseReviewMove({ ...base, ...rework, run: 'pending' })).toEqual({
      ...{ kind: 'await_judge', reason: 'pr_review_needs_rework_to_awaiting_judge' },
    })
  })

  test('pr_review_needs_rework_run_restored: the judge took its run and gave no verdict', () => {
    expect(chooseReviewMove({ ...base, ...rework, run: 'restorable', restored: 1 })).toEqual({
      ...{ kind: 'restore', reason: 'pr_review_needs_rework_run_restored', count: 2, limit: restoreLimit },
    })
  })

  test('pr_review_needs_rework_missing_run_retry: no run of it can be judged, so it starts once, then a person is asked', () => {
    const reason = 'pr_review_needs_rework_missing_run_retry'
    expect(chooseReviewMove({ ...base, ...rework })).toEqual({ kind: 'requeue', reason, count: 1, limit: 1 })
    expect(chooseReviewMove({ ...base, ...rework, started: 1 })).toEqual({ kind: 'ask', reason })
  })
})

describe('a task that waits for the judge', () => {
  it('keeps waiting while a run of it can be judged', () => {
    for (const isReview of [true, false])
      expect(chooseReviewMove({ ...base, isReview, run: 'pending' })).toEqual({ kind: 'keep' })
  })

  test('awaiting_judge_run_restored: the judge took its run and gave no verdict', () => {
    for (const isReview of [true, false])
      expect(chooseReviewMove({ ...base, isReview, run: 'restorable' })).toMatchObject({
        ...{ kind: 'restore', reason: 'awaiting_judge_run_restored' },
      })
  })

  test('awaiting_judge_missing_run_retry: a review without a run starts once, then a person is asked', () => {
    const reason = 'awaiting_judge_missing_run_retry'
    expect(chooseReviewMove(base)).toEqual({ kind: 'requeue', reason, count: 1, limit: 1 })
    expect(chooseReviewMove({ ...base, started: 1 })).toEqual({ kind: 'ask', reason })
  })

  test('awaiting_judge_timeout_retry: any other task without a run starts again, a limited number of times', () => {
    const reason = 'awaiting_judge_timeout_retry'
    expect(chooseReviewMove({ ...base, isReview: false })).toEqual({ kind: 'requeue', reason, count: 1, limit: 3 })
    expect(chooseReviewMove({ ...base, isReview: false, started: 3 })).toEqual({ kind: 'ask', reason })
  })

  it('whose judge never comes to a verdict is as one without a run', () => {
    expect(chooseReviewMove({ ...base, run: 'restorable', restored: restoreLimit })).toMatchObject({
      ...{ kind: 'requeue', reason: 'awaiting_judge_missing_run_retry' },
    })
  })
})

it('continues work of its own by the rows of other tasks, unless it waits for the judge', () => {
  for (const status of ['failed', 'blocked(needs_rework)'] as const)
    for (const run of ['pending', 'restorable', 'none'] as const)
      expect(chooseReviewMove({ ...base, status, run, isReview: false })).toBeUndefined()
})

/** Numbers that are the same in every run of the test. */
const dice = (seed: number) => {
  let state = seed
  return (sides: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * sides)
  }
}

interface Walk {
  facts: ReviewFacts
  /** Counts every fact that came from outside: a run that ended, a judge that took a run, a verdict. */
  news: number
  ended: boolean
}

/** What a worker, a judge or a crash does next to a task; false = nothing. */
const happen = (walk: Walk, roll: (sides: number) => number): void => {
  const { facts } = walk
  const event = roll(6)
  const set = (change: Partial<ReviewFacts>): void => {
    walk.news += 1
    walk.facts = { ...facts, ...change }
  }
  if (event === 0 && facts.run === 'pending') set({ run: 'restorable' })
  if (event === 1 && facts.run === 'pending') set({ run: 'none' })
  if (event === 2 && facts.run === 'pending') set({ run: 'none', status: 'blocked(needs_rework)' })
  if (event === 3 && facts.status === 'blocked(needs_rework)') set({ hasFix: !facts.hasFix })
}

const carryOut = (walk: Walk, move: ReviewMove, roll: (sides: number) => number): void => {
  const { facts } = walk
  if (move.kind === 'await_judge') walk.facts = { ...facts, status: 'blocked(awaiting_judge)' }
  if (move.kind === 'restore')
    walk.facts = { ...facts, status: 'blocked(awaiting_judge)', run: 'pending', restored: facts.restored + 1 }
  if (move.kind === 'requeue') {
    // The run that starts is the new fact.
    walk.news += 1
    const ends = [
      { status: 'blocked(awaiting_judge)', run: 'pending', restored: 0 },
      { status: 'failed' },
      { status: 'blocked(needs_rework)' },
    ] as const
    walk.facts = { ...facts, started: facts.started + 1, ...ends[roll(3)] }
  }
}

it('never moves a task back and forth: no pair of moves comes twice without a new fact, and every walk ends', () => {
  for (let seed = 1; seed <= 3_000; seed += 1) {
    const roll = dice(seed)
    const statuses = ['failed', 'blocked(needs_rework)', 'blocked(awaiting_judge)'] as const
    const runs = ['pending', 'restorable', 'none'] as const
    const facts = { ...base, status: statuses[roll(3)] ?? 'failed', run: runs[roll(3)] ?? 'none' }
    const walk: Walk = { facts: { ...facts, isReview: roll(2) === 1 }, news: 0, ended: false }
    const seen = new Set<string>()
    let moves = 0
    for (let step = 0; step < 200 && !walk.ended; step += 1) {
      const move = chooseReviewMove(walk.facts)
      if (move === undefined || move.kind === 'ask') break
      const from = walk.facts.status
      if (move.kind !== 'keep') {
        const pair = `${from} ${move.reason} ${walk.news}`
        expect(seen.has(pair), `seed ${seed}: ${pair}`).toBe(false)
        seen.add(pair)
        moves += 1
      }
      carryOut(walk, move, roll)
      happen(walk, roll)
    }
    // Each run is given back a limited number of times, and there is a limited number of runs.
    expect(moves, `seed ${seed}`).toBeLessThanOrEqual((restoreLimit + 1) * 4 + 4)
  }
})

it('has a row for each reason of the documents', () => {
  const reasons = reviewRules.flatMap(({ choose }) => {
    const move = choose({ ...base, run: 'pending' })
    return move === undefined || !('reason' in move) ? [] : [move.reason]
  })
  expect(reasons).toEqual([
    ...['pr_review_failed_to_awaiting_judge', 'pr_review_failed_run_restored'],
    ...['pr_review_needs_rework_to_awaiting_judge', 'pr_review_needs_rework_run_restored'],
    'pr_review_needs_rework_missing_run_retry',
    ...['awaiting_judge_run_restored', 'awaiting_judge_missing_run_retry', 'awaiting_judge_timeout_retry'],
  ])
})
