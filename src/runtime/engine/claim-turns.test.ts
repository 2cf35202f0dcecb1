import { expect, test } from 'vitest'
import { createClaimTurns, type LeavingTurn } from './claim-turns.ts'

interface Repository {
  turn: LeavingTurn
  /** Tasks that wait for an agent. */
  ready: number
  working: number
  woken: number
}

const scene = (limits: number[]) => {
  let now = 0
  const create = createClaimTurns(() => now)
  const repositories = limits.map((limit): Repository => {
    const repository = { turn: create(), ready: 0, working: 0, woken: 0 }
    repository.turn.join({
      working: () => repository.working,
      limit: () => limit,
      wake: () => void (repository.woken += 1),
    })
    return repository
  })
  /** As a pass of its engine; true = it has claimed one. */
  const pass = (repository: Repository): boolean => {
    if (repository.ready === 0) return (repository.turn.withdraw(), false)
    const isFree = repository.turn.ask() === undefined
    if (isFree) {
      repository.ready -= 1
      repository.working += 1
    }
    repository.turn.done()
    return isFree
  }
  return { repositories, pass, later: (ms: number) => void (now += ms) }
}

const end = (repository: Repository): void => {
  repository.working -= 1
  repository.turn.done()
}

test('two repositories take turns, although the one whose run ended always looks first', () => {
  const { repositories, pass } = scene([1, 1])
  const [a, b] = repositories as [Repository, Repository]
  a.ready = 6
  b.ready = 3
  const order: string[] = []
  for (let step = 0; a.ready + b.ready > 0 && step < 50; step += 1) {
    const [first, second] = a.working > 0 ? [a, b] : [b, a]
    if (first.working > 0) end(first)
    for (const each of [first, second]) if (pass(each)) order.push(each === a ? 'a' : 'b')
    expect(a.working + b.working).toBeLessThanOrEqual(1)
  }
  expect(order.join('')).toBe('bababaaaa')
})

test('the one that may run most says how many run together, and another is woken when there is room', () => {
  const { repositories, pass } = scene([1, 3])
  const [a, b] = repositories as [Repository, Repository]
  a.ready = 1
  b.ready = 5
  expect([pass(b), pass(b), pass(b), pass(b), pass(a)]).toEqual([true, true, true, false, false])
  const before = a.woken
  end(b)
  // The first in the queue is b, so that a is woken once b has had its turn and another run ends.
  expect(pass(b)).toBe(true)
  end(b)
  expect(a.woken).toBeGreaterThan(before)
  expect([pass(b), pass(a)]).toEqual([false, true])
})

test('an engine that does not take its turn, or has left, does not hold up the others', () => {
  const { repositories, pass, later } = scene([1, 1, 1])
  const [a, b, c] = repositories as [Repository, Repository, Repository]
  for (const each of repositories) each.ready = 2
  expect([pass(a), pass(b), pass(c)]).toEqual([true, false, false])
  end(a)
  // b does not look any more.
  expect(pass(c)).toBe(false)
  later(11_000)
  expect(pass(c)).toBe(true)
  b.turn.leave()
  end(c)
  expect(pass(a)).toBe(true)
})
