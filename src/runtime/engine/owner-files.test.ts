import { expect, test } from 'vitest'
import { configSchema } from '../../config/config-schema.ts'
import { defaultPolicyRecovery } from '../../recovery/policy/recovery-policy.ts'
import { readKept, withFrozen, type Owned } from './owner-files.ts'

const owned = (file: object): Owned => ({
  config: configSchema.parse(file),
  'policy-recovery': { ...defaultPolicyRecovery, mode: 'balanced' },
  'verify.contract': { commands: ['npm test'], byRole: { tester: ['npm run lint'] } },
  playbook: {},
})

test.each<[what: string, file: object]>([
  ['the defaults', {}],
  [
    'harnesses',
    { harness: { default: 'own', failover: ['codex'], own: { command: ['x'] }, codex: { unrestricted: true } } },
  ],
  ['lifted and set limits', { limits: { runSeconds: -1, goalCostUsd: 5 }, stall: { silenceSeconds: -1 } }],
  ['a section', { recovery: { auto_approve: ['npm install'] }, loop: { roles: { reviewer: { model: 'm' } } } }],
])('kept settings are read as they were: %s', (_what, file) => {
  expect(readKept(JSON.stringify(owned(file)))).toEqual(owned(file))
})

const kept = (change: (settings: Record<string, Record<string, unknown>>) => void): string => {
  const settings = structuredClone(owned({})) as unknown as Record<string, Record<string, unknown>>
  change(settings)
  return JSON.stringify(settings)
}

test('a key that is newer than the kept settings has its default', () => {
  expect(readKept(kept(({ config }) => delete config?.mcp))?.config.mcp).toEqual(configSchema.parse({}).mcp)
})

test.each<[what: string, text: string]>([
  ['no JSON', '{'],
  ['null', 'null'],
  ['a value that is not allowed', kept(({ config = {} }) => (config.maxParallel = 0))],
  ['a key of another version', kept(({ config = {} }) => (config.surprise = 1))],
  ['a limit that is no number', kept(({ config = {} }) => (config.limits = { runSeconds: 'long' }))],
  ['a policy of another version', kept((settings) => (settings['policy-recovery'] = { mode: 'reckless' }))],
  ['a contract of another version', kept((settings) => (settings['verify.contract'] = { commands: [1] }))],
])('kept settings are not used: %s', (_what, text) => {
  expect(readKept(text)).toBeUndefined()
})

test('a frozen key stays as it was, also absent', () => {
  const before = owned({ harness: { own: { command: ['one'] } } })
  const after = owned({ harness: { codex: { model: 'm' } }, maxParallel: 5 })
  const { kept: next, frozen } = withFrozen(before, after, ['harness.own', 'harness.codex', 'harness.gemini'])
  expect(frozen).toEqual(['harness.own', 'harness.codex'])
  expect(next.config).toEqual(configSchema.parse({ harness: { own: { command: ['one'] } }, maxParallel: 5 }))
})

test('kept settings are not a change of a frozen key', () => {
  const files = owned({ harness: { own: { command: ['one'] } } })
  const kept = readKept(JSON.stringify(files))
  expect(kept && withFrozen(kept, files, ['harness.own']).frozen).toEqual([])
})
