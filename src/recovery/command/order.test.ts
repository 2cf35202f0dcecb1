import { describe, expect, it, test } from 'vitest'
import { inOrder, reordered } from './order.ts'

describe('a check that cannot run in its place', () => {
  test.each([
    // Behind the build that makes what it needs.
    [['npm test', 'npm run build'], 0, ['npm run build', 'npm test']],
    [
      ['npm test', 'npm run lint', 'npm run build', 'npm run e2e'],
      0,
      ['npm run lint', 'npm run build', 'npm test', 'npm run e2e'],
    ],
    // Before the clean that takes it away.
    [['make all', 'make clean', 'test -f dist/app'], 2, ['make all', 'test -f dist/app', 'make clean']],
    [['rm -rf dist', 'test -f dist/app'], 1, ['test -f dist/app', 'rm -rf dist']],
    [['cargo clean', 'node a.js', 'test -s target/app'], 2, ['test -s target/app', 'cargo clean', 'node a.js']],
    // No order helps.
    [['make cleanroom-test', 'test -f dist/app'], 1, undefined],
    [['npm run build', 'npm test'], 1, undefined],
    [['npm test'], 0, undefined],
    [[], -1, undefined],
  ])('%j, the one at %i', (plan, index, expected) => expect(reordered(plan, index)).toEqual(expected))

  it('puts test -f/-s before the command that cleans what they look at', () => {
    expect(reordered(['make', 'make clean', 'test -s out'], 2)).toEqual(['make', 'test -s out', 'make clean'])
  })

  it('loses no other check', () => {
    const plan = ['npm test', 'npm run lint', 'npm run build']
    expect(reordered(plan, 0)?.toSorted()).toEqual(plan.toSorted())
  })
})

test('an order moves what it knows and leaves nothing out', () => {
  expect(inOrder(['a', 'b', 'c'], ['c', 'x', 'a'])).toEqual(['c', 'a', 'b'])
})
