import { describe, expect, test } from 'vitest'
import { widenedBy } from './widening.ts'

const allowed = (...allowedPaths: string[]) => ({ allowedPaths, deniedPaths: [] })
const denied = (...deniedPaths: string[]) => ({ allowedPaths: ['**'], deniedPaths })

describe('paths are wider', () => {
  test.each<[string[], string[], string[]]>([
    [['src/**'], ['src/a.ts', 'src/sub/**', 'src/*.ts', 'src/{a,b}'], []],
    [['src'], ['src/a.ts', 'src/', './src/a.ts'], []],
    [['**'], ['anything', '*'], []],
    [['src/a.ts'], ['src/**'], ['src/**']],
    [['src/**'], ['srcs/a', 'docs/**', '**', '{src/a,docs/b}'], ['srcs/a', 'docs/**', '**', '{src/a,docs/b}']],
    [['src/*.ts'], ['src/*.ts', 'src/a.ts'], ['src/a.ts']],
    [['src/*/**'], ['src/x/y'], ['src/x/y']],
  ])('%j → %j', (before, after, wanted) => {
    expect(widenedBy(allowed(...before), allowed(...after))).toEqual(wanted)
  })

  test.each<[string[], string[], string[]]>([
    [['src/secret'], ['src'], []],
    [['src'], ['src/secret'], ['src (no longer denied)']],
    [['src', 'docs'], ['docs'], ['src (no longer denied)']],
    [[], ['src'], []],
  ])('denied %j → %j', (before, after, wanted) => {
    expect(widenedBy(denied(...before), denied(...after))).toEqual(wanted)
  })
})
