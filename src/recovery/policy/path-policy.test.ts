import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkPathPolicy, symlinkStaysInside } from './path-policy.ts'
import type { ChangedPath, PathPolicyInput } from './path-policy.ts'
import { parsePathRule } from './path-rule.ts'
import type { PathRule } from './path-rule.ts'

const rules = (...texts: string[]): PathRule[] =>
  texts.map((text) => {
    const parsed = parsePathRule(text)
    if (!parsed.ok) throw new Error(parsed.reason)
    return parsed.rule
  })

const file = (path: string): ChangedPath => ({ path, oldMode: '100644', newMode: '100644' })
const link = (path: string): ChangedPath => ({ path, oldMode: '000000', newMode: '120000' })

const check = (paths: (string | ChangedPath)[], more: Partial<PathPolicyInput> = {}) =>
  checkPathPolicy({
    changes: paths.map((path) => (typeof path === 'string' ? file(path) : path)),
    allowedPaths: rules('**'),
    deniedPaths: [],
    nestedRepositories: [],
    ...more,
  })

const kindOf = (path: string | ChangedPath, more: Partial<PathPolicyInput> = {}) =>
  check([path], more).violations[0]?.kind

describe('order of the checks', () => {
  it('permits what is allowed and names the rest', () => {
    expect(check(['src/a.ts', 'docs/x.md', 'src/[id].ts'], { allowedPaths: rules('src', '*.md') })).toEqual({
      permitted: ['src/a.ts', 'src/[id].ts'],
      violations: [{ path: 'docs/x.md', kind: 'outside', rule: 'src, *.md' }],
    })
  })

  it('denied wins over allowed, in folders that look generated too', () => {
    const verdict = check(['build/server.txt', 'dist/a.js'], {
      deniedPaths: rules('**/*.txt'),
      allowedPaths: rules('**', 'build/server.txt'),
    })
    expect(verdict).toEqual({
      permitted: ['dist/a.js'],
      violations: [{ path: 'build/server.txt', kind: 'denied', rule: '**/*.txt' }],
    })
  })

  it('denied is named before secret, and secret before outside', () => {
    expect(kindOf('.env', { deniedPaths: rules('.env') })).toBe('denied')
    expect(kindOf('.env', { allowedPaths: rules('src') })).toBe('secret')
  })

  it('an empty list of allowed paths permits nothing', () => {
    expect(kindOf('a', { allowedPaths: [] })).toBe('outside')
  })

  it('both sides of a rename are judged', () => {
    const moved: ChangedPath[] = [
      { path: 'vault/k.txt', oldMode: '100644', newMode: '000000' },
      { path: 'src/k.txt', oldMode: '000000', newMode: '100644' },
    ]
    expect(check(moved, { deniedPaths: rules('vault') })).toEqual({
      permitted: ['src/k.txt'],
      violations: [{ path: 'vault/k.txt', kind: 'denied', rule: 'vault' }],
    })
  })

  it('a path that is listed twice is permitted only if both entries are', () => {
    expect(check([file('a'), link('a')])).toMatchObject({ permitted: [], violations: [{ kind: 'symlink_out' }] })
    expect(check([file('a'), file('a')])).toEqual({ permitted: ['a'], violations: [] })
  })
})

describe('secrets', () => {
  it.each([
    '.env',
    'apps/api/.env',
    '.env.local',
    'server.pem',
    'build/server.pem',
    'a/b.key',
    'id_rsa',
    'keys/id_ed25519',
    'x/.netrc',
    'secrets.json',
    '.env/inner',
    'a.p12',
    '.env.example.local',
    '.ENV',
    'Apps/.Env.Local',
    '.e\u200Cnv',
    '.env.',
    '.env ::$DATA',
    '.env~',
    '.env-prod',
    '.env.example.bak',
    'server.PEM.bak',
    '.netrc.orig',
    '.id_rsa.swp',
    'id_rsa_work',
    'keys/id_ed25519-github.old',
    '.aws/credentials',
    'home/.AWS/Credentials~',
    '.ssh/config',
    '.ssh/keys/work',
    '.pypirc',
    '.dockercfg',
    '.docker/config.json',
    'deploy/kubeconfig',
    'prod.kubeconfig',
    '.kube/config',
    'service-account.json',
    'x/service-account-prod.json',
    'Service_Account.json',
    '.cargo/credentials.toml',
    '.config/gh/hosts.yml',
    'a.ppk',
    'client_secret.json',
    'x/client_secret_1234.apps.json',
    'infra/terraform.tfvars',
    'infra/prod.auto.tfvars',
    'terraform.tfstate',
    'infra/prod.tfstate.backup',
    '.terraformrc',
    '.envrc',
    '.gnupg/private-keys-v1.d/a',
    'www/wp-config.php',
  ])('%j is denied though allowed by name', (path) => {
    expect(kindOf(path, { allowedPaths: [{ literal: path }, ...rules('**')] })).toBe('secret')
  })

  it.each([
    '.env.example',
    'a/.env.sample',
    'id_rsa.pub',
    'src/keys.ts',
    '.npmrc',
    'infra/variables.tf',
    'infra/example.tfvars',
    'wp-config-sample.php',
    'src/environment.ts',
    'src/secrets/index.ts',
    '.Env.Example',
    'ID_RSA.PUB',
    '.ssh/id_ed25519.pub',
    'id_generator.ts',
    'id_map/index.ts',
    'pkg/kubeconfig/kubeconfig.go',
    'src/credentials/index.ts',
    'docker/config.json',
    'src/service-account.ts',
    'src/env~',
    '.npmrc.bak',
  ])('%s is not', (path) => {
    expect(kindOf(path)).toBeUndefined()
  })
})

describe('secrets by content', () => {
  it('name the rule and the line, and rank between denied and outside', () => {
    const secretLines = new Map([['src/a.ts', 'stripe (line 3)']])
    expect(check(['src/a.ts', 'src/b.ts'], { secretLines })).toEqual({
      permitted: ['src/b.ts'],
      violations: [{ path: 'src/a.ts', kind: 'secret', rule: 'stripe (line 3)' }],
    })
    expect(kindOf('src/a.ts', { secretLines, deniedPaths: rules('src') })).toBe('denied')
    expect(kindOf('src/a.ts', { secretLines, allowedPaths: rules('docs') })).toBe('secret')
  })
})

describe('paths that some file system takes for the same', () => {
  it.each([
    ['.Unstuck/config.json', '.unstuck'],
    ['.unst\u200Duck/config.json', '.unstuck'],
    ['.unstuck./config.json', '.unstuck'],
    ['VAULT/k', 'vault/**'],
    ['va\uFEFFult/k', 'vault/**'],
    ['Docs/U\u0308bung.md', 'docs/\u00FCbung.md'],
    ['\u212Aeys/a', 'keys'],
    ['a/B.Txt. ', '**/b.txt'],
  ])('%j is denied by %j', (path, rule) => {
    expect(check([path], { deniedPaths: rules(rule) }).violations).toEqual([{ path, kind: 'denied', rule }])
  })

  it('an allowed rule is exact', () => {
    expect(kindOf('SRC/a.ts', { allowedPaths: rules('src') })).toBe('outside')
    expect(kindOf('s\u200Crc/a.ts', { allowedPaths: rules('src') })).toBe('outside')
  })

  it('a denied glob with a dot at its end covers no more than it says', () => {
    expect(kindOf('src/a.ts', { deniedPaths: rules('**/*.') })).toBeUndefined()
  })

  it.each(['.g\u200Cit/config', '.GIT\u206F/x', 'a/git~1/config', '.git./x', 'a/.git::$INDEX_ALLOCATION/x', '.Git /x'])(
    '%j is .git',
    (path) => {
      expect(kindOf(path)).toBe('outside')
      expect(symlinkStaysInside('link', path)).toBe(false)
    },
  )
})

describe('entries that are not files', () => {
  it('submodules and nested repositories are violations, with everything below them', () => {
    expect(kindOf({ path: 'lib', oldMode: '000000', newMode: '160000' })).toBe('nested_repository')
    expect(kindOf({ path: 'lib', oldMode: '160000', newMode: '000000' })).toBe('nested_repository')
    expect(check(['lib/a.ts', 'library.ts'], { nestedRepositories: ['lib/'] })).toEqual({
      permitted: ['library.ts'],
      violations: [
        { path: 'lib/a.ts', kind: 'nested_repository', rule: 'lib' },
        { path: 'lib', kind: 'nested_repository', rule: 'lib' },
      ],
    })
  })

  it('a symlink out of the repository is a violation, one inside is an entry like others', () => {
    const symlinkTargets = new Map([
      ['a/in', '../b'],
      ['a/out', '../../b'],
    ])
    expect(check([link('a/in'), link('a/out'), link('a/unknown')], { symlinkTargets })).toEqual({
      permitted: ['a/in'],
      violations: [
        { path: 'a/out', kind: 'symlink_out', rule: '../../b' },
        { path: 'a/unknown', kind: 'symlink_out', rule: '(target unknown)' },
      ],
    })
    expect(kindOf({ path: 'old', oldMode: '120000', newMode: '000000' })).toBeUndefined()
  })

  it.each([
    ['a/b/c', '../../x', true],
    ['a/b/c', '../../../x', false],
    ['a', 'b/c', true],
    ['a', './b//c', true],
    ['a', '.', true],
    ['a', '..', false],
    ['a', '/etc/passwd', false],
    ['a', '', false],
    ['a', 'b/..', false],
    ['a', 'b/../../x', false],
    ['a', '.git/config', false],
    ['a/b', '../.GIT/hooks', false],
    ['a', '..x/y', true],
  ])('%s -> %s stays inside: %s', (path, target, expected) => {
    expect(symlinkStaysInside(path, target)).toBe(expected)
  })

  it.each(['../x', '/x', 'a/../b', '.git/hooks/pre-commit', 'a/.git/config', ''])(
    '%j is no path of a repository',
    (path) => {
      expect(kindOf(path)).toBe('outside')
    },
  )
})

it('every changed path ends permitted or in one violation, never both', () => {
  const path = fc
    .array(fc.constantFrom('a', 'b', '.env', 'x.pem', '..', '[id]', '漢'), { minLength: 1, maxLength: 4 })
    .map((parts) => parts.join('/'))
  const change = fc.record({
    path,
    oldMode: fc.constantFrom('000000', '100644'),
    newMode: fc.constantFrom('100644', '120000', '160000', '000000'),
  })
  const rule = fc.constantFrom(...rules('a', '**', 'b/*', '[id]'))
  fc.assert(
    fc.property(fc.array(change), fc.array(rule), fc.array(rule), (changes, allowedPaths, deniedPaths) => {
      const { permitted, violations } = checkPathPolicy({ changes, allowedPaths, deniedPaths, nestedRepositories: [] })
      const all = [...permitted, ...violations.map((violation) => violation.path)]
      expect(all.toSorted()).toEqual([...new Set(changes.map((entry) => entry.path))].toSorted())
    }),
  )
})
