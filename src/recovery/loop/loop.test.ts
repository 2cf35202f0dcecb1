import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { LoopState } from '../../domain/loop.ts'
import { diagnose } from '../diagnosis.ts'
import { nextStep, playbooks } from '../ladder.ts'
import type { PastRecovery } from '../playbook.ts'
import { historyOfTurn } from './turn-history.ts'
import { afterIteration, afterTurn, gatesOf, iterationSignature, limitFrom, openText, repeats } from './iteration.ts'
import type { GateFacts } from './iteration.ts'
import { boxesIn, keepsBoxes } from './open-boxes.ts'
import { promiseIn } from './review.ts'
import { readReview } from './review.ts'

const sha256 = createHash('sha256').update('x').digest('hex')

describe('the promise of the reviewer', () => {
  test.each([
    ['alone', '<promise>DONE</promise>'],
    ['at the end', 'All gates hold.\n\n<promise>DONE</promise>\n'],
    ['with CRLF', 'Fine.\r\n<promise>DONE</promise>\r\n'],
  ])('counts on the last line (%s)', (_name, message) => {
    expect(promiseIn(message)).toBe('DONE')
    expect(readReview({ message }, 'DONE')).toMatchObject({ ok: true, promised: true })
  })

  test.each([
    ['a refusal that mentions it', 'I do not give <promise>DONE</promise> yet.'],
    ['a refusal after it', '<promise>DONE</promise>\n\nis what I would say if the tests passed.'],
    ['a quotation', '> <promise>DONE</promise>'],
    ['inline code', '`<promise>DONE</promise>`'],
    ['a code block', '```\n<promise>DONE</promise>\n```'],
    ['a code block without an end', '```\n<promise>DONE</promise>'],
    ['an indented line', '    <promise>DONE</promise>'],
    ['another text', '<promise>NOT DONE</promise>'],
    ['a part of the text', '<promise>DON</promise>'],
    ['white space inside', '<promise> DONE </promise>'],
    ['another case', '<promise>done</promise>'],
    ['a look-alike', '<promise>DОNE</promise>'],
    ['two on a line', '<promise>DONE</promise> or <promise>DONE</promise>'],
    ['a tag inside', '<promise><b>DONE</b></promise>'],
    ['an attribute', '<promise by="me">DONE</promise>'],
    ['an open tag', '<promise>DONE'],
    ['only the word', 'DONE'],
    ['words like it', 'abandoned, incomplete, not DONE yet'],
    ['nothing', ''],
  ])('does not count: %s', (_name, message) => {
    expect(readReview({ message }, 'DONE')).toMatchObject({ promised: false })
  })

  test('is read from review.json without a message, and a file that refuses it wins over the message', () => {
    const message = '<promise>DONE</promise>'
    expect(readReview({ file: '{"promise":"DONE"}' }, 'DONE')).toMatchObject({ promised: true })
    expect(readReview({ file: '{"promise":"DONE "}' }, 'DONE')).toMatchObject({ promised: false })
    expect(readReview({ file: '{"promise":null}', message }, 'DONE')).toMatchObject({ promised: false })
    expect(readReview({ file: '{"promise":"no"}', message }, 'DONE')).toMatchObject({ promised: false })
    expect(readReview({ file: '{}', message }, 'DONE')).toMatchObject({ promised: true })
  })

  test.each([
    ['no JSON', 'promise: DONE', 'review.json is not valid JSON'],
    ['no object', '["DONE"]', 'review.json'],
    ['another type', '{"promise":["DONE"]}', 'promise'],
    ['a short digest', '{"promise":"DONE","evidence":[{"path":"a","sha256":"abc"}]}', 'evidence[0].sha256'],
    ['evidence without a path', `{"promise":"DONE","evidence":[{"sha256":"${sha256}"}]}`, 'evidence[0].path'],
  ])('a review.json that cannot be read promises nothing: %s', (_name, file, named) => {
    const review = readReview({ file, message: '<promise>DONE</promise>' }, 'DONE')
    expect(review).toMatchObject({ ok: false })
    expect(review.ok ? '' : review.problem).toContain(named)
  })

  test('a hostile message is read in one pass', () => {
    // With a pattern that tries again from each character these would not end within the limit of a test.
    expect(promiseIn('<promise>'.repeat(100_000))).toBeUndefined()
    expect(promiseIn(`${'`'.repeat(100_000)}\n<promise>DONE</promise>`)).toBeUndefined()
    expect(boxesIn('- [ '.repeat(100_000)).count).toBe(0)
  })
})

describe('the checklist', () => {
  test('counts boxes outside of code', () => {
    const text = [
      '# Plan',
      '- [x] one',
      '* [ ] two',
      '1. [ ] three',
      '  - [X] four',
      '```',
      '- [ ] in code',
      '```',
      '~~~md',
      '```',
      '- [ ] also in code',
      '~~~',
      'prose - [ ] no box',
      '- [] no box',
    ].join('\n')
    expect(boxesIn(text)).toEqual({
      count: 4,
      open: [
        { line: 3, title: 'two' },
        { line: 4, title: 'three' },
      ],
    })
  })

  const plan = '# Plan\n- [x] one\n- [ ] two\n- [ ] two\n'
  test.each([
    ['ticked', plan.replaceAll('[ ]', '[x]'), true],
    ['moved, with a new one between', '- [x] two\n- [ ] new\n* [ ] two\n1. [ ] one\n', true],
    ['removed with the file', '', false],
    ['removed', '# Plan\n- [x] one\n- [x] two\n', false],
    ['reworded', plan.replace('[ ] two', '[x] done'), false],
    ['moved into code', `${plan.slice(0, -10)}\n\`\`\`\n- [ ] two\n\`\`\`\n`, false],
    ['replaced by prose', 'All is done.\n', false],
  ])('keeps its boxes when they are %s: %j', (_how, after, kept) => {
    expect(keepsBoxes(plan, after)).toBe(kept)
  })
})

const passed = { state: 'passed', tree: 'tree', text: '2 checks passed', signature: '' } as const
const facts = (more: Partial<GateFacts>): GateFacts => ({
  review: { ok: true, promised: true, evidence: [], remaining: [] },
  ...{ tests: passed, tree: 'tree', hasPlan: true, checklist: [], wrongEvidence: [], openQuestions: [] },
  ...more,
})
const state = (more: Partial<LoopState>): LoopState => ({
  ...{
    iteration: 1,
    role: 'reviewer',
    stage: 'turn',
    limit: 20,
    before: null,
    tests: passed,
    signatures: [],
    open: '',
    recoveries: 0,
  },
  ...more,
})
const end = (gates: GateFacts, more: Partial<LoopState> = {}, threshold = 3) =>
  afterIteration(state(more), gatesOf(gates), threshold)

describe('an iteration', () => {
  test('has its turns in order, with the checks before the tester', () => {
    expect(afterTurn).toEqual({
      planner: { turn: 'worker' },
      worker: 'tests',
      tester: 'proposal',
      reviewer: 'gates',
    })
  })

  test('ends the loop when the promise and all gates hold', () => {
    expect(end(facts({}))).toEqual({ kind: 'land' })
  })

  test.each<[string, Partial<GateFacts>]>([
    ['promise', { review: { ok: true, promised: false, evidence: [], remaining: ['a test is missing'] } }],
    ['promise', { review: { ok: false, problem: 'review.json is not valid JSON' } }],
    ['tests', { tests: { ...passed, state: 'failed', text: 'node check.js failed' } }],
    ['tests', { tests: null }],
    ['tests', { tree: 'changed after the tests' }],
    ['checklist', { hasPlan: false }],
    ['checklist', { checklist: [{ file: 'plan.md', open: [{ line: 3, title: 'two' }], count: 2 }] }],
    ['evidence', { wrongEvidence: ['src/a.ts does not exist'] }],
    ['questions', { openQuestions: ['Which database?'] }],
  ])('goes on while one gate does not hold: %s', (name, more) => {
    expect(end(facts(more))).toEqual({ kind: 'next', repeated: 0 })
    expect(openText(gatesOf(facts(more)))).toMatch(new RegExp(`^- ${name}: [^\n]+$`))
  })

  test('is stuck after three equal signatures, and never by unknown ones', () => {
    const open = facts({ review: { ok: true, promised: false, evidence: [], remaining: [] } })
    expect(end(open, { signatures: ['a', 'a'] })).toEqual({ kind: 'next', repeated: 2 })
    expect(end(open, { signatures: ['b', 'a', 'a', 'a'] })).toEqual({ kind: 'stuck', repeated: 3 })
    expect(end(open, { signatures: ['a', '', 'a', 'a'] })).toEqual({ kind: 'next', repeated: 2 })
    expect(end(open, { signatures: ['', '', '', ''] })).toEqual({ kind: 'next', repeated: 0 })
    expect(end(open, { signatures: ['a', 'a', 'a', 'a'] }, -1)).toEqual({ kind: 'next', repeated: 4 })
    expect(repeats([])).toBe(0)
  })

  test('asks at the last iteration, unless it ends the loop', () => {
    const open = facts({ review: { ok: true, promised: false, evidence: [], remaining: [] } })
    expect(end(open, { iteration: 20 })).toEqual({ kind: 'limit' })
    expect(end(facts({}), { iteration: 20 })).toEqual({ kind: 'land' })
    expect([limitFrom(1, 20), limitFrom(21, 20)]).toEqual([20, 40])
  })
})

describe('the signature of an iteration', () => {
  const failed = { state: 'failed', tree: 'tree', text: 'failed', signature: 'check: 3 failing' } as const
  const gates = gatesOf(facts({ review: { ok: true, promised: false, evidence: [], remaining: [] } }))
  test('of failing tests is what fails, whatever files changed', () => {
    expect(iterationSignature(failed, 'one', gates)).toBe(iterationSignature(failed, 'other', gates))
    expect(iterationSignature({ ...failed, signature: 'check: 2 failing' }, 'one', gates)).not.toBe(
      iterationSignature(failed, 'one', gates),
    )
  })
  test('is empty where the failure is unknown', () => {
    expect(iterationSignature({ ...failed, signature: '' }, 'one', gates)).toBe('')
    expect(iterationSignature(passed, '', gates)).toBe('')
  })
  test('of passing tests is the files and the gates that do not hold', () => {
    expect(iterationSignature(passed, 'one', gates)).toBe(iterationSignature(passed, 'one', gates))
    expect(iterationSignature(passed, 'one', gates)).not.toBe(iterationSignature(passed, 'two', gates))
    expect(iterationSignature(passed, 'one', gates)).not.toBe(
      iterationSignature(passed, 'one', gatesOf(facts({ wrongEvidence: ['a'] }))),
    )
  })
})

describe('the recoveries of a turn', () => {
  const trust = diagnose({
    ...{ kind: 'launch', harness: 'codex', denials: [] },
    failure: { source: 'stderr', type: 'git_trust', text: 'Not inside a trusted directory' },
  })
  const policy = {
    ...{ playbooks, disabled: [] },
    retry: {
      ...{
        transientBaseSeconds: 1,
        transientMaxSeconds: 1,
        transientLimit: 5,
        quotaBaseSeconds: 1,
        quotaMaxSeconds: 1,
      },
    },
  }
  const step = (history: PastRecovery[]) => nextStep(trust, history, policy, { id: 't', runId: 'r' })
  const tried = (status: PastRecovery['status']): PastRecovery => {
    const first = step([])
    if (first.kind !== 'recover') throw new Error('the failure has a recovery')
    const { playbook, actionKey } = first
    return { runId: 'r', playbook: playbook.id, label: trust.label, actionKey, status, counted: true }
  }

  test('a correction that helped an earlier turn is free for this one, and one that failed is not', () => {
    expect(step([tried('success')]).kind).toBe('exhausted')
    expect(step(historyOfTurn([tried('success')], 1)).kind).toBe('recover')
    expect(step(historyOfTurn([tried('success')], 0)).kind).toBe('exhausted')
    expect(step(historyOfTurn([tried('failed')], 1)).kind).toBe('exhausted')
    expect(step(historyOfTurn([tried('acting')], 1)).kind).toBe('exhausted')
  })
})
