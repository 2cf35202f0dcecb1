/** The tests of the simulated repository: which of them fail, and how their runner reports it, depends on the files alone. */
import type { Tree } from './git.ts'

/** A file with these words fails the tests that stand behind them, one of its own name where none does. */
export const brokenBy = (...tests: string[]): string => `${['BROKEN', ...tests].join(' ')}\n`

/** The tests that fail with these files, by name. Whether work passes depends on nothing else. */
export const failingTests = (files: Tree): string[] =>
  [...files].flatMap(([path, text]) => {
    if (path === 'src/clash-a' && files.has('src/clash-b')) return ['both sides of the clash']
    if (!text.startsWith('BROKEN')) return []
    const named = text.trim().split(' ').slice(1)
    return named.length === 0 ? [path] : named.map((test) => `${path} ${test}`)
  })

export const assertion = 'AssertionError: expected true'

/** What its runner prints. */
export const report = (failed: string[]): string =>
  [
    'TAP version 13',
    'ok 1 - the rest',
    ...failed.flatMap((name, index) => [`not ok ${index + 2} - ${name}`, `  ${assertion}`]),
    `# tests ${failed.length + 1}`,
    '# pass 1',
    `# fail ${failed.length}`,
  ].join('\n')
