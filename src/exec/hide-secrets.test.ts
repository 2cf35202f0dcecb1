import { expect, test } from 'vitest'
import { createSecretHider } from './hide-secrets.ts'

test.each([
  ['an option and its value', ['codex', '--api-key', 'hunter2hunter2', 'exec', 'do']],
  ['an option with =', ['claude', '--auth-token=hunter2hunter2', '-p', 'do']],
  ['a setting', ['codex', 'exec', '-c', 'model_providers.x.api_key="hunter2hunter2"', 'do']],
  ['JSON', ['claude', '-p', 'do', '--mcp-config', '{"env":{"GITHUB_TOKEN":"hunter2hunter2"}}']],
])('%s is hidden in every text', (_name, argv) => {
  const shown = createSecretHider(argv, {})({ argv, because: 'it said hunter2hunter2', number: 2, none: null })
  expect(JSON.stringify(shown)).not.toContain('hunter2')
  expect(shown).toMatchObject({ number: 2, none: null, because: 'it said [redacted]' })
})

test('names of variables, numbers and ordinary words are not', () => {
  const argv = ['codex', 'exec', '-c', 'x.env_key="OPENAI_API_KEY"', '--max-output-tokens', '20000000', 'sort the keys']
  expect(createSecretHider(argv, {})(argv)).toEqual(argv)
})

test('a secret of the environment and one of a known shape are hidden too', () => {
  const token = `ghp_${'a1B2'.repeat(9)}`
  expect(createSecretHider([], { API_KEY: 'from-outside-1' })(['from-outside-1', `use ${token}`])).toEqual([
    '[redacted]',
    'use [redacted]',
  ])
})
