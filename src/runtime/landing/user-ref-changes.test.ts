import { expect, it } from 'vitest'
import { isUserRefChange } from './user-ref-changes.ts'

const [a, b, c] = ['a', 'b', 'c'].map((letter) => letter.repeat(40)) as [string, string, string]
const main = 'refs/heads/main'

it.each([
  [
    'a checkout',
    { ref: 'HEAD', before: `ref: ${main}`, after: 'ref: refs/heads/side' },
    [[a, 'checkout: moving from main to side']],
  ],
  [
    'a commit after a checkout',
    { ref: 'HEAD', before: `ref: ${main}`, after: 'ref: refs/heads/side' },
    [
      [b, 'commit: x'],
      [a, 'checkout: moving from main to side'],
    ],
  ],
  ['a detached HEAD', { ref: 'HEAD', before: `ref: ${main}`, after: a }, [[a, `checkout: moving from main to ${a}`]]],
  [
    'a commit',
    { ref: main, before: a, after: b },
    [
      [b, 'commit: x'],
      [a, 'commit (initial): s'],
    ],
  ],
  ['a new branch', { ref: 'refs/heads/side', before: null, after: a }, [[a, 'branch: Created from HEAD']]],
] as const)('%s is the own move of the user', (_what, change, log) => {
  expect(
    isUserRefChange(
      change,
      log.map(([to, note]) => ({ to, note })),
    ),
  ).toBe(true)
})

it.each([
  [
    'HEAD set without a checkout',
    { ref: 'HEAD', before: `ref: ${main}`, after: 'ref: refs/heads/side' },
    [[a, 'commit (initial): s']],
  ],
  [
    'a push',
    { ref: main, before: a, after: b },
    [
      [b, 'push'],
      [a, 'commit (initial): s'],
    ],
  ],
  [
    'a bare write',
    { ref: main, before: a, after: b },
    [
      [b, ''],
      [a, 'commit (initial): s'],
    ],
  ],
  [
    'a commit on top of a push',
    { ref: main, before: a, after: c },
    [
      [c, 'commit: y'],
      [b, 'push'],
      [a, 'commit: s'],
    ],
  ],
  ['a move that no log holds', { ref: main, before: a, after: b }, []],
  ['a log that does not reach back', { ref: main, before: a, after: b }, [[b, 'commit: x']]],
  ['a deleted branch', { ref: 'refs/heads/side', before: a, after: null }, []],
] as const)('%s is not', (_what, change, log) => {
  expect(
    isUserRefChange(
      change,
      log.map(([to, note]) => ({ to, note })),
    ),
  ).toBe(false)
})
