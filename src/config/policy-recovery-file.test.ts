import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { AppError } from '../errors.ts'
import { loadPolicyRecovery, policyRecoveryFile } from './policy-recovery-file.ts'
import { defaultPolicyRecovery, mergePolicyRecovery, policyRecoverySchema } from '../recovery/policy/recovery-policy.ts'

const folder = mkdtempSync(join(tmpdir(), 'unstuck-policy-'))
const root = join(folder, 'repo')
const file = join(root, policyRecoveryFile)
afterAll(() => rmSync(folder, { recursive: true, force: true }))
beforeEach(() => {
  rmSync(root, { recursive: true, force: true })
  mkdirSync(join(root, '.unstuck'), { recursive: true })
})

const write = (path: string, value: unknown): void =>
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))

const problemOf = (load: () => unknown): string => {
  try {
    load()
  } catch (error) {
    if (error instanceof AppError && error.code === 'CONFIG_INVALID') return error.message
    throw error
  }
  return 'accepted'
}

const load = (environment: Record<string, string> = {}) => loadPolicyRecovery({ root, environment })
const problem = (environment: Record<string, string> = {}): string => problemOf(() => load(environment))

describe('the layers', () => {
  it('without a file and variables the built-in values apply', () => {
    expect(load()).toEqual(defaultPolicyRecovery)
    expect(load().mode).toBe('aggressive')
    expect(
      load({ POLICY_RECOVERY_MODE: '', POLICY_RECOVERY_CONFIG_JSON: '', POLICY_RECOVERY_CONFIG_PATH: '' }),
    ).toEqual(defaultPolicyRecovery)
  })

  it('a later layer wins, and lists add up', () => {
    write(file, { mode: 'conservative', infraSignalTokens: ['Docker'], safeInfraFileExtensions: ['mk', '.cmake'] })
    expect(load()).toEqual({
      ...defaultPolicyRecovery,
      mode: 'conservative',
      infraSignalTokens: [...defaultPolicyRecovery.infraSignalTokens, 'docker'],
      safeInfraFileExtensions: ['.ld', '.lds', '.mk', '.cmake'],
    })
    const json = JSON.stringify({ mode: 'balanced', infraSignalTokens: ['make', 'helm'] })
    const both = load({ POLICY_RECOVERY_CONFIG_JSON: json })
    expect(both.mode).toBe('balanced')
    expect(both.infraSignalTokens).toEqual([...defaultPolicyRecovery.infraSignalTokens, 'docker', 'helm'])
    expect(load({ POLICY_RECOVERY_CONFIG_JSON: json, POLICY_RECOVERY_MODE: 'aggressive' }).mode).toBe('aggressive')
  })

  it('rules are appended, or replace those of the layers below', () => {
    const own = [{ pattern: 'just', paths: ['justfile'] }]
    write(file, { commandDrivenAllowedPathRules: own })
    expect(load().commandDrivenAllowedPathRules).toEqual([
      ...defaultPolicyRecovery.commandDrivenAllowedPathRules,
      ...own,
    ])
    write(file, { commandDrivenAllowedPathRules: own, replaceDefaultCommandDrivenAllowedPathRules: true })
    expect(load().commandDrivenAllowedPathRules).toEqual(own)
    expect(
      load({ POLICY_RECOVERY_CONFIG_JSON: '{"replaceDefaultCommandDrivenAllowedPathRules":true}' })
        .commandDrivenAllowedPathRules,
    ).toEqual([])
  })

  it('the same rule twice is one rule, and no layer changes the built-in values', () => {
    const before = structuredClone(defaultPolicyRecovery)
    const layer = { commandDrivenAllowedPathRules: [{ pattern: 'make', paths: ['Makefile'] }] }
    expect(mergePolicyRecovery(defaultPolicyRecovery, layer)).toEqual(before)
    expect(defaultPolicyRecovery).toEqual(before)
  })

  it('POLICY_RECOVERY_CONFIG_PATH names another file: inside the repository, or absolute', () => {
    write(file, { mode: 'balanced' })
    write(join(root, 'policy.json'), { mode: 'conservative' })
    write(join(folder, 'owner.json'), { infraSignalTokens: ['owner'] })
    expect(load({ POLICY_RECOVERY_CONFIG_PATH: 'policy.json' }).mode).toBe('conservative')
    const absolute = load({ POLICY_RECOVERY_CONFIG_PATH: join(folder, 'owner.json') })
    expect([absolute.mode, absolute.infraSignalTokens.at(-1)]).toEqual(['aggressive', 'owner'])
  })
})

describe('a wrong value names its source, the key, the value and what is allowed', () => {
  it.each([
    ['a misspelt key', { mod: 'balanced' }, `${file}: unknown key mod. Did you mean "mode"?`],
    [
      'a mode',
      { mode: 'agressive' },
      `${file}: mode is "agressive"; allowed: "conservative", "balanced", "aggressive"`,
    ],
    ['no object', '[]', `${file}: the whole file is []; `],
    ['no JSON', '{"mode":', `${file}: it is not JSON (`],
    [
      'a pattern',
      { commandDrivenAllowedPathRules: [{ pattern: '(a+)+$', paths: ['x'] }] },
      `${file}: commandDrivenAllowedPathRules[0].pattern is "(a+)+$"; allowed: names of programs, separated by "|"`,
    ],
    [
      'a path of a rule',
      { commandDrivenAllowedPathRules: [{ pattern: 'make', paths: ['../x'] }] },
      `${file}: commandDrivenAllowedPathRules[0].paths[0] is "../x"; the path leaves the repository with ".."; allowed: `,
    ],
    [
      'a misspelt key of a rule',
      { commandDrivenAllowedPathRules: [{ pattern: 'make', path: ['x'] }] },
      `unknown key commandDrivenAllowedPathRules[0].path. Did you mean "paths"?`,
    ],
  ])('%s', (_, value, message) => {
    write(file, value)
    expect(problem()).toContain(message)
  })

  it('in a variable', () => {
    expect(problem({ POLICY_RECOVERY_MODE: 'strict' })).toBe(
      'environment variable POLICY_RECOVERY_MODE: mode is "strict"; allowed: "conservative", "balanced", "aggressive"',
    )
    expect(problem({ POLICY_RECOVERY_CONFIG_JSON: '{"infraSignalTokens":"make"}' })).toBe(
      'environment variable POLICY_RECOVERY_CONFIG_JSON: infraSignalTokens is "make"; allowed: a list of words',
    )
    expect(problem({ POLICY_RECOVERY_CONFIG_JSON: 'balanced' })).toMatch(/CONFIG_JSON: it is not JSON \(/)
  })

  it('a path that leaves the repository, also by a symlink, or that does not exist', () => {
    write(join(folder, 'outside.json'), {})
    symlinkSync(join(folder, 'outside.json'), join(root, 'link.json'))
    symlinkSync(folder, join(root, 'up'))
    const outside = /CONFIG_PATH: it is ".*", which is not a file inside the repository; allowed: /
    for (const path of ['../outside.json', 'link.json', 'up/outside.json', '../missing.json', '.'])
      expect(problem({ POLICY_RECOVERY_CONFIG_PATH: path })).toMatch(outside)
    expect(problem({ POLICY_RECOVERY_CONFIG_PATH: 'missing.json' })).toBe(
      `environment variable POLICY_RECOVERY_CONFIG_PATH: it is "missing.json"; there is no file ${join(root, 'missing.json')}`,
    )
    expect(problem({ POLICY_RECOVERY_CONFIG_PATH: 'a\0b' })).toMatch(/CONFIG_PATH: it contains a NUL character/)
  })

  it('a file that is a folder, or larger than 1 MiB', () => {
    mkdirSync(file)
    expect(problem()).toMatch(/policy-recovery\.json: it is a folder/)
    rmSync(file, { recursive: true })
    write(file, ' '.repeat(1024 * 1024 + 1))
    expect(problem()).toBe(`${file}: it is larger than 1 MiB`)
  })
})

it('templates/policy-recovery.example.json is valid and is published with the package', () => {
  const read = (path: string): Record<string, unknown> =>
    JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')) as Record<string, unknown>
  const template = read('templates/policy-recovery.example.json')
  const layer = policyRecoverySchema.parse(template)
  expect(mergePolicyRecovery(defaultPolicyRecovery, layer).safeInfraFileBasenames).toContain('Dockerfile')
  const keys = Object.keys(policyRecoverySchema.shape).filter((key) => key !== '$schema')
  expect(Object.keys(template)).toEqual(keys)
  expect(Object.keys(read('schema/policy-recovery.schema.json').properties as object)).toEqual(['$schema', ...keys])
  expect(read('package.json').files).toContain('templates')
})
