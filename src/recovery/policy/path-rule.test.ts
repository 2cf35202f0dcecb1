import fc from 'fast-check'
import picomatch from 'picomatch/posix.js'
import { describe, expect, it } from 'vitest'
import { parsePathRule, pathMatcher } from './path-rule.ts'
import { samples } from '../../../test/support/samples.ts'

const ruleOf = (text: string) => {
  const parsed = parsePathRule(text)
  if (!parsed.ok) throw new Error(parsed.reason)
  return parsed.rule
}
const covers = (rule: string, path: string): boolean => pathMatcher(ruleOf(rule))(path)

describe('reading a rule', () => {
  it.each([
    ['src/a.ts', { literal: 'src/a.ts' }],
    ['src/', { literal: 'src' }],
    ['./src//x/./y', { literal: 'src/x/y' }],
    ['app/[id]/page.tsx', { literal: 'app/[id]/page.tsx' }],
    ['app/(shop)/[...slug]', { literal: 'app/(shop)/[...slug]' }],
    ['a{b}c', { literal: 'a{b}c' }],
    ['a{b', { literal: 'a{b' }],
    ['!a', { literal: '!a' }],
    ['src/**', { glob: 'src/**' }],
    ['build*/', { glob: 'build*/**' }],
    ['{a,b}', { glob: '{a,b}' }],
    ['a?', { glob: 'a?' }],
    ['.', { glob: '**' }],
    ['./', { glob: '**' }],
  ])('%s', (text, rule) => {
    expect(parsePathRule(text)).toEqual({ ok: true, rule })
  })

  it.each([
    '',
    '/etc',
    '../x',
    'a/../b',
    'a/..',
    '{..,a}/b',
    '{/etc,a}',
    'a\0b',
    '-rf',
    './-rf',
    '--all',
    '{a,-b}',
    '~/x',
    '~',
    'a'.repeat(2000),
  ])('%j is rejected', (text) => {
    expect(parsePathRule(text).ok).toBe(false)
  })

  it('braces that expand to very many paths are rejected at once', () => {
    expect(parsePathRule('{a,b}'.repeat(200))).toMatchObject({ ok: false })
    expect(parsePathRule('{'.repeat(500) + ',' + '}'.repeat(500)).ok).toBe(true)
  })
})

describe('matching', () => {
  it.each([
    ['src', 'src'],
    ['src', 'src/deep/.x'],
    ['app/[id]/page.tsx', 'app/[id]/page.tsx'],
    ['app/[id]/**', 'app/[id]/x/y.ts'],
    ['app/(shop)/*', 'app/(shop)/a'],
    ['**/*.pem', 'server.pem'],
    ['**/*.pem', 'x/.hidden/.pem'],
    ['**/*.pem', 'a\nb/c\n.pem'],
    ['**/secrets/**', 'secrets/x'],
    ['src/**/*.ts', 'src/a.ts'],
    ['{src,test}/**/{a,b/c}.ts', 'test/b/c.ts'],
    ['a?b', 'a😀b'],
    ['.', '.env'],
    ['**', 'a/b/c'],
    ['*a*b', 'xaabab'],
    ['**/a/**/b/*.c', 'a/a/x/b/y/b/z.c'],
    ['*.tsx', '[id].tsx'],
  ])('%s covers %j', (rule, path) => {
    expect(covers(rule, path)).toBe(true)
  })

  it.each([
    ['src', 'srcs/a'],
    ['src/**', 'src'],
    ['src/*', 'src/a/b'],
    ['*', 'a/b'],
    ['app/[id]/page.tsx', 'app/i/page.tsx'],
    ['app/[id]/*', 'app/i/x'],
    ['Src/**', 'src/a'],
    ['caf\u00e9', 'cafe\u0301'],
    ['**/*.pem', 'a.PEM'],
    ['a?b', 'a/b'],
    ['a**b', 'a/b'],
    ['!a/*', 'b/c'],
    ['{a,b}', '{a,b}'],
    ['src/a.ts', 'src/a.ts.bak'],
  ])('%s does not cover %j', (rule, path) => {
    expect(covers(rule, path)).toBe(false)
  })

  it('a glob and a path made to be slow are answered at once', { timeout: 10_000 }, () => {
    expect(covers(`${'*a'.repeat(100)}b`, 'a'.repeat(4000))).toBe(false)
    expect(covers(`${'**/a/'.repeat(100)}b`, 'a/'.repeat(2000) + 'c')).toBe(false)
    expect(covers(`${'**/*a*/'.repeat(100)}b`, 'aaaa/'.repeat(1000) + 'c')).toBe(false)
  })

  it('agrees with picomatch where both give the characters the same meaning', () => {
    const segment = fc.oneof(
      fc.constant('**'),
      fc.stringMatching(/^[ab.*?]{1,4}$/),
      fc.constantFrom('{a,b}', '{a,.b*}', 'a{b,?}'),
    )
    const glob = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'))
    const path = fc
      .array(fc.stringMatching(/^[ab.]{1,4}$/), { minLength: 1, maxLength: 4 })
      .map((parts) => parts.join('/'))
    const hasDots = (text: string) =>
      text.split('/').some((part) => /^\.\.?$/.test(part) || /\*{2}./.test(part) || /.\*{2}/.test(part))
    let matched = 0
    fc.assert(
      fc.property(glob, path, (pattern, text) => {
        if (hasDots(pattern) || hasDots(text) || !/[*?{]/.test(pattern)) return
        const ours = pathMatcher({ glob: pattern })(text)
        if (ours) matched += 1
        expect(ours).toBe(
          picomatch(pattern, { dot: true, strictSlashes: true, nonegate: true, noextglob: true, flags: 's' })(text),
        )
      }),
      { numRuns: samples(8000), seed: 7 },
    )
    expect(matched).toBeGreaterThan(samples(200))
  })
})
