import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../config/config.ts'
import { openSessionLine } from './session-line.ts'

const own = JSON.stringify({ harness: { claude: { command: ['/opt/my tools/claude'] } } })
const config = (text?: string) => loadConfig({ root: '/none', environment: {}, readFile: () => text })

describe('the line that leads to the work of an agent', () => {
  test.each([
    ['claude', 'cd /s/w && claude --resume 0a-1'],
    ['codex', 'cd /s/w && codex resume 0a-1'],
    ['gemini', 'cd /s/w && gemini --resume 0a-1'],
    ['opencode', 'cd /s/w && opencode --session 0a-1'],
    ['command', 'cd /s/w'],
    ['gone-since', 'cd /s/w'],
  ])('resumes the session in %s', (harness, line) => {
    expect(openSessionLine(config(), '/s/w', { harness, sessionId: '0a-1' })).toBe(line)
  })

  test('is the folder alone where no session is known', () => {
    expect(openSessionLine(config(), '/s/w', { harness: 'claude', sessionId: null })).toBe('cd /s/w')
    expect(openSessionLine(config(), '/s/w', undefined)).toBe('cd /s/w')
  })

  test('can be pasted whatever the names are, and starts the program that the owner configured', () => {
    expect(openSessionLine(config(own), "/it's here", { harness: 'claude', sessionId: '$(x)' })).toBe(
      `cd '/it'\\''s here' && '/opt/my tools/claude' --resume '$(x)'`,
    )
  })
})
