import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { loadConfig } from '../config/config.ts'
import { loadPolicyRecovery } from '../config/policy-recovery-file.ts'
import { createReadAll, type ReadFileText } from '../runtime/engine/owner-files.ts'
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

test('a pipe, a folder or a device in the place of a file is a mistake that is named, and nothing waits for it', async () => {
  const place = (name: string): string => join(root, '.unstuck', name)
  execFileSync('mkfifo', [place('config.json')])
  mkdirSync(place('policy-recovery.json'))
  symlinkSync('/dev/zero', place('verify.contract.json'))
  const { exit, files } = await check({})
  expect(exit).toBe(78)
  expect(files.map(({ state }) => state)).toEqual(['invalid', 'invalid', 'invalid'])
  for (const [index, kind] of ['named pipe', 'folder', 'device'].entries())
    expect(files[index]?.problem).toContain(kind)
  expect(files.map(({ file, problem }) => problem?.includes(file))).toEqual([true, true, true])
})

test('of a file that became a pipe the settings in use stay, until it is a file again', () => {
  const path = join(root, '.unstuck', 'config.json')
  writeFileSync(path, '{"maxParallel":3}')
  const files = {
    config: (readFile: ReadFileText) => loadConfig({ root, readFile }),
    policy: (readFile: ReadFileText) => loadPolicyRecovery({ root, readFile }),
    contract: () => undefined,
    playbooks: { names: () => ({ names: [], problems: [] }), one: () => undefined },
  }
  const readAll = createReadAll(files, () => 0)
  const first = readAll().read
  rmSync(path)
  execFileSync('mkfifo', [path])
  const kept = readAll(first)
  expect(kept.read.config).toBe(first.config)
  expect(kept.problems).toEqual([expect.stringContaining(path)])
  rmSync(path)
  writeFileSync(path, '{"maxParallel":2}')
  expect(readAll(first)).toMatchObject({ read: { config: { maxParallel: 2 } }, problems: [] })
})

const written = (name: string, value: unknown) =>
  writeFileSync(join(root, '.unstuck', name), typeof value === 'string' ? value : JSON.stringify(value))

test.each(['config.json', 'policy-recovery.json', 'verify.contract.json'])(
  'nothing of a file that %s leads to is quoted',
  async (name) => {
    for (const content of [
      'root-secret:x:0',
      '{"hidden-secret":"of another"}',
      '{"mode":"the-secret"}',
      '{"harness":{"default":"secret"}}',
    ]) {
      writeFileSync(join(root, 'elsewhere'), content)
      symlinkSync(join(root, 'elsewhere'), join(root, '.unstuck', name))
      const { exit, files } = await check({})
      expect([exit, JSON.stringify(files).includes('secret')]).toEqual([78, false])
      rmSync(join(root, '.unstuck', name))
    }
  },
)

test('a link to a valid file is valid', async () => {
  writeFileSync(join(root, 'mine.json'), '{"maxParallel":3}')
  symlinkSync(join(root, 'mine.json'), join(root, '.unstuck', 'config.json'))
  expect((await check({})).files[0]).toMatchObject({ state: 'valid' })
})

test.each([
  ['config.json', '{"harness":{"__proto__":{"command":["x"]}}}', 'harness.__proto__'],
  ['config.json', '{"harness":{"constructor":{"command":["/bin/sh"]}}}', 'harness.constructor'],
  ['config.json', '{"judge":{"rules":[{"paths":["a"],"mode":"llm","prototype":1}]}}', 'judge.rules[0].prototype'],
  ['policy-recovery.json', '{"__proto__":{"mode":"balanced"}}', '__proto__'],
  ['verify.contract.json', '{"byRole":{"__proto__":{"worker":["x"]}}}', 'byRole.__proto__'],
])('a key that every object has is found in %s: %s', async (name, text, key) => {
  written(name, text)
  const { exit, files } = await check({ PATH: '/usr/bin' })
  expect([exit, files.find(({ file }) => file.endsWith(name))?.problem]).toEqual([78, expect.stringContaining(key)])
})

test('a program that is not here is named with its key', async () => {
  written('config.json', { harness: { mine: { command: ['no-such-agent', 'x'] } } })
  expect((await check({ PATH: '/usr/bin:/bin' })).files[0]?.problem).toMatch(/harness\.mine\.command.*no-such-agent/)
  written('config.json', { workspace: { setup: 'sh -c x && no-such-tool' } })
  expect((await check({ PATH: '/usr/bin:/bin' })).files[0]?.problem).toMatch(/workspace\.setup.*no-such-tool/)
})

test('programs that are here, in the repository or in a workspace are no mistake', async () => {
  mkdirSync(join(root, 'node_modules', '.bin'), { recursive: true })
  writeFileSync(join(root, 'node_modules', '.bin', 'own-tool'), '', { mode: 0o755 })
  written('config.json', {
    harness: { mine: { command: ['sh'] }, other: { command: ['./agent'] } },
    workspace: { setup: 'own-tool && sh -c x' },
  })
  expect((await check({ PATH: '/usr/bin:/bin' })).files[0]).toMatchObject({ state: 'valid' })
})
