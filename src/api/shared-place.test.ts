import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { forgetSharedMemory, openSharedMemory } from './shared-place.ts'

let dir = ''
let now = 0
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'unstuck-shared-'))
  now = 1_000_000
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

/** As the process does after a crash. */
const open = () => openSharedMemory(dir, () => now)

test('a repository that crashed the process three times within a quarter of an hour is set aside, and no other', () => {
  for (const isSetAside of [false, false, true]) {
    open().addCrash('one')
    now += 60_000
    expect([open().isSetAside('one'), open().isSetAside('two')]).toEqual([isSetAside, false])
  }
  now += 14 * 60_000
  expect(open().isSetAside('one')).toBe(false)
})

test('a process that ended while it opened a repository counts as a crash of that one', () => {
  for (let time = 0; time < 3; time += 1) {
    const memory = open()
    memory.beginOpening('fine')
    memory.endOpening('fine')
    memory.beginOpening('one')
    open().countInterrupted()
  }
  expect([open().isSetAside('one'), open().isSetAside('fine')]).toEqual([true, false])
  // What was counted is not counted again.
  open().countInterrupted()
  forgetSharedMemory(dir)
  expect([open().isSetAside('one'), open().hasCrashes()]).toEqual([false, false])
})

test('what a person stopped stays stopped, and a damaged file is written anew', () => {
  open().setDetached('one', true)
  expect([open().isDetached('one'), open().isDetached('two')]).toEqual([true, false])
  open().setDetached('one', false)
  expect(open().isDetached('one')).toBe(false)
  writeFileSync(join(dir, 'detached.json'), '{')
  open().setDetached('two', true)
  expect(open().isDetached('two')).toBe(true)
})
