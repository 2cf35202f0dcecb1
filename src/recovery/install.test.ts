import { describe, expect, it, test } from 'vitest'
import { diagnose } from './diagnosis.ts'
import type { ObservedCheck } from './evidence.ts'
import {
  chooseInstall,
  installsIn,
  installsLacking,
  installedPatterns,
  managers,
  requirementFilesOf,
} from './install.ts'
import { nextStep, playbooks } from './ladder.ts'
import type { PastRecovery } from './playbook.ts'

const governs = (files: Record<string, string>, folder = ''): string[] =>
  installsIn(folder, (name) => files[name]).map(({ manager, commands }) => `${manager}: ${commands.at(-1)?.join(' ')}`)

describe('the manager of a folder', () => {
  test.each([
    [{ 'package-lock.json': '{}', 'package.json': '{}' }, ['npm: npm ci --no-audit --no-fund']],
    [{ 'pnpm-lock.yaml': '', 'package-lock.json': '{}' }, ['pnpm: pnpm install --frozen-lockfile']],
    [
      { 'pnpm-lock.yaml': '', 'package-lock.json': '{}', 'package.json': '{"packageManager": "npm@11.0.0"}' },
      ['npm: npm ci --no-audit --no-fund'],
    ],
    [{ 'yarn.lock': '# yarn lockfile v1\n' }, ['yarn-1: yarn install --frozen-lockfile --non-interactive']],
    [{ 'yarn.lock': '__metadata:\n  version: 8\n' }, ['yarn-berry: yarn install --immutable']],
    [{ 'bun.lock': '{}' }, ['bun: bun install --frozen-lockfile']],
    [
      { 'package.json': '{"dependencies": {"a": "1"}}' },
      ['npm-unlocked: npm install --no-package-lock --no-audit --no-fund'],
    ],
    [{ 'package.json': '{"dependencies": {}}' }, []],
    [
      { 'requirements.txt': '', 'Cargo.lock': '' },
      [
        'pip: .venv/bin/python -m pip install --ignore-installed --no-input --disable-pip-version-check -r requirements.txt',
        'cargo: cargo fetch --locked',
      ],
    ],
    [{}, []],
  ])('%j', (files, expected) => expect(governs(files)).toEqual(expected))

  it('installs for Python at the top, wherever its file lies', () => {
    const [install] = installsIn('tools', (name) => (name === 'requirements.txt' ? '' : undefined))
    expect(install).toMatchObject({
      folder: '',
      commands: [expect.anything(), expect.arrayContaining(['tools/requirements.txt'])],
    })
    expect(installedPatterns(install === undefined ? [] : [install])).toEqual(['/.venv', '/**/*.egg-info'])
  })
  it('installs what the tests of a Python project need as well, and finds an environment beside its requirements', () => {
    const files = ['requirements.txt', 'requirements-dev.txt']
    const installs = installsIn('api', (name) => (files.includes(name) ? '' : undefined))
    expect(installs.map(requirementFilesOf)).toEqual([files.map((name) => `api/${name}`)])
    const lacking = (there: string[]): number =>
      installsLacking(installs, { read: () => '', has: (path) => there.includes(path) }).length
    expect([[], ['.venv'], ['api/.venv'], ['web/.venv']].map(lacking)).toEqual([1, 0, 0, 1])
  })
  it('creates folders that do not count as work', () => {
    expect(installedPatterns([{ manager: 'npm', folder: 'web', commands: [] }])).toEqual(['/web/node_modules'])
  })
})

const both = [...installsIn('', (name) => (['package-lock.json', 'requirements.txt'].includes(name) ? '' : undefined))]

describe('the install for a check', () => {
  test.each([
    ['npx vitest run', '', 'npm'],
    ['python3 -m pytest', '', 'pip'],
    ['make test', "Error: Cannot find module 'tiny'", 'npm'],
    ['make test', "ModuleNotFoundError: No module named 'tiny'", 'pip'],
    ['make test', 'tiny was not found', 'npm'],
    // No manager of that language is here.
    ['cargo test', 'error: no matching package', undefined],
    // It is an install already.
    ['npm ci', 'npm error', undefined],
    ['npm ci && npm test', 'sh: 1: vitest: not found', undefined],
  ])('%s (%s) is of %s', (command, evidence, manager) =>
    expect(chooseInstall(both, command, evidence)?.manager).toBe(manager),
  )
})

const check = (more: Partial<ObservedCheck>): ObservedCheck => ({
  ...{ command: 'npm test', source: 'task', exitCode: 1, signal: null, timedOut: false, stdout: '', stderr: '' },
  ...{ remaining: 0, installs: both },
  ...more,
})
const stepOf = (more: Partial<ObservedCheck>, history: readonly PastRecovery[] = []) =>
  nextStep(
    diagnose({ kind: 'check', check: check(more) }),
    history,
    {
      playbooks,
      disabled: [],
      retry: {
        ...{ transientBaseSeconds: 1, transientMaxSeconds: 1, transientLimit: 1 },
        ...{ quotaBaseSeconds: 1, quotaMaxSeconds: 1 },
      },
    },
    { id: 't', runId: 'r' },
  )

describe('the ladder', () => {
  it('answers "Cannot find module" of a package by the install of its manager', () => {
    const stderr = "Error: Cannot find module 'tiny'\nRequire stack:\n- /repo/use.js"
    expect(stepOf({ command: 'node use.js', stderr })).toMatchObject({
      kind: 'recover',
      playbook: { id: 'dependency-install' },
      action: { name: 'INSTALL_DEPENDENCIES', install: { manager: 'npm' } },
      postCondition: { type: 'check_runs', command: 'node use.js' },
    })
  })
  it('installs again after the work changed what an install reads, and not before', () => {
    const installs = (manifest: string) =>
      installsIn('', (name) => ({ 'package-lock.json': '{}', 'package.json': manifest })[name])
    const stderr = "Error: Cannot find module 'tiny'"
    const first = stepOf({ stderr, installs: installs('{}') })
    if (first.kind !== 'recover') throw new Error(first.reason)
    const { playbook, actionKey } = first
    const past: PastRecovery[] = [
      { runId: 'r', playbook: playbook.id, label: 'dependency_missing', actionKey, status: 'failed', counted: true },
    ]
    expect(stepOf({ stderr, installs: installs('{}') }, past).kind).toBe('exhausted')
    expect(stepOf({ stderr, installs: installs('{"dependencies":{"tiny":"1"}}') }, past)).toMatchObject({
      playbook: { id: 'dependency-install' },
    })
  })
  it('answers a program that is not there', () => {
    expect(stepOf({ exitCode: 127, stderr: 'sh: 1: vitest: not found' })).toMatchObject({ kind: 'recover' })
    expect(stepOf({ command: 'vitest run', exitCode: null, spawnError: 'vitest was not found' })).toMatchObject({
      kind: 'recover',
    })
  })
  it('never answers a failed assertion by an install, whatever it quotes', () => {
    const stdout = "✖ loads (1.2ms)\n  AssertionError [ERR_ASSERTION]: Cannot find module 'tiny'\nℹ tests 1\nℹ fail 1"
    expect(stepOf({ command: 'node --test a.test.js', stdout })).toMatchObject({ playbook: { id: 'check-feedback' } })
  })
  it('installs nothing where no clone of ours is', () => {
    expect(
      stepOf({ command: 'vitest run', exitCode: null, spawnError: 'vitest was not found', installs: [] }),
    ).toMatchObject({
      kind: 'exhausted',
    })
  })
})

it('every command is a fixed argv, and its program no shell', () => {
  for (const { commands } of managers)
    for (const argv of commands) {
      expect(argv.length).toBeGreaterThan(1)
      expect(argv.join(' ')).not.toMatch(/[;&|<>$`*]|\b(?:ba)?sh\b/)
    }
})
