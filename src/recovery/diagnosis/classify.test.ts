import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { RE2JS } from 're2js'
import { describe, expect, it } from 'vitest'
import { fingerprint } from '../signature.ts'
import { isBuild, isCleanUp } from './argv.ts'
import { classify, type CommandFailure } from './classify.ts'
import { failureCodes, labels, type Label } from './labels.ts'
import { rules } from './rules/all.ts'
import { runners } from './runner.ts'
import { withoutPrefixes, isQuoted } from './output-lines.ts'
import { cpuMsOf } from '../../../test/support/cpu-time.ts'
import { samples } from '../../../test/support/samples.ts'

const failure = (extra: Partial<CommandFailure>): CommandFailure => ({
  command: './check.sh',
  exitCode: 1,
  signal: null,
  stdout: '',
  stderr: '',
  ...extra,
})

describe('each rule', () => {
  it('has a name of its own', () => {
    expect(new Set(rules.map(({ id }) => id)).size).toBe(rules.length)
  })

  it.each(rules)('$id recognises its example', ({ pattern, example }) => {
    expect(pattern.test(example) || pattern.test(withoutPrefixes(example))).toBe(true)
  })

  it.each(rules.filter(({ counter }) => counter !== undefined))(
    '$id leaves its counter-example alone',
    ({ pattern, counter = '' }) => {
      expect(pattern.test(counter)).toBe(false)
    },
  )

  it.each(rules)('$id is of linear time and names its source', ({ pattern, source, tools }) => {
    // RE2 refuses look-around and back-references; what it takes can be matched without going back.
    expect(() => RE2JS.compile(pattern.source)).not.toThrow()
    expect(source.length > 0 && tools.length > 0).toBe(true)
  })

  it('takes no time over lines made to cost it', () => {
    const hostile = [
      'a'.repeat(1200),
      ' '.repeat(1200),
      "'".repeat(1200),
      'a/'.repeat(600),
      '1:'.repeat(600),
      'error: '.repeat(170),
      '\u{2014}"'.repeat(600),
    ]
    for (const line of hostile) {
      for (const { pattern, id } of rules) {
        const cpuMs = cpuMsOf(() => pattern.test(line))
        expect(cpuMs, `${id} on ${line.slice(0, 8)}`).toBeLessThan(250)
      }
    }
  })
})

it.each(runners)('the count of $tool is read', ({ summary, example }) => {
  expect(summary.test(example)).toBe(true)
})

interface Entry {
  id: string
  command: string
  exit_code: number | null
  signal: string | null
  stdout: string
  stderr: string
  label: Label
  confuser: boolean
  plan?: string[]
  plan_index?: number
}

const corpus = readFileSync(new URL('../../../test/fixture/corpus/failures-dev.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Entry)

const judged = corpus.map((entry) => {
  const { command, exit_code: exitCode, signal, stdout, stderr, plan, plan_index: planIndex } = entry
  const place = plan === undefined || planIndex === undefined ? {} : { plan, planIndex }
  return { entry, found: classify({ command, exitCode, signal, stdout, stderr, ...place }) }
})

describe('the corpus of real failures', () => {
  it('is labelled right to 99 of 100, confusers too', () => {
    const wrong = judged.filter(({ entry, found }) => entry.label !== found.label)
    expect(wrong.length, wrong.map(({ entry }) => entry.id).join(', ')).toBeLessThanOrEqual(4)
    expect(wrong.filter(({ entry }) => entry.confuser).length).toBeLessThanOrEqual(1)
  })

  it('never answers a failing check of the code by dropping it', () => {
    const dropped = judged.filter(
      ({ entry, found }) => !labels[entry.label].infra && found.recoveryKind === 'drop_command',
    )
    expect(dropped.map(({ entry }) => entry.id)).toEqual([])
  })
})

/** What `npm run corpus:live` met: how tools spoke that the rules had read wrongly. */
it.each<[string, number, string, Label]>([
  [
    'gcc -c a.c',
    1,
    'a.c:1:10: fatal error: sum.h: No such file or directory\n    1 | #include "sum.h"',
    'compile_error',
  ],
  [
    'gcc -c a.c',
    1,
    'a.c:1:10: fatal error: sum.h: No such file or directory\n    1 | #include <sum.h>',
    'dependency_missing',
  ],
  ['jest', 1, '/repo/jest.config.js:1\nmodule.exports = {\n\nSyntaxError: Unexpected end of input', 'config_error'],
  ['node app.js', 1, '/repo/app.js:1\nmodule.exports = {\n\nSyntaxError: Unexpected end of input', 'compile_error'],
  ['bash nowhere.sh', 127, 'bash: nowhere.sh: No such file or directory', 'missing_script'],
  ["bash -c 'nowhere'", 127, 'bash: line 1: nowhere: No such file or directory', 'command_not_found'],
  ["jq -e '.ready' a.json", 1, 'false', 'test_failure'],
  ['curl -s https://packages.example/', 6, '', 'network_unreachable'],
  ['wget -q https://packages.example/', 4, '', 'network_unreachable'],
  ['pytest -q', 5, '', 'no_test_files'],
  ['python3 -q', 5, '', 'unknown'],
  ['node --nope app.js', 9, 'node: bad option: --nope', 'invalid_usage'],
  ['node --env-file .env app.js', 9, 'node: bad option: --env-file', 'runtime_version'],
  ['tclsh a.test', 1, '==== adds  FAILED\n\na.test:\tTotal\t1\tPassed\t0\tSkipped\t0\tFailed\t1', 'test_failure'],
  [
    'mvn -q test',
    1,
    '[FATAL] Non-readable POM /repo/pom.xml: /repo/pom.xml (No such file or directory) @',
    'missing_script',
  ],
  [
    'tar xzf dist/app.tar.gz',
    2,
    'tar (child): dist/app.tar.gz: Cannot open: No such file or directory',
    'build_artifact_missing',
  ],
])('%s with %i: "%s" is %s', (...[command, exitCode, stderr, label]) => {
  expect(classify({ command, exitCode, signal: null, stdout: '', stderr })).toMatchObject({ label })
})

const text = fc.string({ unit: 'binary', maxLength: 600 })
const spoken = fc.array(fc.oneof(text, fc.constantFrom(...rules.map(({ example }) => example))), { maxLength: 12 })

const anyFailure = fc.record({
  command: fc.oneof(text, fc.constantFrom('npm test', 'go test ./...', 'test -f dist/x', 'a | b')),
  exitCode: fc.option(fc.integer({ min: 0, max: 255 })),
  signal: fc.option(fc.constantFrom('SIGKILL', 'SIGTERM', 'SIGX')),
  stdout: spoken.map((lines) => lines.join('\n')),
  stderr: spoken.map((lines) => lines.join('\r\n')),
})

it('any text gets a known label, code and signature, and never throws', () => {
  fc.assert(
    fc.property(anyFailure, (given) => {
      const found = classify(given)
      expect(labels).toHaveProperty(found.label)
      expect(failureCodes).toHaveProperty(found.failureCode)
      expect(found.signature.length).toBeLessThan(1000)
      if (!labels[found.label].infra) expect(found.recoveryKind).not.toBe('drop_command')
    }),
    { numRuns: samples(150) },
  )
})

it('a failed assertion is a test failure, whatever it compares', () => {
  const words = rules.map(({ example }) => example.replaceAll(/["\r\n]/g, ''))
  for (const word of words) {
    const stdout = `FAILED a_test.py::test_x\nE   AssertionError: assert "${word}" == "y"\n1 failed in 0.10s\n`
    expect(classify(failure({ command: 'pytest -q', stdout })).label, word).toBe('test_failure')
  }
})

it('colours, carriage returns and length change nothing', () => {
  const noise = Array.from({ length: 4000 }, (_, index) => `[${index}] compiling part-${index}.ts`).join('\r\n')
  const stderr = `${noise}\r\n\u001b[31mError:\u001b[39m Cannot find module 'supertest'\r\n${noise}`
  expect(classify(failure({ stderr })).label).toBe('dependency_missing')
})

it('time grows with the text no faster than the text', () => {
  const lines = (count: number): string =>
    Array.from({ length: count }, (_, index) => `error ${index}: it's "odd" at a/b/c.ts:${index}`).join('\n')
  const timeOf = (stderr: string): number => {
    const times = [1, 2, 3].map(() => cpuMsOf(() => classify(failure({ stderr }))))
    return Math.min(...times)
  }
  classify(failure({ stderr: lines(1000) }))
  expect(timeOf(lines(80_000))).toBeLessThan(40 * Math.max(5, timeOf(lines(4000))))
})

describe('a plan', () => {
  it('knows what builds and what cleans', () => {
    expect(
      ['npm run build', 'make', 'cmake --build b', 'go build -o x .', 'gradle jar', 'npx tsc'].filter(
        (command) => !isBuild(command),
      ),
    ).toEqual([])
    expect(['npx tsc --noEmit', 'npm test', 'make lint', 'npm install', 'make clean'].filter(isBuild)).toEqual([])
    expect(
      ['make clean', 'rm -rf dist', 'cargo clean', 'npm run clean'].filter((command) => !isCleanUp(command)),
    ).toEqual([])
    expect(['make cleanroom-test', 'npm test'].filter(isCleanUp)).toEqual([])
  })

  it('makes a missing artefact an order problem only while the build is still to come', () => {
    const at = (plan: string[], planIndex: number): Label =>
      classify(failure({ command: 'test -f dist/a.js', plan, planIndex })).label
    expect(at(['test -f dist/a.js', 'npm run build'], 0)).toBe('sequence_issue')
    expect(at(['npm run build', 'rm -rf dist', 'test -f dist/a.js'], 2)).toBe('sequence_issue')
    expect(at(['npm run build', 'test -f dist/a.js'], 1)).toBe('test_failure')
    expect(at(['test -f dist/a.js'], 0)).toBe('build_artifact_missing')
  })
})

it('a value inside quotes is distinguished from an event', () => {
  expect(isQuoted('got "no such host"', 6)).toBe(true)
  expect(isQuoted("it's no such host", 6)).toBe(false)
})

describe('a fingerprint', () => {
  const of = (failing: string[]): string =>
    fingerprint({ failureCode: 'test_failure', label: 'test_failure', tool: 'vitest', failing, cause: 'x' })

  it('is of the set of failing tests, in any order', () => {
    expect(of(['a', 'b'])).toBe(of(['b', 'a']))
    expect(of(['a', 'b'])).not.toBe(of(['a']))
  })

  it('differs between 47 and 3 failing tests, named or not', () => {
    const named = (count: number): string => of(Array.from({ length: count }, (_, index) => `test ${index}`))
    expect(named(47)).not.toBe(named(3))
    const counted = (count: number): string =>
      classify(failure({ stdout: `checkout: 3 passed, ${count} failed` })).signature
    expect(counted(47)).not.toBe(counted(3))
  })

  it('is the same on another machine at another time', () => {
    const at = (path: string, hash: string): string =>
      classify(failure({ stderr: `Error: ENOSPC: no space left on device, open '${path}/${hash}'` })).signature
    expect(at('/home/a/work', '3f9c2b1d7e')).toBe(at('/var/tmp/b', '88aa77bb66'))
  })
})
