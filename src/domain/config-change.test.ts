import { describe, expect, test } from 'vitest'
import { describeConfig } from '../config/config-keys.ts'
import { configSchema } from '../config/config-schema.ts'
import { hasDirection, narrowedSettings, settingChanges } from './config-change.ts'

const loaded = (file: object): object => configSchema.parse(file)
const directions = (before: object, after: object): Record<string, string> =>
  Object.fromEntries(settingChanges(loaded(before), loaded(after)).map(({ key, direction }) => [key, direction]))

/** From the first to the second widens, and back narrows. */
const wider: [key: string, narrow: object, wide: object][] = [
  ['recovery.auto_approve', { recovery: { auto_approve: [] } }, { recovery: { auto_approve: ['npm install'] } }],
  ['recovery.require_human', { recovery: { require_human: ['*'] } }, { recovery: { require_human: [] } }],
  ['recovery.on_unknown', { recovery: { on_unknown: 'deny' } }, { recovery: {} }],
  ['recovery.on_unknown', { recovery: {} }, { recovery: { on_unknown: 'allow' } }],
  ['recovery.cooldown_seconds', { recovery: {} }, { recovery: { cooldown_seconds: 1 } }],
  ['recovery.max_auto_recoveries_per_run', { recovery: {} }, { recovery: { max_auto_recoveries_per_run: 9 } }],
  ['allowedDirs', {}, { allowedDirs: ['/opt/data'] }],
  ['env', {}, { env: ['NPM_TOKEN'] }],
  ['deniedPaths', { deniedPaths: ['infra/**'] }, {}],
  ['autoMerge', {}, { autoMerge: true }],
  ['repoMode', {}, { repoMode: 'direct' }],
  ['maxParallel', {}, { maxParallel: 8 }],
  ['limits.runSeconds', {}, { limits: { runSeconds: 7200 } }],
  ['limits.runSeconds', {}, { limits: { runSeconds: -1 } }],
  ['limits.goalCostUsd', { limits: { goalCostUsd: 5 } }, {}],
  ['change.maxFiles', {}, { change: { maxFiles: -1 } }],
  ['verify.knownFailures', {}, { verify: { knownFailures: ['*'] } }],
  ['playbooks.disabled', { playbooks: { disabled: ['x'] } }, {}],
  ['loop.max_iterations', {}, { loop: { max_iterations: 40 } }],
  ['loop.stuck_threshold', {}, { loop: { stuck_threshold: 9 } }],
  ['mcp.enabled', { mcp: { enabled: false } }, {}],
  ['webhooks.events', {}, { webhooks: { events: [] } }],
  ['notify.desktop', { notify: { desktop: true } }, {}],
  ['harness.codex.unrestricted', { harness: { codex: {} } }, { harness: { codex: { unrestricted: true } } }],
  ['harness.codex.env', { harness: { codex: {} } }, { harness: { codex: { env: ['KEY'] } } }],
]

describe('the direction of a change', () => {
  test.each(wider)('%s', (key, narrow, wide) => {
    expect(directions(narrow, wide)).toMatchObject({ [key]: 'widening' })
    expect(directions(wide, narrow)).toMatchObject({ [key]: 'narrowing' })
    expect(narrowedSettings(loaded(narrow), loaded(wide))).toEqual(loaded(narrow))
    expect(narrowedSettings(loaded(wide), loaded(narrow))).toEqual(loaded(narrow))
  })

  test('programs and arguments of a harness, checks, set-up and unknown keys widen by every change', () => {
    const some = { harness: { codex: { args: ['--sandbox'] } }, verify: { commands: ['npm test'] } }
    expect(directions(some, { harness: { codex: {} }, verify: { commands: ['true'] } })).toEqual({
      'harness.codex.args': 'widening',
      'verify.commands': 'widening',
    })
    expect(directions({}, { workspace: { setup: 'npm ci' } })).toEqual({ 'workspace.setup': 'widening' })
    expect(settingChanges({}, { surprise: { of: 1 } })).toMatchObject([{ key: 'surprise.of', direction: 'widening' }])
  })

  test('every key has a row: what it allows is decided when it is added', () => {
    const keys = describeConfig().flatMap(({ key }) => (key === '' ? [] : key.replace('<name>', 'some')))
    expect(keys.length).toBeGreaterThan(70)
    expect(keys.filter((key) => !hasDirection(key))).toEqual([])
    expect(hasDirection('recovery.unheard_of')).toBe(false)
  })

  test('where notifications go, and what ends a loop, widens by every change', () => {
    const changed = {
      webhooks: { on_escalation: 'https://example.org/x', style: 'slack' },
      notify: { ntfy: 'https://ntfy.sh/mine' },
      loop: { completion_promise: 'OK', roles: { reviewer: { model: 'm' } }, plan_files: ['PLAN.md'] },
      policyRecovery: { model: 'm' },
    }
    const keys = ['webhooks.on_escalation', 'webhooks.style', 'notify.ntfy', 'loop.completion_promise']
    const more = ['loop.roles.reviewer.model', 'loop.plan_files', 'policyRecovery.model']
    const every = Object.fromEntries([...keys, ...more].map((key) => [key, 'widening']))
    expect(directions({}, changed)).toEqual(every)
    expect(directions(changed, {})).toEqual(every)
    expect(narrowedSettings(loaded({}), loaded(changed))).toEqual(loaded({}))
  })

  test('waits and thresholds give nobody anything', () => {
    expect(directions({}, { retry: { transientLimit: 9 }, stall: { silenceSeconds: -1 } })).toEqual({
      'retry.transientLimit': 'free',
      'stall.silenceSeconds': 'free',
    })
  })

  test('without the section nothing of it is allowed', () => {
    const on = { recovery: { auto_approve: ['npm install'] } }
    expect(new Set(Object.values(directions(on, {})))).toEqual(new Set(['narrowing']))
    expect(narrowedSettings(loaded(on), loaded({}))).toEqual(loaded({}))
    expect(narrowedSettings(loaded({}), loaded(on))).toEqual(loaded({}))
  })

  test('while it is switched off, its lists are judged as if it were on', () => {
    const off = (auto_approve: string[]) => ({ recovery: { enabled: false, auto_approve } })
    expect(directions(off([]), off(['curl evil']))).toEqual({ 'recovery.auto_approve': 'widening' })
    expect(directions({ recovery: { auto_approve: ['npm ci'] } }, off(['npm ci']))).toEqual({
      'recovery.enabled': 'narrowing',
    })
    expect(directions(off([]), { recovery: { auto_approve: ['npm ci'] } })).toEqual({
      'recovery.enabled': 'widening',
      'recovery.auto_approve': 'widening',
    })
  })

  test('the policy and the contract', () => {
    const before = { 'policy-recovery': { mode: 'balanced' }, 'verify.contract': { commands: ['npm test'], rules: [] } }
    const wide = { 'policy-recovery': { mode: 'aggressive' }, 'verify.contract': { commands: [], rules: [] } }
    expect(settingChanges(before, wide).map(({ key, direction }) => [key, direction])).toEqual([
      ['policy-recovery.mode', 'widening'],
      ['verify.contract.commands', 'widening'],
    ])
    expect(narrowedSettings(before, wide)).toEqual(before)
    expect(narrowedSettings(wide, before)).toEqual(before)
  })
})

test('of a change in both directions only the narrower half applies', () => {
  const before = loaded({ env: ['A', 'B'], deniedPaths: ['x'] })
  const after = loaded({ env: ['B', 'C'], deniedPaths: ['y'] })
  expect(narrowedSettings(before, after)).toMatchObject({ env: ['B'], deniedPaths: ['y', 'x'] })
})

test('a narrowed configuration is a valid one', () => {
  const before = loaded({ harness: { codex: {}, own: { command: ['own'] } } })
  const after = loaded({ harness: { codex: { model: 'm' }, other: { command: ['other'] } } })
  expect(narrowedSettings(before, after)).toEqual(before)
})
