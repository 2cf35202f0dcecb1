import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { createKeepsakes } from './keepsakes.ts'
import { createLogins } from './logins.ts'

const folder = mkdtempSync(join(tmpdir(), 'unstuck-keepsakes-'))
afterAll(() => rmSync(folder, { recursive: true }))

const hours = 3_600_000

it('a session lives on in the next engine, a code does not, and the file holds neither', () => {
  const first = createLogins(() => new Date(0), createKeepsakes(folder))
  const code = first.issue().code
  const { session = '' } = first.redeem(first.issue().code) ?? {}
  const next = createLogins(() => new Date(11 * hours), createKeepsakes(folder))
  expect([next.holds(session), next.redeem(code)]).toEqual([true, undefined])
  const file = join(folder, 'sessions.json')
  expect(readFileSync(file, 'utf8')).not.toContain(session)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(createLogins(() => new Date(12 * hours), createKeepsakes(folder)).holds(session)).toBe(false)
})

it('sessions that were dropped stay dropped', () => {
  const first = createLogins(() => new Date(0), createKeepsakes(folder))
  const { session = '' } = first.redeem(first.issue().code) ?? {}
  first.forget()
  expect(first.holds(session)).toBe(false)
  expect(createLogins(() => new Date(0), createKeepsakes(folder)).holds(session)).toBe(false)
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
  const keepsakes = createKeepsakes(folder)
  expect([keepsakes.port(), keepsakes.sessions()]).toEqual([0, []])
})

it('a port is kept', () => {
  createKeepsakes(folder).keepPort(43_210)
  expect(createKeepsakes(folder).port()).toBe(43_210)
})
