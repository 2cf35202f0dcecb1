import { describe, expect, it } from 'vitest'
import { accountOf, type AccountParts } from './account.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'

const key = 'sk-ant-a-secret-of-some-length'
const account = (more: Partial<AccountParts> = {}): string =>
  accountOf({
    ...{ driver: claude, environment: { HOME: '/home/a', ANTHROPIC_API_KEY: key }, host: 'one', exists: () => false },
    ...more,
  })

describe('an account', () => {
  it('is the same for the same credential, on every host', () => {
    expect(account({ host: 'two' })).toBe(account())
  })

  it('is another one with another key, another CLI, another server or a program of the owner’s', () => {
    const environment = { HOME: '/home/a', ANTHROPIC_API_KEY: key }
    const others = [
      account(),
      account({ environment: { ...environment, ANTHROPIC_API_KEY: 'other' } }),
      account({ environment: { ...environment, ANTHROPIC_BASE_URL: 'https://gateway' } }),
      account({ command: ['/opt/claude-of-team-b'] }),
      account({ driver: codex }),
    ]
    expect(new Set(others).size).toBe(others.length)
  })

  it('of a login in a file is one per host and file', () => {
    const inFile = (home: string, host: string): string =>
      account({ environment: { HOME: home }, host, exists: (path) => path.endsWith('.credentials.json') })
    expect(inFile('/home/a', 'one')).toBe(inFile('/home/a', 'one'))
    expect(inFile('/home/a', 'two')).not.toBe(inFile('/home/a', 'one'))
    expect(inFile('/home/b', 'one')).not.toBe(inFile('/home/a', 'one'))
  })

  it('shows nothing of the secret', () => {
    expect(account()).toMatch(/^claude:[0-9a-f]{12}$/)
    expect(account()).not.toContain(key.slice(0, 6))
  })
})
