import { describe, expect, it } from 'vitest'
import { plannablePart, withoutStep } from './chain.ts'
import { planCommand } from './command-plan.ts'

describe('of a chain is left', () => {
  it.each([
    ['npm test | cat && node check.js', 'node check.js'],
    ['node check.js && npm test > log', 'node check.js'],
    ['cd sub && npm test | cat && node check.js', 'cd sub && node check.js'],
    ['export A=1 && node check.js', 'node check.js'],
    ['node a.js && node b.js | cat && node c.js', 'node a.js && node c.js'],
    // No chain, nothing left, or a folder that is not known.
    ['npm test | cat', undefined],
    ['npm test | cat && npm run lint | cat', undefined],
    ['cd sub && npm test | cat', undefined],
    ['cd $DIR && npm test', undefined],
    ['npm test || true && node check.js', undefined],
    ['npm test | cat && node check.js; rm x', undefined],
    ['npm test && node check.js', undefined],
  ])('%s: %s', (text, rest) => expect(plannablePart(text)).toBe(rest))

  it.each([
    ['npm run none && node check.js', 0, 'node check.js'],
    ['cd app && npm run none && node check.js', 0, 'cd app && node check.js'],
    ['node a.js && cd app && npm run none', 1, 'node a.js'],
    ['npm run none', 0, undefined],
  ])('%s without step %i: %s', (text, at, rest) => {
    const plan = planCommand(text)
    const step = plan.ok ? plan.steps[at] : undefined
    expect(step === undefined ? 'no step' : withoutStep(text, step)).toBe(rest)
  })
})
