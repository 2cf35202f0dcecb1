import { describe, expect, test } from 'vitest'
import type { Evidence } from '../evidence.ts'
import { draftOf } from './draft-own.ts'
import { ownText } from './describe-own.ts'
import { fitOf, matchesOf, subjectOf, type OwnSubject } from './match-own.ts'
import { budgetOf, postConditionOf, readOwnPlaybook, type OwnPlaybook } from './own-playbook.ts'

const plain = {
  title: 'The registry is down',
  evidence: { pattern: '503' },
  action: { type: 'wait', seconds: 30 },
}

const read = (change: object = {}): OwnPlaybook => {
  const found = readOwnPlaybook(JSON.stringify({ ...plain, ...change }))
  if (!found.ok) throw new Error(found.problem)
  return found.playbook
}

describe('a file', () => {
  test('has a default for everything but title, evidence and action', () => {
    expect(read()).toEqual({
      ...plain,
      match: { failure: 'check' },
      evidence: { pattern: '503', stream: 'any' },
      then: 'built_in',
    })
    expect([budgetOf(read()), postConditionOf(read())]).toEqual([3, 'check_passes'])
    const asks = read({ action: { type: 'ask', question: 'Why?' } })
    expect([budgetOf(asks), postConditionOf(asks)]).toEqual([1, undefined])
  })

  test.each<[key: string, change: object, problem: RegExp]>([
    ['an unknown key', { buget: 1 }, /^unknown key buget\. Did you mean "budget"\?/],
    ['an unknown key of a part', { match: { comand: 'x' } }, /unknown key match\.comand\. Did you mean "command"\?/],
    [
      'an unknown key of the action',
      { action: { type: 'wait', second: 3 } },
      /unknown key action\.second\. Did you mean "seconds"\?/,
    ],
    ['no pattern', { evidence: {} }, /evidence\.pattern is missing/],
    ['an open bracket', { evidence: { pattern: '(503' } }, /evidence\.pattern is "\(503"; it is no regular expression/],
    ['a look-behind', { evidence: { pattern: '(?<=a)b' } }, /evidence\.pattern .* no regular expression of RE2/],
    ['a back-reference', { match: { command: String.raw`(a)\1` } }, /match\.command .* no regular expression of RE2/],
    ['an unknown action', { action: { type: 'reboot' } }, /action\.type is "reboot"; allowed: .*"wait", "run"/],
    ['no action', { action: undefined }, /action/],
    ['a wait without an end', { action: { type: 'wait', seconds: -1 } }, /action\.seconds is -1/],
    ['a budget without an end', { budget: -1 }, /budget is -1; allowed: a whole number from 1 to 20/],
    ['a command of two lines', { action: { type: 'run', command: 'a\nb' } }, /action\.command .* control character/],
    [
      'a folder outside',
      { action: { type: 'run', command: 'a', workingDir: '../x' } },
      /action\.workingDir is "\.\.\/x"/,
    ],
    ['a budget of a question', { action: { type: 'ask', question: 'Why?' }, budget: 2 }, /budget is 2; .* has none/],
    ['a post-condition of another action', { postCondition: 'fewer_failures' }, /postCondition .* "check_passes"/],
    ['a command for an agent', { match: { failure: 'agent', command: 'x' } }, /match\.command .* only a failed check/],
    [
      'a hint that nothing gives',
      { action: { type: 'ask', question: 'Why?', choices: [{ label: 'So', answer: 'hint' }] } },
      /action\.choices/,
    ],
  ])('is refused for %s', (_what, change, problem) => {
    const found = readOwnPlaybook(JSON.stringify({ ...plain, ...change }))
    expect(found.ok ? '' : found.problem).toMatch(problem)
  })

  test('that is no JSON, or names what every object has, is refused', () => {
    expect(readOwnPlaybook('{')).toMatchObject({ ok: false, problem: expect.stringContaining('not JSON') as string })
    expect(readOwnPlaybook('{"match":{"__proto__":{}}}')).toMatchObject({
      problem: expect.stringContaining('match.__proto__') as string,
    })
  })
})

const subject: OwnSubject = {
  ...{ failure: 'check', harness: 'codex', command: 'npm test', exitCode: 1 },
  ...{ stdout: 'one\nfetch 503 failed\ntwo', stderr: 'three' },
}

describe('a match', () => {
  test('is the line that the pattern found', () => {
    expect(fitOf(read(), subject)).toEqual({ line: 'fetch 503 failed' })
    expect(fitOf(read({ evidence: { pattern: '^two$' } }), subject)).toEqual({ line: 'two' })
  })

  test.each<[why: string, change: object]>([
    ['evidence.pattern', { evidence: { pattern: '503', stream: 'stderr' } }],
    ['match.command', { match: { command: '^npm run' } }],
    ['match.exitCode', { match: { exitCode: [2, 3] } }],
    ['match.harness', { match: { harness: 'claude' } }],
    ['it is for an error that an agent reports', { match: { failure: 'agent' } }],
  ])('needs all that it names: %s', (why, change) => {
    expect(fitOf(read(change), subject)).toEqual({ why: expect.stringContaining(why) as string })
  })

  test('is chosen in the order of the names', () => {
    expect(matchesOf({ b: read(), a: read(), c: read({ evidence: { pattern: 'no' } }) }, subject)).toMatchObject([
      { name: 'a' },
      { name: 'b' },
    ])
  })

  test('takes no time that grows with a pattern', () => {
    const slow = read({ evidence: { pattern: '(a+)+$' } })
    expect(fitOf(slow, { ...subject, stdout: `${'a'.repeat(50_000)}!`, stderr: '' })).toHaveProperty('why')
  })

  test('is not looked for where only the built-in playbooks decide', () => {
    const failure = { source: 'event', text: 'limit 503' } as const
    const launch: Evidence = { kind: 'launch', harness: 'codex', failure, denials: [] }
    expect(subjectOf(launch, { rung: 2, label: 'llm_quota' }, 'codex')).toBeUndefined()
    expect(subjectOf(launch, { rung: 2, label: 'auth_failure' }, 'codex')).toBeUndefined()
    expect(subjectOf(launch, { rung: 1, label: 'SANDBOX_ERROR' }, 'codex')).toBeUndefined()
    expect(
      subjectOf({ kind: 'unverified', reason: '503' }, { rung: 4, label: 'not_verified' }, 'codex'),
    ).toBeUndefined()
    expect(subjectOf(launch, { rung: 2, label: 'unknown' }, 'codex')).toMatchObject({ stderr: 'limit 503' })
  })
})

describe('a draft', () => {
  const line = 'at /home/me/run-12/src/db.ts:40: commit 1a2b3c4d5e: no (database) in 13.5 s'
  const draft = read(draftOf({ failure: 'check', command: 'npm test', line }))

  test('fits the failure, also with other numbers, hashes and folders, and nothing else', () => {
    const again = 'at /srv/other/run-7/lib/db.ts:41: commit ffff0000aa: no (database) in 2.25 s'
    for (const stderr of [line, again]) expect(fitOf(draft, { ...subject, stderr })).toEqual({ line: stderr })
    expect(fitOf(draft, { ...subject, stderr: again.replace('(database)', 'database') })).toHaveProperty('why')
    expect(fitOf(draft, { ...subject, command: 'npm test && x', stderr: line })).toHaveProperty('why')
  })
})

test('what it does is told with its end', () => {
  expect(ownText(read())).toMatch(/waits 30 s.*at most 3 times, then the built-in playbooks go on/)
  expect(ownText(read({ action: { type: 'run', command: 'make db' }, then: 'ask' }))).toMatch(
    /runs `make db`.*once, then a person is asked/,
  )
})
