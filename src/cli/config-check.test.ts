import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { configCheckCommand } from './config-check.ts'
import type { Io } from './io.ts'

let root = ''
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-check-')))
  execFileSync('git', ['init', '-q', root])
  mkdirSync(join(root, '.unstuck'))
  return () => rmSync(root, { recursive: true })
})

const check = async (environment: Record<string, string>) => {
  let text = ''
  const io = { cwd: root, environment, out: (more: string) => void (text += more) } as unknown as Io
  const exit = await configCheckCommand(io, undefined, { json: true })
  return { exit, files: JSON.parse(text) as { file: string; state: string; problem?: string }[] }
}

test('the policy that the environment names is checked instead of the default one', async () => {
  writeFileSync(join(root, '.unstuck', 'policy-recovery.json'), '{"mode":"reckless"}')
  expect(await check({})).toMatchObject({ exit: 78, files: [{}, { state: 'invalid' }, {}] })
  writeFileSync(join(root, 'mine.json'), '{"mode":"conservative"}')
  const named = await check({ POLICY_RECOVERY_CONFIG_PATH: 'mine.json' })
  expect(named).toMatchObject({ exit: 0, files: [{}, { file: join(root, 'mine.json'), state: 'valid' }, {}] })
  writeFileSync(join(root, 'mine.json'), '{"mode":"reckless"}')
  const invalid = await check({ POLICY_RECOVERY_CONFIG_PATH: 'mine.json' })
  expect([invalid.exit, invalid.files[1]?.problem]).toEqual([78, expect.stringContaining('mine.json: mode')])
  const absent = await check({ POLICY_RECOVERY_CONFIG_PATH: 'gone.json' })
  expect([absent.exit, absent.files[1]?.problem]).toEqual([78, expect.stringContaining('there is no file')])
})
