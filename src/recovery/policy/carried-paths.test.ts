import { expect, test } from 'vitest'
import { carriedPaths } from './carried-paths.ts'
import { parsePathRule } from './path-rule.ts'

const carried = (rules: string[], ...renames: [string, string][]): string[] =>
  carriedPaths(
    rules.map((text) => {
      const parsed = parsePathRule(text)
      if (!parsed.ok) throw new Error(parsed.reason)
      return parsed.rule
    }),
    renames.map(([from, to]) => ({ from, to })),
  ).map(({ from, to }) => `${from} > ${to}`)

test.each<[string, string[], [string, string][], string[]]>([
  ['a file that the task names', ['a.js'], [['a.js', 'b.js']], ['a.js > b.js']],
  ['a file of its folder', ['old/**'], [['old/a.js', 'new/a.js']], ['old/a.js > new/a.js']],
  [
    'through two renames',
    ['a.js'],
    [
      ['a.js', 'b.js'],
      ['b.js', 'c.js'],
    ],
    ['a.js > c.js'],
  ],
  ['not into a place that is allowed anyway', ['src/**'], [['src/a.js', 'src/b.js']], []],
  [
    'back again',
    ['a.js'],
    [
      ['a.js', 'b.js'],
      ['b.js', 'a.js'],
    ],
    [],
  ],
  ['not a file that the task may not change', ['a.js'], [['z.js', 'b.js']], []],
  [
    'one that was replaced meanwhile',
    ['a.js'],
    [
      ['a.js', 'b.js'],
      ['z.js', 'a.js'],
    ],
    ['a.js > b.js'],
  ],
])('paths follow %s', (_what, rules, renames, expected) => {
  expect(carried(rules, ...renames)).toEqual(expected)
})
