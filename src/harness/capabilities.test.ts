import { describe, expect, it } from 'vitest'
import { capabilitiesOf, nearestVersion, cliVersionIn, type MeasuredVersion } from './capabilities.ts'
import { drivers } from './drivers.ts'
import { loginOf, loginStamp, missingLogin, renewedLogin } from './cli-login.ts'

const row = (version: string): MeasuredVersion => ({
  version,
  capabilities: capabilitiesOf(drivers.claude, undefined).capabilities,
})
const rows = [row('1.10.0'), row('1.2.3'), row('2.0.0')]

describe('versions', () => {
  it.each([
    ['1.2.3', '1.2.3', true],
    ['1.9.9', '1.10.0', false],
    ['1.5.0', '1.2.3', false],
    ['1.11.0', '1.10.0', false],
    ['3.0', '2.0.0', false],
    ['0.9.0', '1.2.3', false],
    [undefined, '2.0.0', false],
  ])('%s is taken for %s', (version, measured, exact) => {
    expect(nearestVersion(rows, version)).toMatchObject({ measured, exact })
  })

  it('in the middle between two is taken for the newer one', () => {
    expect(nearestVersion([row('1.0.0'), row('1.2.0')], '1.1.0').measured).toBe('1.2.0')
  })

  it.each([
    ['2.1.197 (Claude Code)', '2.1.197'],
    ['WARNING: x\ncodex-cli 0.169.0\n', '0.169.0'],
    ['v1.2.3', undefined],
    ['1.2.3.4', undefined],
    ['no number', undefined],
  ])('%j says %s', (text, version) => {
    expect(cliVersionIn(text)).toBe(version)
  })

  it.each([
    ['0.1.0', '0.34.0', { resume: false, directories: false }],
    ['0.35.0', '0.34.0', { resume: false, directories: false }],
    ['0.43.0', '0.42.0', { resume: true, directories: false }],
    ['0.81.0', '0.80.0', { resume: true, directories: true }],
    ['0.161.0', '0.169.0', { resume: true, directories: true }],
    ['1.0.0', '0.169.0', { resume: true, directories: true }],
    [undefined, '0.169.0', { resume: true, directories: true }],
  ])('Codex %s is given the flags of %s', (version, measured, capabilities) => {
    expect(capabilitiesOf(drivers.codex, version)).toMatchObject({ measured, exact: false, capabilities })
  })

  it('every driver has a row, which agrees with the driver', () => {
    for (const driver of Object.values(drivers)) {
      const { capabilities } = capabilitiesOf(driver, undefined)
      expect([driver.name, capabilities.toolRules]).toEqual([driver.name, driver.toolRules !== undefined])
      if (driver.tokenScope === 'none') expect(capabilities.tokens).toBe(false)
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
    expect(loginOf(drivers[driver], { ...home, ...environment }, (path) => paths.includes(path))).toMatchObject(
      expected,
    )
  })

  it('that are surely missing are named with where they could be', () => {
    const nowhere = (): boolean => false
    expect(missingLogin(drivers.codex, home, nowhere)).toBe(
      'codex has no credentials: neither CODEX_API_KEY is set, nor is there /home/user/.codex/auth.json',
    )
    expect(missingLogin(drivers.codex, { ...home, CODEX_API_KEY: 'k' }, nowhere)).toBeUndefined()
    // Settings that may replace a login, a CLI that works without one, and no home to look at: only trying tells.
    expect(missingLogin(drivers.claude, home, (path) => path.endsWith('settings.json'))).toBeUndefined()
    expect(missingLogin(drivers.opencode, home, nowhere)).toBeUndefined()
    expect(missingLogin(drivers.codex, {}, nowhere)).toBeUndefined()
    expect(missingLogin(drivers.command, home, nowhere)).toBeUndefined()
  })

  /** What the files hold before the launch and after it. */
  const renewed = (driver: 'claude' | 'codex', before: Record<string, string>, after: Record<string, string>) => {
    const filesOf = (held: Record<string, string>) => ({
      existsSync: (path: string) => path in held,
      readFileSync: (path: string) => held[path] ?? '',
    })
    const stamp = loginStamp(drivers[driver], { environment: home, files: filesOf(before) })
    return renewedLogin(drivers[driver], { environment: home, files: filesOf(after), before: stamp })
  }
  const file = '/home/user/.claude/.credentials.json'

  it('are renewed when their file holds another login, and not when it was only written again', () => {
    expect(renewed('claude', { [file]: 'old' }, { [file]: 'new' })).toBe(file)
    expect(renewed('claude', {}, { [file]: 'new' })).toBe(file)
    expect(renewed('claude', { [file]: 'old' }, { [file]: 'old' })).toBeUndefined()
    expect(renewed('claude', { [file]: 'old' }, {})).toBeUndefined()
  })

  it('are not renewed when settings change that a CLI writes by itself', () => {
    const settings = '/home/user/.codex/config.toml'
    expect(renewed('codex', { [settings]: '' }, { [settings]: '[projects]' })).toBeUndefined()
  })

  it('are remembered by a stamp that shows nothing of them', () => {
    const files = { existsSync: (path: string) => path === file, readFileSync: () => 'sk-ant-secret' }
    expect(loginStamp(drivers.claude, { environment: home, files })).toMatch(/^\/home\/user\/\S+ [0-9a-f]{16}$/)
  })
})
