import { expect, it } from 'vitest'
import { createLogins } from './logins.ts'

const minute = 60_000

const at = (start = 0) => {
  let now = start
  const logins = createLogins(() => new Date(now))
  return { logins, pass: (ms: number) => void (now += ms) }
}

it('a code works once', () => {
  const { logins } = at()
  const { code } = logins.issue()
  const begun = logins.redeem(code)
  expect(logins.loginOf(begun?.token ?? '')).toBeDefined()
  expect(logins.redeem(code)).toBeUndefined()
})

it('a code expires after ten minutes, a session after twelve hours', () => {
  const { logins, pass } = at()
  const [early, late] = [logins.issue(), logins.issue()]
  expect(late.expiresAt.getTime()).toBe(10 * minute)
  pass(10 * minute - 1)
  const session = logins.redeem(early.code)?.token ?? ''
  pass(1)
  expect(logins.redeem(late.code)).toBeUndefined()
  pass(12 * 60 * minute - 2)
  expect(logins.loginOf(session)).toBeDefined()
  pass(1)
  expect(logins.loginOf(session)).toBeUndefined()
})

it('a code is no session and a session no code', () => {
  const { logins } = at()
  const { code } = logins.issue()
  expect(logins.loginOf(code)).toBeUndefined()
  const session = logins.redeem(code)?.token ?? ''
  expect(logins.redeem(session)).toBeUndefined()
  expect(logins.loginOf('')).toBeUndefined()
})

it('asking for codes without end keeps only the newest', () => {
  const { logins } = at()
  const codes = Array.from({ length: 60 }, () => logins.issue().code)
  expect(logins.redeem(codes[0] ?? '')).toBeUndefined()
  expect(logins.redeem(codes[59] ?? '')).toBeDefined()
})
