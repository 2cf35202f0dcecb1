import { createHmac } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { openPersistedLogins } from './persisted-logins.ts'
import { createLogins, type Logins } from './logins.ts'

const folder = mkdtempSync(join(tmpdir(), 'unstuck-keepsakes-'))
afterAll(() => rmSync(folder, { recursive: true }))

const hours = 3_600_000

const begin = (logins: Logins): { token: string; id: string; key: string } => {
  const token = logins.redeem(logins.issue().code)?.token ?? ''
  return { token, ...(logins.keyOf(token) ?? { id: '', key: '' }) }
}

const signed = (key: string, lines: (string | number)[]): string =>
  createHmac('sha256', Buffer.from(key, 'base64url')).update(lines.join('\n')).digest('base64url')

const port = 4_711

/** As the page of a login does it: asks, checks and answers. */
const resume = (logins: Logins, { id, key }: { id: string; key: string }, at = port): string | undefined => {
  const nonce = 'n'
  const asked = logins.challenge({ id, nonce, port })
  if (asked === undefined) return undefined
  expect(asked.proof).toBe(signed(key, ['unstuck', 'engine', port, asked.nonce, nonce]))
  return logins.resume({ id, nonce, port, proof: signed(key, ['unstuck', 'page', at, asked.nonce, nonce]) })?.token
}

it('a session and a code end with their engine, and the login goes on by its key until its time', () => {
  const first = createLogins(() => new Date(0), openPersistedLogins(folder))
  const code = first.issue().code
  const login = begin(first)
  const next = createLogins(() => new Date(11 * hours), openPersistedLogins(folder))
  expect([next.loginOf(login.token), next.redeem(code)]).toEqual([undefined, undefined])
  const token = resume(next, login) ?? ''
  expect(next.loginOf(token)).toBe(login.id)
  const file = join(folder, 'sessions.json')
  expect(readFileSync(file, 'utf8')).not.toContain(login.token)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const late = createLogins(() => new Date(12 * hours), openPersistedLogins(folder))
  expect([resume(late, login), late.loginOf(token)]).toEqual([undefined, undefined])
})

it('a proof for another engine, another port, another role or by another key is none', () => {
  const first = createLogins(() => new Date(0), openPersistedLogins(folder))
  const login = begin(first)
  const asked = first.challenge({ id: login.id, nonce: 'n', port })
  const next = createLogins(() => new Date(0), openPersistedLogins(folder))
  const old = signed(login.key, ['unstuck', 'page', port, asked?.nonce ?? '', 'n'])
  expect(next.resume({ id: login.id, nonce: 'n', proof: old, port })).toBeUndefined()
  expect(next.resume({ id: login.id, nonce: 'n', proof: asked?.proof ?? '', port })).toBeUndefined()
  expect(resume(next, login, port + 1)).toBeUndefined()
  const echoed = next.challenge({ id: login.id, nonce: 'n', port })
  expect(next.resume({ id: login.id, nonce: 'n', proof: echoed?.proof ?? '', port })).toBeUndefined()
  const stranger = signed('A'.repeat(43), ['unstuck', 'page', port, echoed?.nonce ?? '', 'n'])
  expect(next.resume({ id: login.id, nonce: 'n', proof: stranger, port })).toBeUndefined()
  expect(resume(next, login)).toBeDefined()
})

it('logins that were dropped stay dropped', () => {
  const first = createLogins(() => new Date(0), openPersistedLogins(folder))
  const login = begin(first)
  first.forget()
  expect(first.loginOf(login.token)).toBeUndefined()
  expect(
    resume(
      createLogins(() => new Date(0), openPersistedLogins(folder)),
      login,
    ),
  ).toBeUndefined()
})

it.each([
  '',
  '{',
  'null',
  '{"a":1}',
  '[null,1,{"digest":"x","until":1},{"digest":"__proto__"}]',
  '-1',
  '70000',
  '"80"',
])('a file that holds %j counts as none', (text) => {
  for (const name of ['port.json', 'sessions.json']) writeFileSync(join(folder, name), text)
  const keepsakes = openPersistedLogins(folder)
  expect([keepsakes.port(), keepsakes.logins()]).toEqual([0, []])
  expect(readdirSync(folder)).toEqual(['damaged'])
})

it('a port is kept', () => {
  openPersistedLogins(folder).savePort(43_210)
  expect(openPersistedLogins(folder).port()).toBe(43_210)
})
