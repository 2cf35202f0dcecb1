import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { loadConfig } from '../../config/config.ts'
import { realFiles } from '../core/files.ts'
import { readPrepared, recordPrepared } from './prepared.ts'

let stateDir = ''
beforeEach(() => {
  stateDir = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-prepared-')))
  return () => rmSync(stateDir, { recursive: true })
})

const preparing = () => {
  const config = loadConfig({ root: stateDir, environment: {}, flags: {} })
  const own = { ...config, workspace: { ...config.workspace, copy: ['.env.local'] } }
  const context = { ports: { files: realFiles } as never, stateDir, config: () => own }
  return { context, paths: { root: stateDir } }
}

test('what was recorded is read, and there is nothing where nothing was', () => {
  const none = { laid: [], missing: [], copied: [], setupTree: null }
  expect(readPrepared(preparing())).toEqual(none)
  const prepared = { ...none, copied: ['a'], missing: [{ path: 'sub', reason: 'no network' }], setupTree: 'b' }
  recordPrepared(preparing(), prepared)
  expect(readPrepared(preparing())).toEqual(prepared)
})

test.each(['', '{"laid":[', 'null', '{"copied":"x"}'])('of a record that reads %j, what is copied is known', (text) => {
  writeFileSync(join(stateDir, 'prepared.json'), text)
  expect(readPrepared(preparing()).copied).toEqual(['.env.local'])
  expect(readdirSync(join(stateDir, 'damaged'))).toEqual(['prepared.json.1.new'])
  // Also the next time, when no damaged file is there any more.
  expect(readPrepared(preparing()).copied).toEqual(['.env.local'])
  expect(existsSync(join(stateDir, 'prepared.json'))).toBe(true)
})
