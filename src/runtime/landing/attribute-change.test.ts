import { expect, it } from 'vitest'
import type { RefChange } from '../../workspace/refs.ts'
import { attributePart, attributeRef, compareParts, isDangerous, type CheckoutEvidence } from './attribute-change.ts'

const [a, b, c] = ['a', 'b', 'c'].map((letter) => letter.repeat(40)) as [string, string, string]
const main = 'refs/heads/main'

const nobody: CheckoutEvidence = { commands: [], couldWrite: true }
const sandboxed: CheckoutEvidence = { commands: [], couldWrite: false }
const ran = (name: string): CheckoutEvidence => ({
  commands: [{ run: 'r-1', name, from: 100, to: 101 }],
  couldWrite: true,
})

type Log = readonly (readonly [to: string, note: string, at?: number])[]
const judge = (change: RefChange, log: Log, evidence = nobody) =>
  attributeRef(
    change,
    log.map(([to, note, at = 50]) => ({ to, note, at, author: 'o <o@o>' })),
    evidence,
  )

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
] as const)("%s is a move that a person makes, and is the owner's where no agent could write", (_what, change, log) => {
  expect(judge(change, log)).toMatchObject({ by: 'unknown', alike: true })
  expect(judge(change, log, sandboxed)).toMatchObject({ by: 'owner', alike: true })
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
  expect(judge(change, log)).toMatchObject({ by: 'unknown', alike: false })
})

const commit = { ref: main, before: a, after: b }
const commits = (at: number): Log => [
  [b, 'commit: x', at],
  [a, 'commit (initial): s', 1],
]

it('a commit is the agent of a run that was seen to commit there at that time, whatever name it has', () => {
  expect(judge(commit, commits(100), ran('commit'))).toMatchObject({ by: 'agent', run: 'r-1' })
  expect(judge(commit, commits(101), ran('commit'))).toMatchObject({ by: 'agent', run: 'r-1' })
})

it('a commit at another time, or beside a command that only reads, is not provably of the agent', () => {
  expect(judge(commit, commits(99), ran('commit')).by).toBe('unknown')
  expect(judge(commit, commits(102), ran('commit')).by).toBe('unknown')
  expect(judge(commit, commits(100), ran('log')).by).toBe('unknown')
  expect(judge(commit, commits(100), ran('branch')).by).toBe('unknown')
})

it('a move below the own commit of the owner is still reported as of the agent', () => {
  const log: Log = [[c, 'commit: mine', 120], ...commits(100)]
  expect(judge({ ref: main, before: a, after: c }, log, ran('commit'))).toMatchObject({ by: 'agent', run: 'r-1' })
})

it('a deleted branch is of the agent that ran git commands on refs there', () => {
  const gone = { ref: 'refs/heads/side', before: a, after: null }
  expect(judge(gone, [], ran('branch')).by).toBe('agent')
  expect(judge(gone, [], ran('status')).by).toBe('unknown')
})

it('a changed part is of the agent that ran a command which writes this part', () => {
  const key = { part: 'config', name: 'core.hookspath', how: 'added', before: null, after: '1' } as const
  expect(attributePart(key, ran('config'))).toMatchObject({ by: 'agent', run: 'r-1' })
  expect(attributePart(key, ran('commit')).by).toBe('unknown')
  expect(attributePart(key, sandboxed).by).toBe('owner')
  expect(
    attributePart({ part: 'hook', name: 'pre-commit', how: 'added', before: null, after: '1' }, ran('config')).by,
  ).toBe('unknown')
})

const state = { index: {}, file: {}, config: {}, hook: {}, notes: {} }

it('every difference is found, and a part that was not read is none', () => {
  const before = { ...state, index: { x: '1' }, file: { y: '1' }, config: { 'user.name': '1' } }
  const after = { ...state, file: { y: '2' }, config: { 'user.name': '1', 'core.hookspath': '2' } }
  expect(compareParts(before, after)).toEqual([
    { part: 'config', name: 'core.hookspath', how: 'added', before: null, after: '2' },
    { part: 'index', name: 'x', how: 'removed', before: '1', after: null },
    { part: 'file', name: 'y', how: 'changed', before: '1', after: '2' },
  ])
  expect(compareParts(before, { ...after, notes: { index: 'timed out', file: 'timed out', config: '?' } })).toEqual([])
})

it.each([
  'core.hookspath',
  'core.fsmonitor',
  'filter.lfs.clean',
  'alias.st',
  'include.path',
  'includeif.gitdir:/x/.path',
  'url.https://x/.insteadof',
  'remote.origin.url',
])('%s decides what git starts or reaches', (name) => {
  expect(isDangerous({ part: 'config', name })).toBe(true)
})

it.each(['user.name', 'branch.main.remote', 'core.bare', 'remote.origin.fetch'])('%s does not', (name) => {
  expect(isDangerous({ part: 'config', name })).toBe(false)
})
