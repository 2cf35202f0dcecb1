import { expect, test } from 'vitest'
import { callerRefusal } from './person-only.ts'

test('a caller that is only suspected is told how to be recognized', () => {
  expect(callerRefusal({ program: 'codex' })).toEqual({
    why: 'codex was started by an agent',
    advice: 'Do it in a terminal that no agent started',
  })
  const { why, advice } = callerRefusal({ program: 'codex', doubt: 'suspected' })
  expect(why).toMatch(
    /the caller hides which program it is \(as a connection that ssh forwards does\), and so does codex/,
  )
  expect(advice).toMatch(/on this machine without forwarding, or when that agent has ended$/)
  expect(callerRefusal({ program: '?', doubt: 'hung up' }).why).toMatch(/hung up/)
  expect(callerRefusal({ program: '?', doubt: 'hidden' }).advice).toMatch(/--allow-hidden-callers/)
})
