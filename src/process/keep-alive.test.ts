import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { watchKeepAlive } from './keep-alive.ts'

const dir = mkdtempSync(join(tmpdir(), 'unstuck-pulse-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

test('silence is measured by the given clock since the last change, whatever time the file claims', () => {
  const file = join(dir, 'keepalive')
  let clock = 1000
  const pulse = watchKeepAlive(file, () => clock)
  clock += 50
  expect(pulse.silentMs()).toBe(50)
  writeFileSync(file, '')
  expect(pulse.silentMs()).toBe(0)
  clock += 70
  expect(pulse.silentMs()).toBe(70)
  utimesSync(file, 1, 1) // the wall clock fell back to 1970: still a sign of life
  expect(pulse.silentMs()).toBe(0)
  utimesSync(file, 4e9, 4e9) // and far into the future: one sign of life, no credit
  expect(pulse.silentMs()).toBe(0)
  clock += 5000
  expect(pulse.silentMs()).toBe(5000)
  rmSync(file)
  expect(pulse.silentMs()).toBe(5000)
})
