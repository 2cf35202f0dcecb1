import { expect, test } from 'vitest'
import { settingVariables, variablesWithoutEffect } from './setting-variables.ts'

test('names what is set here and not, or otherwise, in the engine; no value can be read', () => {
  const engine = settingVariables({ JUDGE_MODE: 'human', HOURLY_TOKEN_LIMIT: '5', PATH: '/bin', UNSTUCK_NTFY_URL: '' })
  expect(Object.keys(engine)).toEqual(['JUDGE_MODE', 'HOURLY_TOKEN_LIMIT'])
  expect(JSON.stringify(engine)).not.toContain('human')
  const here = { JUDGE_MODE: 'human', HOURLY_TOKEN_LIMIT: '6', POLICY_RECOVERY_MODE: 'balanced', HOME: '/root' }
  expect(variablesWithoutEffect(here, engine)).toEqual(['HOURLY_TOKEN_LIMIT', 'POLICY_RECOVERY_MODE'])
})
