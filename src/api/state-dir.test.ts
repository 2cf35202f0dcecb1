import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openPersistedLogins } from './persisted-logins.ts'
import { readSecret, replaceStateFile } from './state-dir.ts'

let stateDir = ''
beforeEach(() => {
  stateDir = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-state-')))
  return () => rmSync(stateDir, { recursive: true })
})

/** Every write to this device fails as on a full disk. Linux only. */
const device = '/dev/full'

describe.skipIf(!existsSync(device))('a full disk is an error with a code and the folder', () => {
  test.each<[file: string, write: () => void]>([
    ['token.new', () => readSecret(stateDir, 'token')],
    ['engine.json.new', () => replaceStateFile(stateDir, 'engine.json', '{}')],
    ['port.json.new', () => openPersistedLogins(stateDir).savePort(1)],
  ])('%s', (file, write) => {
    symlinkSync(device, join(stateDir, file))
    expect(write).toThrow(
      expect.objectContaining({ code: 'ENGINE_UNAVAILABLE', message: expect.stringContaining(stateDir) }),
    )
  })
})

describe('a secret', () => {
  test('stays the same', () => {
    expect(readSecret(stateDir, 'token')).toBe(readSecret(stateDir, 'token'))
    expect(existsSync(join(stateDir, 'damaged'))).toBe(false)
  })

  test.each(['', '\n', 'short', 'a'.repeat(44), `${'a'.repeat(42)}\0`])(
    'that reads %j is moved aside and made anew',
    (text) => {
      writeFileSync(join(stateDir, 'token'), text)
      expect(readSecret(stateDir, 'token')).toMatch(/^[\w-]{43}$/)
      expect(readdirSync(join(stateDir, 'damaged'))).toEqual(['token.1.new'])
    },
  )

  test('in whose place a folder stands is made anew, and the folder is kept', () => {
    mkdirSync(join(stateDir, 'token', 'inside'), { recursive: true })
    expect(readSecret(stateDir, 'token')).toMatch(/^[\w-]{43}$/)
    expect(readdirSync(join(stateDir, 'damaged', 'token.1.new'))).toEqual(['inside'])
  })
})
