import { describe, expect, it, test } from 'vitest'
import { readSuggestion } from './suggested.ts'

const failed = 'vitest run --reporters=dot | tee log'

describe('an answer', () => {
  test.each([
    ['npm test', [{ kind: 'script', manifest: 'package.json', name: 'test' }]],
    ['`npm run unit`', [{ kind: 'script', manifest: 'package.json', name: 'unit' }]],
    ['```sh\nnpm --prefix web test\n```', [{ kind: 'script', manifest: 'web/package.json', name: 'test' }]],
    ['cd web && node test/all.js', [{ kind: 'file', path: 'web/test/all.js' }]],
    [
      'node --test a.test.js ./b.test.js',
      [
        { kind: 'file', path: 'a.test.js' },
        { kind: 'file', path: 'b.test.js' },
      ],
    ],
    ['./scripts/check.sh', [{ kind: 'file', path: 'scripts/check.sh' }]],
    ['make -C sub check', [{ kind: 'target', folder: 'sub', targets: ['check'] }]],
    // The program that was asked for, with other words.
    ['vitest run --reporter=dot', []],
  ])('%j is taken', (answer, needs) => expect(readSuggestion(answer, failed)).toMatchObject({ ok: true, needs }))

  test.each([
    ['', /not a single command/],
    ['Use npm test.\nIt runs everything.', /not a single command/],
    ['npm test | cat', /without a shell/],
    ['npm test; true', /without a shell/],
    ['true', /neither a script/],
    ['curl -s http://127.0.0.1/x', /neither a script/],
    ['npx other-runner', /neither a script/],
    ['npm install left-pad', /neither a script/],
    ['git push', /neither a script/],
    ['node -e 0', /starts no file/],
    ['bash -c true', /starts no file/],
    ['python3 -m http.server', /starts no file/],
    ['node ../outside.js', /not a file of the repository/],
    ['node /tmp/outside.js', /not a file of the repository/],
    ['cd .. && node a.js', /not a file of the repository/],
    ['node --test', /names no file/],
    ['node --test --test-name-pattern=x a.js', /not understood/],
    ['vitest --version', /check nothing/],
    ['vitest run --passWithNoTests', /check nothing/],
    ['npm test -- --help', /check nothing/],
    ['make check SHELL=/bin/true', /variables of make/],
    ['npm run deploy', /"deploy" is not the name of a check/],
    ['npm run clean && npm test', /"clean" is not the name of a check/],
    ['make check install', /"install" is not the name of a check/],
    ['NODE_OPTIONS=--require=./x.js npm test', /sets a variable/],
    ['npm test && rm -rf dist', /neither a script/],
  ])('%j is refused', (answer, reason) =>
    expect(readSuggestion(answer, failed)).toMatchObject({ ok: false, reason: expect.stringMatching(reason) }),
  )

  it('never starts a program that does more than judge, though it was asked for', () => {
    for (const answer of ['git push origin HEAD', 'rm -rf src', 'cargo publish'])
      expect(readSuggestion(answer, 'git diff | cat && rm -rf dist && cargo test $X')).toMatchObject({ ok: false })
    expect(readSuggestion('cargo test --all', 'cargo test $X')).toMatchObject({ ok: true })
  })

  it('is refused when it is what failed', () => {
    expect(readSuggestion('vitest run', 'vitest run')).toMatchObject({ ok: false, reason: 'it is the same command' })
  })
})
