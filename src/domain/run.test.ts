import { expect, test } from 'vitest'
import { spendWithLaunch, type Launch } from './run.ts'

const launch = (number: number, tokens: number | null): Launch => ({
  ...{ number, corrections: { addDirs: [], skipGitCheck: false }, resumeSession: null, hint: null, shim: null },
  ...{ gateOpened: true, startedAt: null, spend: tokens === null ? null : { tokens, costUsd: 0, seconds: 1 } },
})
const spent = (tokens: number, seconds: number) => ({ tokens, costUsd: 0, seconds })

test('a launch adds its spend once, and what questions spent stays', () => {
  const launches = [launch(1, 100), launch(2, null)]
  // 30 of these are of a question.
  const first = spendWithLaunch({ spend: spent(130, 2), launches }, spent(50, 5))
  expect(first).toEqual(spent(180, 7))
  // Read again after a crash: it replaces what was stored before.
  const again = spendWithLaunch({ spend: first, launches: [launch(1, 100), launch(2, 50)] }, spent(60, 4))
  expect(again).toEqual(spent(190, 10))
})
