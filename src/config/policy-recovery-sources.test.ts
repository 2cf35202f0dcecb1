import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { loadWithSources } from './policy-recovery-sources.ts'

let root = ''
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'unstuck-policy-'))
  mkdirSync(join(root, '.unstuck'))
})
afterEach(() => rmSync(root, { recursive: true }))

const put = (value: object): void =>
  writeFileSync(join(root, '.unstuck', 'policy-recovery.json'), JSON.stringify(value))
const from = (environment: Record<string, string> = {}) =>
  Object.fromEntries(loadWithSources({ root, environment }).settings.map((setting) => [setting.key, setting.from]))

const file = '.unstuck/policy-recovery.json'

it('is built-in where nothing is set', () => {
  expect(Object.values(from()).every((names) => names.join() === 'built-in')).toBe(true)
})

it('a mode replaces the one below, a list is added to it', () => {
  put({ mode: 'balanced', safeInfraFileBasenames: ['Justfile'] })
  expect(from()).toMatchObject({
    mode: [file],
    safeInfraFileBasenames: ['built-in', file],
    infraSignalTokens: ['built-in'],
  })
  const environment = {
    POLICY_RECOVERY_MODE: 'conservative',
    POLICY_RECOVERY_CONFIG_JSON: '{"safeInfraFileBasenames":["Taskfile"]}',
  }
  expect(from(environment)).toMatchObject({
    mode: ['POLICY_RECOVERY_MODE'],
    safeInfraFileBasenames: ['built-in', file, 'POLICY_RECOVERY_CONFIG_JSON'],
  })
})

it('rules that replace the default ones leave nothing built in', () => {
  put({
    replaceDefaultCommandDrivenAllowedPathRules: true,
    commandDrivenAllowedPathRules: [{ pattern: 'just', paths: ['Justfile'] }],
  })
  expect(from()).toMatchObject({ commandDrivenAllowedPathRules: [file] })
})
