/**
 * How many tests a command ran and skipped, from the summary lines of its runners, so that two runs of it can be compared: one that ran
 * fewer tests proves less. Pure.
 */
export interface TestCount {
  /** Passed or failed. */
  ran: number
  /** Skipped, to do, or expected to fail. */
  skipped: number
  /** Failed of those that ran; absent = none, or the runner's summary does not say it. */
  failed?: number
}

interface Summary {
  tool: string
  line: RegExp
  ran: RegExp
  skipped?: RegExp
  failed?: RegExp
  /** The runner prints a sum after its parts, so the largest counts instead of the sum. */
  total?: true
  example: string
}

/** Each pattern is bounded, because programs of a check write these lines. */
export const summaries: readonly Summary[] = [
  {
    ...{ tool: 'node --test, tape', line: /^(?:#|ℹ) (?:pass|fail|skipped|todo) +\d{1,7}$/ },
    ...{ ran: /(?:pass|fail) +(\d+)/, skipped: /(?:skipped|todo) +(\d+)/, failed: /fail +(\d+)/ },
    example: 'ℹ pass 3',
  },
  {
    ...{ tool: 'vitest', line: /^\s*Tests {1,4}\d.*\(\d+\)$/ },
    ...{ ran: /(\d+) (?:passed|failed)/, skipped: /(\d+) (?:skipped|todo|expected fail)/, failed: /(\d+) failed/ },
    example: '      Tests  2 passed | 1 skipped (3)',
  },
  {
    ...{ tool: 'jest', line: /^Tests: .*\d total$/, ran: /(\d+) (?:passed|failed)/, skipped: /(\d+) (?:skipped|todo)/ },
    failed: /(\d+) failed/,
    example: 'Tests:       1 skipped, 2 passed, 3 total',
  },
  {
    ...{ tool: 'mocha', line: /^\s*\d{1,7} (?:passing|failing|pending)\b/ },
    ...{ ran: /(\d+) (?:passing|failing)/, skipped: /(\d+) pending/, failed: /(\d+) failing/ },
    example: '  3 passing (5ms)',
  },
  {
    ...{ tool: 'pytest', line: /^(?:=+ )?(?:\d+ \w+, )*\d+ \w+(?:, \d+ \w+)* in [\d.]+s/ },
    ...{ ran: /(\d+) (?:passed|failed|errors?)/, skipped: /(\d+) (?:skipped|xfailed|deselected|xpassed)/ },
    failed: /(\d+) (?:failed|errors?)/,
    example: '===== 2 passed, 1 skipped in 0.03s =====',
  },
  {
    ...{ tool: 'python unittest', line: /^Ran \d+ tests? in /, ran: /Ran (\d+)/, example: 'Ran 4 tests in 0.002s' },
  },
  {
    ...{ tool: 'cargo', line: /^test result: / },
    ...{ ran: /(\d+) (?:passed|failed)/, skipped: /(\d+) (?:ignored|filtered out)/, failed: /(\d+) failed/ },
    example: 'test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out',
  },
  {
    ...{ tool: 'maven', line: /Tests run: \d+, Failures: /, total: true, ran: /Tests run: (\d+)/ },
    failed: /(?:Failures|Errors): (\d+)/,
    example: '[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0',
  },
  {
    ...{ tool: 'rspec', line: /^\d+ examples?, \d+ failures?/, ran: /^(\d+) examples?/, skipped: /(\d+) pending/ },
    failed: /(\d+) failures?/,
    example: '3 examples, 0 failures, 1 pending',
  },
  {
    ...{ tool: 'minitest', line: /^\d+ (?:runs|tests), \d+ assertions/, ran: /^(\d+)/, skipped: /(\d+) skips/ },
    failed: /(\d+) (?:failures|errors)/,
    example: '2 runs, 2 assertions, 0 failures, 0 errors, 0 skips',
  },
  {
    ...{ tool: 'go', line: /^(?:ok|FAIL|---\s+FAIL:|FAIL:)\s+\S+\s+(?:\(cached\)|[\d.]+s)/, ran: /^(?:ok|FAIL)()/ },
    example: 'ok  \texample.com/slug\t0.003s',
  },
]

const sumOf = (line: string, pattern: RegExp | undefined): number => {
  if (pattern === undefined) return 0
  return [...line.matchAll(new RegExp(pattern, 'g'))].reduce(
    (sum, [, digits]) => sum + (digits === '' ? 1 : Number(digits)),
    0,
  )
}

/** Of the first runner in the list that printed a summary; undefined = none did. `lines` are without colours. */
export const countTests = (lines: readonly string[]): TestCount | undefined => {
  for (const { line, ran, skipped, failed, total } of summaries) {
    const found = lines.filter((text) => text.length < 500 && line.test(text))
    if (found.length === 0) continue
    const join = (numbers: number[]): number =>
      total ? Math.max(...numbers) : numbers.reduce((sum, each) => sum + each, 0)
    const count = join(found.map((text) => sumOf(text, ran)))
    // The number that unittest prints contains the skipped ones, which it names on another line.
    const failures = join(found.map((text) => sumOf(text, failed)))
    return {
      ran: count,
      skipped: join(found.map((text) => sumOf(text, skipped))),
      ...(failures > 0 ? { failed: failures } : {}),
    }
  }
  return undefined
}

/** Of several commands; undefined = no runner counted in any of them. */
export const totalCount = (results: readonly { tests?: TestCount }[]): TestCount | undefined => {
  const counts = results.flatMap(({ tests }) => tests ?? [])
  if (counts.length === 0) return undefined
  const failed = counts.reduce((sum, each) => sum + (each.failed ?? 0), 0)
  return {
    ran: counts.reduce((sum, { ran }) => sum + ran, 0),
    skipped: counts.reduce((sum, { skipped }) => sum + skipped, 0),
    ...(failed > 0 ? { failed } : {}),
  }
}
