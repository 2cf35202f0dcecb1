import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { planCommand, programOf } from './command-plan.ts'
import { samples } from '../../../test/support/samples.ts'

const argvOf = (text: string): string[][] => {
  const plan = planCommand(text)
  if (!plan.ok) throw new Error(`refused: ${plan.piece}: ${plan.reason}`)
  return plan.steps.map((step) => step.argv)
}

describe('what is understood', () => {
  it.each<[string, string[][]]>([
    ['npm test', [['npm', 'test']]],
    ['grep -q "a|b" f', [['grep', '-q', 'a|b', 'f']]],
    ["pytest -k 'not (slow > 1)'", [['pytest', '-k', 'not (slow > 1)']]],
    ["rg '<div>'", [['rg', '<div>']]],
    ['grep -q "\\[boot\\]" a && x', [['grep', '-q', '\\[boot\\]', 'a'], ['x']]],
    ['a "" b \'\'', [['a', '', 'b', '']]],
    ["a 'it'\\''s' \"x\"y", [['a', "it's", 'xy']]],
    ['a b\\ c \\*', [['a', 'b c', '*']]],
    ['"./run me" a', [['./run me', 'a']]],
    ['echo \'$HOME `x` *\' "\\$A"', [['echo', '$HOME `x` *', '$A']]],
    ["printf $'a\\tb'", [['printf', 'a\tb']]],
    ['cargo test # all of it', [['cargo', 'test']]],
    ['a &&\n  b', [['a'], ['b']]],
    ['a \\\n  --flag', [['a', '--flag']]],
    ['a \\\n--flag', [['a', '--flag']]],
    ['grep -E "^a$|b$" c', [['grep', '-E', '^a$|b$', 'c']]],
    ['grep "\\$[0-9]" c', [['grep', '$[0-9]', 'c']]],
    ['go test ./...', [['go', 'test', './...']]],
    ['a b=c --x=~/y @{u} {} HEAD^ a#b', [['a', 'b=c', '--x=~/y', '@{u}', '{}', 'HEAD^', 'a#b']]],
    ['test -f a', [['test', '-f', 'a']]],
    ['npm test\n', [['npm', 'test']]],
  ])('%j', (text, expected) => {
    expect(argvOf(text)).toEqual(expected)
  })

  it('environment prefixes apply to their own command, and a glob in a value is literal', () => {
    expect(planCommand('CI=1 EMPTY= Q="a b" DEBUG=app:* npm test && npm run lint')).toEqual({
      ok: true,
      steps: [
        { argv: ['npm', 'test'], env: { CI: '1', EMPTY: '', Q: 'a b', DEBUG: 'app:*' }, cwd: [] },
        { argv: ['npm', 'run', 'lint'], env: {}, cwd: [] },
      ],
    })
  })

  it('a cd moves the commands after it in the same entry only', () => {
    expect(planCommand('npm ci && cd app && npm t && cd "../my lib" && npm t')).toEqual({
      ok: true,
      steps: [
        { argv: ['npm', 'ci'], env: {}, cwd: [] },
        { argv: ['npm', 't'], env: {}, cwd: ['app'] },
        { argv: ['npm', 't'], env: {}, cwd: ['app', '../my lib'] },
      ],
    })
    expect(planCommand('npm t')).toEqual({ ok: true, steps: [{ argv: ['npm', 't'], env: {}, cwd: [] }] })
  })
})

describe('what is refused, with the offending piece', () => {
  it.each<[string, string]>([
    ['', ''],
    ['# only a comment', '# only a comment'],
    ['a | b', 'a | b'],
    ['x && a | b', 'a | b'],
    ['! a', '! a'],
    ['time a', 'time a'],
    ['a || b', '||'],
    ['a && b || c', '||'],
    ['a ; b', ';'],
    ['a;', ';'],
    ['a &', '&'],
    ['a && b &', '&'],
    ['a\nb', 'b'],
    ['a # c\nb', 'b'],
    ['(cd app && t)', '(cd app && t)'],
    ['{ a; }', '{ a; }'],
    ['a > f', '> f'],
    ['a 2>&1', '2>&1'],
    ['<f a', '<f'],
    ['a <<< b', '<<< b'],
    ['a <(b)', '<(b)'],
    ['a $(b)', '$(b)'],
    ['a "x`b`"', '`b`'],
    ['a "x $HOME"', '$HOME'],
    ['a ${B:-c}', '${B:-c}'],
    ['$A b', '$A'],
    ['A=$B c', '$B'],
    ['a $((1 + 1))', '$((1 + 1))'],
    ['a *.ts', '*'],
    ['a src/?.ts', '?'],
    ['pytest t.py::x[1]', '[1]'],
    ['a @(b|c)', '@(b|c)'],
    ['a x{b,c}', '{b,c}'],
    ['a {1..3}', '{1..3}'],
    ['a ~/b', '~/b'],
    ['A=~/b c', '~/b'],
    ['make DIR=~/x', 'DIR=~/x'],
    ['a $"b"', '$"b"'],
    ["a $'\\xff'", "$'\\xff'"],
    ['[[ -f a ]]', '[[ -f a ]]'],
    ['((1))', '((1))'],
    ['if a; then b; fi', 'if a; then b; fi'],
    ['for i in a; do b; done', 'for i in a; do b; done'],
    ['f() { a; }', 'f() { a; }'],
    ['A=1', 'A=1'],
    ['A+=1 b', 'A+=1'],
    ['A=(1 2) b', 'A=(1 2)'],
    ['A[0]=1 b', 'A[0]=1'],
    ['source env.sh', 'source env.sh'],
    ['. env.sh && a', '. env.sh'],
    ['export A=1 && b', 'export A=1'],
    ['"eval" a', '"eval" a'],
    ['set -e', 'set -e'],
    ['alias a=b', 'alias a=b'],
    ['exec a', 'exec a'],
    ["trap 'a' EXIT", "trap 'a' EXIT"],
    ['ulimit -n 1', 'ulimit -n 1'],
    ['"" a', '"" a'],
    ['a\r', 'a\r'],
    ["a 'b'\r", "'b'\r"],
  ])('%j names %j', (text, piece) => {
    expect(planCommand(text)).toMatchObject({ ok: false, code: 'verification_command_unsupported_format', piece })
  })

  it.each([
    'cd app',
    'a && cd app',
    'cd && a',
    'cd - && a',
    'cd a b && c',
    'cd "" && a',
    'cd -P a && b',
    'A=1 cd a && b',
    'cd $A && b',
  ])('the move in %j', (text) => {
    expect(planCommand(text).ok).toBe(false)
  })

  it.each(['a && && b', 'a &&', '&& a', 'a "b', "a 'b", 'a $(b', 'fi', 'a )', 'a (b', 'a;;b', 'cat <<E'])(
    'the malformed %j',
    (text) => {
      expect(planCommand(text).ok).toBe(false)
    },
  )

  it('a here-document', () => {
    expect(planCommand('cat <<E\nx\nE\n')).toMatchObject({ ok: false, reason: 'a here-document needs a shell' })
  })

  it('a NUL byte and an over-long line', () => {
    expect(planCommand('a\0b')).toMatchObject({ ok: false, reason: 'it contains a NUL byte' })
    expect(planCommand(`a ${'b'.repeat(20_000)}`).ok).toBe(false)
  })
})

describe('properties', () => {
  const shellish = fc.array(
    fc.constantFrom(
      'a',
      ' ',
      '"',
      "'",
      '\\',
      '$',
      '(',
      ')',
      '{',
      '}',
      '`',
      '|',
      '&',
      '&&',
      ';',
      '\n',
      '<',
      '>',
      '~',
      '*',
      '[',
      ']',
    ),
    { maxLength: 40 },
  )

  it('no text makes it throw', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary', maxLength: 200 }),
          shellish.map((parts) => parts.join('')),
        ),
        (text) => {
          const plan = planCommand(text)
          expect(plan.ok ? plan.steps.length : plan.reason.length).toBeGreaterThan(0)
        },
      ),
      { numRuns: samples(3000) },
    )
  })

  it('deep nesting and long chains neither throw nor overflow', () => {
    for (const text of [
      '('.repeat(8000),
      '$('.repeat(8000),
      '{ '.repeat(8000),
      '"$('.repeat(5000),
      'a && '.repeat(3000),
    ]) {
      expect(planCommand(text).ok).toBe(false)
    }
    expect(argvOf(`${'a && '.repeat(2000)}a`)).toHaveLength(2001)
  })

  const word = fc
    .string({ unit: 'binary', maxLength: 20 })
    .filter((text) => !text.includes('\0') && text.isWellFormed())
  const single = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
  const double = (text: string): string => `"${text.replaceAll(/["\\$`]/g, '\\$&')}"`

  it('quoted words come back as they were, however they were quoted', () => {
    const quoted = fc.tuple(word, fc.constantFrom(single, double))
    fc.assert(
      fc.property(fc.array(quoted, { maxLength: 6 }), (words) => {
        const text = ['prog', ...words.map(([value, quote]) => quote(value))].join(' ')
        expect(argvOf(text)).toEqual([['prog', ...words.map(([value]) => value)]])
      }),
      { numRuns: samples(1000) },
    )
  })
})

it('a program is known by its name without its folder', () => {
  expect(
    [['npm', 'test'], ['./node_modules/.bin/vitest'], ['/usr/bin/make', 'x'], [], ['dir/']].map(programOf),
  ).toEqual(['npm', 'vitest', 'make', undefined, undefined])
})
