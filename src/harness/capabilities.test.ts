import { describe, expect, it } from 'vitest'
import { capabilitiesOf, nearest, versionIn, type Measured } from './capabilities.ts'
import { driverNamed, driverNames } from './drivers.ts'
import { loginOf } from './logins.ts'

const row = (version: string): Measured => ({ version, capabilities: capabilitiesOf('claude', undefined).capabilities })
const rows = [row('1.10.0'), row('1.2.3'), row('2.0.0')]

describe('versions', () => {
  it.each([
    ['1.2.3', '1.2.3', true],
    ['1.9.9', '1.2.3', false],
    ['1.11.0', '1.10.0', false],
    ['3.0', '2.0.0', false],
    ['0.9.0', '1.2.3', false],
    [undefined, '2.0.0', false],
  ])('%s is taken for %s', (version, measured, exact) => {
    expect(nearest(rows, version)).toMatchObject({ measured, exact })
  })

  it.each([
    ['2.1.197 (Claude Code)', '2.1.197'],
    ['WARNING: x\ncodex-cli 0.169.0\n', '0.169.0'],
    ['v1.2.3', undefined],
    ['1.2.3.4', undefined],
    ['no number', undefined],
  ])('%j says %s', (text, version) => {
    expect(versionIn(text)).toBe(version)
  })

  it('every driver has a row, which agrees with the driver', () => {
    for (const name of driverNames) {
      const driver = driverNamed(name)
      const { capabilities } = capabilitiesOf(name, undefined)
      expect([name, capabilities.resume]).toEqual([name, driver?.canResume])
      if (driver?.tokenScope === 'none') expect(capabilities.tokens).toBe(false)
    }
  })
})

describe('logins', () => {
  const home = { HOME: '/home/user' }
  it.each([
    ['claude', { ANTHROPIC_API_KEY: 'k' }, [], { state: 'yes', by: 'ANTHROPIC_API_KEY' }],
    [
      'claude',
      { ANTHROPIC_API_KEY: '' },
      ['/home/user/.claude/.credentials.json'],
      { by: '/home/user/.claude/.credentials.json' },
    ],
    [
      'claude',
      { CLAUDE_CONFIG_DIR: '/c' },
      ['/home/user/.claude/.credentials.json', '/c/settings.json'],
      { state: 'unknown' },
    ],
    ['codex', { OPENAI_API_KEY: 'k' }, [], { state: 'no' }],
    ['codex', { CODEX_HOME: '/c' }, ['/c/auth.json'], { state: 'yes', by: '/c/auth.json' }],
    ['codex', {}, ['/home/user/.codex/config.toml'], { state: 'unknown', by: '/home/user/.codex/config.toml' }],
    ['gemini', {}, [], { state: 'no' }],
    ['gemini', {}, ['/home/user/.gemini/oauth_creds.json'], { state: 'yes' }],
    ['opencode', {}, [], { state: 'unknown' }],
    ['opencode', { XDG_DATA_HOME: '/d' }, ['/d/opencode/auth.json'], { state: 'yes' }],
    ['acp', {}, [], { state: 'unknown' }],
    ['command', {}, [], { state: 'unknown' }],
  ] as const)('of %s with %j and %j', (driver, environment, files, expected) => {
    const paths: readonly string[] = files
    expect(loginOf(driver, { ...home, ...environment }, (path) => paths.includes(path))).toMatchObject(expected)
  })
})
