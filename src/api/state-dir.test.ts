import { existsSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { writeAddress } from './listen.ts'
import { openPersistedLogins } from './persisted-logins.ts'
import { readSecret } from './state-dir.ts'

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
    ['engine.json.new', () => writeAddress(stateDir, { url: 'http://127.0.0.1:1', socket: undefined }, '0.0.0')],
    ['port.json.new', () => openPersistedLogins(stateDir).savePort(1)],
  ])('%s', (file, write) => {
    symlinkSync(device, join(stateDir, file))
    expect(write).toThrow(
      expect.objectContaining({ code: 'ENGINE_UNAVAILABLE', message: expect.stringContaining(stateDir) }),
    )
  })
})
