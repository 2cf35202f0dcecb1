import { expect, test } from 'vitest'
import { noneAtOnce, outcomeText, proofText, type Proof } from './proof.ts'

const unproven: Proof = { kind: 'unproven', fact: 'it changes only documentation', tests: [], files: [] }

test('work whose checks pass is not called unproved in the same breath: what was shown comes first', () => {
  const text = outcomeText('verified', unproven)
  expect(text).not.toMatch(/not proved|unproven/)
  expect(text.indexOf('pass')).toBeLessThan(text.indexOf('not shown'))
  expect(text).toContain(unproven.fact)
})

test('where nothing was shown, no text says that checks pass', () => {
  for (const outcome of ['not verified', 'nothing to verify'])
    expect(outcomeText(outcome, unproven)).not.toMatch(/checks pass/)
  expect(proofText(unproven)).not.toMatch(/checks pass/)
})

test('where no check passed at once, no text says that the checks pass', () => {
  expect(outcomeText('verified', { ...unproven, fact: noneAtOnce })).not.toMatch(/checks pass/)
})
