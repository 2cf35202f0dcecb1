import { expect, test } from 'vitest'
import { loadConfig } from '../../config/config.ts'
import { decideProposal } from './decide.ts'
import { flagPattern } from './error-pattern.ts'
import { decideCommand, overlapsOf, type CommandLists } from './match.ts'
import { checkProposal, proposedCommandOf, readProposal, type Proposal } from './proposal.ts'

const example = (): Record<string, unknown> => ({
  version: 1,
  timestamp: '2026-01-23T05:36:33Z',
  category: 'dependency',
  severity: 'blocking',
  diagnosis: {
    error_pattern: 'Cannot start service: Host version .* does not match binary version',
    root_cause: 'two versions of esbuild',
    evidence: ['test-output.txt:3: Host version "0.21.5" does not match binary version "0.27.2"'],
  },
  recovery: {
    command: 'rm -rf node_modules && bun install',
    working_dir: '.',
    timeout_seconds: 300,
    expected_outcome: 'one version, vitest starts',
    confidence: 'high',
  },
  fallback: { command: 'bun install --force', confidence: 'medium' },
})

const lists: CommandLists = {
  auto_approve: ['bun install', 'rm -rf node_modules && bun install'],
  require_human: ['rm -rf *', 'git push', 'curl *'],
  on_unknown: 'escalate',
}

const accepted = (): Proposal => {
  const read = checkProposal(example())
  if (!read.ok) throw new Error(read.problem)
  return read.proposal
}

test('the example of the format is valid, and its fallback inherits folder and time', () => {
  const proposal = accepted()
  expect(proposedCommandOf(proposal, 'primary')).toMatchObject({
    command: 'rm -rf node_modules && bun install',
    timeoutSeconds: 300,
  })
  expect(proposedCommandOf(proposal, 'fallback')).toMatchObject({
    workingDir: '.',
    timeoutSeconds: 300,
    confidence: 'medium',
  })
  expect(checkProposal({ ...example(), timestamp: '2026-01-23T05:36:33+02:00' })).toMatchObject({ offset: '+02:00' })
})

const wrong = (section: string, change: Record<string, unknown>): unknown => ({
  ...example(),
  [section]: { ...(example()[section] as object), ...change },
})

test.each([
  ['version', { ...example(), version: 2 }],
  ['timestamp', { ...example(), timestamp: 'yesterday' }],
  ['category', { ...example(), category: 'code' }],
  ['severity', { ...example(), severity: 'Blocking' }],
  ['diagnosis.error_pattern', wrong('diagnosis', { error_pattern: 7 })],
  ['diagnosis.root_cause', wrong('diagnosis', { root_cause: '' })],
  ['recovery.expected_outcome', wrong('recovery', { expected_outcome: null })],
  ['recovery.confidence', wrong('recovery', { confidence: 'sure' })],
  ['diagnosis.evidence', wrong('diagnosis', { evidence: 'a text' })],
  ['recovery.command', wrong('recovery', { command: 'npm install\nrm -rf /' })],
  ['recovery.command', wrong('recovery', { command: 'true\u0000' })],
  ['recovery.timeout_seconds', wrong('recovery', { timeout_seconds: 1.5 })],
  ['recovery.timeout_seconds', wrong('recovery', { timeout_seconds: '08' })],
  ['recovery.timeout_seconds', wrong('recovery', { timeout_seconds: 99_999_999 })],
  ['recovery.working_dir', wrong('recovery', { working_dir: '../other' })],
  ['fallback.confidence', wrong('fallback', { confidence: 'sure' })],
])('an invalid proposal is refused with its field %s', (field, value) => {
  expect(checkProposal(value)).toMatchObject({ ok: false, field })
})

test('a field of another version is ignored and named, and null is the default', () => {
  const given = {
    ...(wrong('recovery', { timeout_seconds: null, working_dir: null, retries: 3 }) as object),
    ...{ approved: true, fallback: null },
  }
  const read = checkProposal(given)
  expect(read).toMatchObject({ ok: true, ignored: ['recovery.retries', 'approved'] })
  if (!read.ok) return
  expect(proposedCommandOf(read.proposal, 'primary')).toMatchObject({ workingDir: '.', timeoutSeconds: 120 })
  expect(proposedCommandOf(read.proposal, 'fallback')).toBeUndefined()
})

test('each value of the closed lists is accepted', () => {
  for (const category of ['dependency', 'config', 'environment', 'permissions', 'network'])
    for (const severity of ['blocking', 'degraded'])
      for (const confidence of ['high', 'medium', 'low'])
        expect(
          checkProposal({ ...(wrong('recovery', { confidence }) as object), category, severity, version: 1 }),
        ).toMatchObject({ ok: true, proposal: { category, severity, recovery: { confidence } } })
})

test('bytes that are no text or no JSON are refused as a whole', () => {
  expect(readProposal(new Uint8Array([0xff, 0x7b]))).toMatchObject({ ok: false, field: '' })
  expect(readProposal(new TextEncoder().encode('{'))).toMatchObject({ ok: false, field: '' })
})

test('exact approval comes first, then the globs, then on_unknown', () => {
  expect(decideCommand('rm -rf node_modules && bun install', lists)).toEqual({ kind: 'run', source: 'auto' })
  expect(decideCommand('rm  -rf dist', { ...lists, on_unknown: 'allow' })).toMatchObject({ kind: 'ask' })
  expect(decideCommand('bun install && bun install', lists)).toMatchObject({ kind: 'ask' })
  expect(decideCommand('bun install ', lists)).toMatchObject({ kind: 'ask' })
  expect(decideCommand('make', { ...lists, on_unknown: 'allow' })).toEqual({ kind: 'run', source: 'on_unknown' })
  expect(decideCommand('make', { ...lists, on_unknown: 'deny' })).toMatchObject({ kind: 'refuse' })
})

test('a part that always needs a person is found in groups, substitutions and behind wrappers', () => {
  const open: CommandLists = { ...lists, on_unknown: 'allow' }
  for (const command of [
    'make; git push',
    '(cd sub && git push)',
    'sudo git push',
    'bash -c "cd sub && curl x"',
    'echo $(curl x)',
    'make | xargs rm -rf build',
    '/bin/rm -rf build',
  ])
    expect(decideCommand(command, open), command).toMatchObject({ kind: 'ask' })
})

test('a pattern that does not fit leaves only what the owner approved', () => {
  const flag = flagPattern('nothing like it', 'Host version "1" does not match binary version "2"')
  expect(flag).toMatchObject({ flag: 'no_match' })
  expect(flagPattern('(', 'x')).toMatchObject({ flag: 'not_compiled' })
  expect(flagPattern('(a+)+$', `${'a'.repeat(100_000)}b`)).toMatchObject({ flag: 'no_match' })
  expect(decideProposal('bun install', lists, flag)).toMatchObject({ kind: 'run' })
  expect(decideProposal('make', { ...lists, on_unknown: 'allow' }, flag)).toMatchObject({ kind: 'ask' })
})

const configured = (recovery: unknown) =>
  loadConfig({ root: '/repository', readFile: () => JSON.stringify({ recovery }) }).recovery

test('the section is off where it is absent, and has its defaults where it is present', () => {
  expect(loadConfig({ root: '/repository', readFile: () => '{}' }).recovery).toBeUndefined()
  expect(configured({})).toEqual({
    enabled: true,
    auto_approve: [],
    require_human: ['*'],
    max_auto_recoveries_per_run: 3,
    cooldown_seconds: 60,
    on_unknown: 'escalate',
  })
})

test.each([
  ['recovery.on_unknown', { on_unknown: 'Escalate' }],
  ['recovery.auto_approve[0]', { auto_approve: ['npm install\nrm -rf /'] }],
  ['recovery.auto_approve[1]', { auto_approve: ['make', 'git push'], require_human: ['git push'] }],
  ['recovery.require_human[0]', { require_human: ['rm \\'] }],
  ['recovery.enabled', { enabled: 'yes' }],
  ['recovery.max_auto_recoveries_per_run', { max_auto_recoveries_per_run: -1 }],
  ['recovery.cooldown_seconds', { cooldown_seconds: 'soon' }],
  ['recovery.autoApprove', { autoApprove: [] }],
])('a wrong value is refused with its key %s', (key, recovery) => {
  expect(() => configured(recovery)).toThrow(key)
})

test('entries of both lists that overlap are found', () => {
  expect(overlapsOf(lists)).toEqual([{ command: 'rm -rf node_modules && bun install', pattern: 'rm -rf *' }])
})
