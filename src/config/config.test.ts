import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeConfig, loadConfig } from './config.ts'
import type { ConfigSources } from './config.ts'
import { AppError } from '../errors.ts'
import { builtInGeneratedPaths, generatedMatcher, whyNoGeneratedPath } from '../recovery/policy/generated.ts'
import { nearestWord } from '../validation.ts'
import { samples } from '../../test/support/samples.ts'

const load = (file?: unknown, more: Partial<ConfigSources> = {}) =>
  loadConfig({
    root: '/repo',
    readFile: (path) => {
      expect(path).toBe('/repo/.unstuck/config.json')
      return typeof file === 'string' || file === undefined ? file : JSON.stringify(file)
    },
    ...more,
  })

const problem = (file?: unknown, more: Partial<ConfigSources> = {}): string => {
  try {
    load(file, more)
  } catch (error) {
    if (error instanceof AppError && error.code === 'CONFIG_INVALID') return error.message
    throw error
  }
  return 'accepted'
}

it('without a file, every key has its built-in value', () => {
  expect(load()).toEqual({
    harness: { named: {} },
    allowedDirs: [],
    autoMerge: false,
    repoMode: 'local',
    planner: { mode: 'auto', replans: 2 },
    forge: {
      ...{ kind: 'off', apiUrl: 'https://api.github.com', label: 'unstuck', authors: [] },
      ...{ comments: 'off', pullRequests: 'off', pollSeconds: 60 },
    },
    judge: {
      ...{ mode: 'auto', rules: [], timeoutSeconds: 300, maxRisk: 'medium', requiredChecks: [] },
      ...{ retries: 2, retrySeconds: 120 },
    },
    loop: { completion_promise: 'LOOP_COMPLETE', max_iterations: 20, stuck_threshold: 3, plan_files: [], roles: {} },
    git: { branchPrefix: 'unstuck/', keepGoalBranches: false, signCommits: true },
    storage: { maxGb: 20 },
    remote: { timeoutSeconds: 300 },
    maxParallel: 2,
    lease: { ttlSeconds: 300 },
    lanes: { featureMinSlots: 1, conflictRecoveryMaxSlots: 2, docserMaxSlots: 1 },
    admission: { minFreeDiskMb: 1024, minFreeMemoryMb: 256, maxLoadPerCore: -1 },
    limits: { runSeconds: 3600 },
    workspace: { setupSeconds: 600, copy: [], filters: [] },
    verify: {
      skipMissingExplicitScript: true,
      proof: 'require',
      proofSeconds: 60,
      expectations: 'hold',
      timeoutSeconds: 600,
      totalSeconds: 1800,
      knownFailures: [],
    },
    retry: {
      ...{ transientBaseSeconds: 30, transientMaxSeconds: 1800, transientLimit: 6 },
      ...{ quotaBaseSeconds: 120, quotaMaxSeconds: 1800 },
    },
    change: { maxFiles: 500, maxLines: 20_000 },
    requeue: {
      ...{ failedSeconds: 30, blockedSeconds: 120, maxRetries: -1, inPlaceLimit: 5 },
      ...{ sameFailureLimit: 4, suppressionLimit: 2, reworkDepth: 2, fruitlessCalls: 4, linkSeconds: 3600 },
    },
    policyRecovery: {
      ...{ useLlm: true, attempts: 5, timeoutSeconds: 90, generatedPaths: [], extraGeneratedPaths: [], grantDays: 30 },
    },
    mcp: { enabled: true, waitSeconds: 45 },
    stall: {
      silenceSeconds: 900,
      afterToolResultSeconds: 600,
      toolSeconds: 1800,
      promptSeconds: 180,
      probeSeconds: 300,
      busyCpuPercent: 5,
      lingerSeconds: 30,
    },
    doomLoop: { sameCalls: 5, pingPong: 4, callsWithoutChange: 60, ownRetries: 30 },
    playbooks: { disabled: [] },
    webhooks: { style: 'auto', events: ['escalation', 'blocker', 'resolved', 'goal_end'] },
    notify: { ntfyTokenVariable: 'UNSTUCK_NTFY_TOKEN', desktop: false },
    deniedPaths: [],
    env: [],
  })
})

it('harness.failover names harnesses that there are', () => {
  expect(load({ harness: { failover: ['codex', 'own'], own: { command: ['x'] } } }).harness.failover).toEqual([
    'codex',
    'own',
  ])
  expect(() => load({ harness: { failover: ['codex', 'clade'] } })).toThrow(
    /harness\.failover names "clade"; allowed: .* Did you mean "claude"\?/,
  )
  expect(() => load({ harness: { failover: 'codex' } })).toThrow(/harness\.failover/)
})

it('workspace.copy takes exact paths inside the repository, workspace.setup a command that runs without a shell', () => {
  const copy = ['.env.test', 'config/x.json', 'a b/ü.txt']
  expect(load({ workspace: { copy, setup: 'cd sub && npm run codegen' } }).workspace).toEqual({
    ...{ copy, setup: 'cd sub && npm run codegen', setupSeconds: 600, filters: [] },
  })
  for (const path of [
    '/etc/passwd',
    '../x',
    'a/../../x',
    '.git/config',
    'a/.GIT/config',
    '*.env',
    'a/',
    '',
    './x',
    'a\\b',
    'a\nb',
  ])
    expect(() => load({ workspace: { copy: [path] } })).toThrow(/workspace\.copy.*the path of one file/s)
  for (const setup of ['npm run a | tee log', 'a; b', 'echo $HOME', ''])
    expect(() => load({ workspace: { setup } })).toThrow(/workspace\.setup.*without a shell/s)
})

describe('precedence', () => {
  it('file beats built-in, environment beats file, command line beats environment', () => {
    const file = { maxParallel: 3, limits: { runTokens: 10 } }
    const environment = { UNSTUCK_MAX_PARALLEL: '4' }
    expect(load(file).maxParallel).toBe(3)
    expect(load(file, { environment }).maxParallel).toBe(4)
    expect(load(file, { environment, flags: { maxParallel: 5 } }).maxParallel).toBe(5)
    expect(load(file, { environment, flags: { maxParallel: undefined } }).maxParallel).toBe(4)
    expect(load(file, { flags: { 'limits.runSeconds': 60 } }).limits).toEqual({ runSeconds: 60, runTokens: 10 })
  })

  it('the variables of the seeds reach their keys, in the units of the keys', () => {
    const environment = {
      FAILED_TASK_RETRY_COOLDOWN_MS: '1500',
      BLOCKED_TASK_RETRY_COOLDOWN_MS: '2500',
      FAILED_TASK_MAX_RETRY_COUNT: '-1',
      BLOCKED_NEEDS_REWORK_IN_PLACE_RETRY_LIMIT: '7',
      BLOCKED_POLICY_SUPPRESSION_MAX_RETRIES: '3',
      FAILED_TASK_REPEATED_SIGNATURE_THRESHOLD: '6',
      AUTO_REWORK_MAX_DEPTH: '1',
      GENERATED_PATHS: 'gen/**, out.txt',
      WORKER_EXTRA_GENERATED_PATHS: 'more/**\nlast.log',
      WORKER_POLICY_RECOVERY_USE_LLM: 'false',
      WORKER_POLICY_RECOVERY_ATTEMPTS: '2',
      WORKER_POLICY_RECOVERY_TIMEOUT_SECONDS: '30',
      WORKER_POLICY_RECOVERY_MODEL: 'small',
      WORKER_VERIFY_SKIP_MISSING_EXPLICIT_SCRIPT: 'false',
      UNSTUCK_HARNESS: 'codex',
    }
    const config = load({ retry: { transientMaxSeconds: 60 } }, { environment })
    expect(config.retry).toEqual({
      ...{ transientBaseSeconds: 1.5, transientMaxSeconds: 60, transientLimit: -1 },
      ...{ quotaBaseSeconds: 2.5, quotaMaxSeconds: 1800 },
    })
    expect(config.requeue).toEqual({
      ...{ failedSeconds: 1.5, blockedSeconds: 2.5, maxRetries: -1, inPlaceLimit: 7 },
      ...{ sameFailureLimit: 6, suppressionLimit: 3, reworkDepth: 1, fruitlessCalls: 4, linkSeconds: 3600 },
    })
    expect(config.policyRecovery).toEqual({
      ...{ useLlm: false, attempts: 2, timeoutSeconds: 30, model: 'small', grantDays: 30 },
      ...{ generatedPaths: ['gen/**', 'out.txt'], extraGeneratedPaths: ['more/**', 'last.log'] },
    })
    expect(config.verify.skipMissingExplicitScript).toBe(false)
    expect(config.harness.default).toBe('codex')
  })

  it('an empty variable is no variable', () => {
    expect(load(undefined, { environment: { UNSTUCK_MAX_PARALLEL: '' } }).maxParallel).toBe(2)
  })

  it('-1 lifts a limit that a lower layer set', () => {
    expect(
      load({ limits: { runSeconds: -1, goalCostUsd: 5 } }, { flags: { 'limits.goalCostUsd': -1 } }).limits,
    ).toEqual({})
  })

  it('a list is replaced, not joined', () => {
    expect(load({ allowedDirs: ['/a', '/b'] }, { flags: { allowedDirs: ['/c'] } }).allowedDirs).toEqual(['/c'])
  })
})

describe('harnesses', () => {
  it('the driver follows from the name or from the command', () => {
    const { harness } = load({
      harness: {
        default: 'mine',
        claude: { command: ['/opt/claude'] },
        mine: { command: ['my-agent', ''], promptMode: 'stdin' },
        fast: { driver: 'codex', model: 'small' },
        gemini: {},
        zed: { driver: 'acp', command: ['my-agent', '--acp'] },
      },
    })
    expect(harness).toEqual({
      default: 'mine',
      named: {
        claude: { driver: 'claude', command: ['/opt/claude'], args: [], env: [] },
        mine: { driver: 'command', command: ['my-agent', ''], args: [], env: [], promptMode: 'stdin' },
        fast: { driver: 'codex', model: 'small', args: [], env: [] },
        gemini: { driver: 'gemini', args: [], env: [] },
        zed: { driver: 'acp', command: ['my-agent', '--acp'], args: [], env: [] },
      },
    })
  })

  it.each([
    [
      { harness: { mine: {} } },
      '/repo/.unstuck/config.json: harness.mine is {}; it has neither a driver nor a command; allowed: driver "claude", "codex", "gemini", "opencode", "acp", "command", or a command',
    ],
    [
      { harness: { mine: { driver: 'command' } } },
      'its driver "command" needs the program to run; add "command": ["<program>", …]',
    ],
    [{ harness: { acp: {} } }, 'its driver "acp" needs the program to run; add "command": ["<program>", …]'],
    [
      { harness: { 'my agent': { driver: 'codex' } } },
      'the name is not allowed; allowed: letters, digits, "-" and "_"',
    ],
    [{ harness: { mine: { comand: ['x'] } } }, 'unknown key harness.mine.comand. Did you mean "command"?'],
    [
      { harness: { mine: { command: 'x' } } },
      'harness.mine.command is "x"; allowed: a list of texts, the program first',
    ],
    [{ harness: { mine: { command: [] } } }, 'harness.mine.command is []; allowed: a list of texts, the program first'],
    [
      { harness: { default: 'codx' } },
      'harness.default is "codx"; allowed: claude, codex, gemini, opencode, or add harness.codx. Did you mean "codex"?',
    ],
    [
      { judge: { harness: 'codx' } },
      'judge.harness is "codx"; allowed: claude, codex, gemini, opencode, or add harness.codx. Did you mean "codex"?',
    ],
    [
      { harness: { x: { driver: 'bard' } } },
      'harness.x.driver is "bard"; allowed: "claude", "codex", "gemini", "opencode", "acp", "command"',
    ],
  ])('%j', (file, message) => {
    expect(problem(file)).toContain(message)
  })
})

describe('errors name file, key, value found and what is allowed', () => {
  it.each<[unknown, string]>([
    ['', '/repo/.unstuck/config.json: it is not JSON'],
    ['{\n  "maxParallel": 2,\n}', 'it is not JSON (line 3, column 1: '],
    [[], '/repo/.unstuck/config.json: it is []; allowed: a JSON object, { … }'],
    ['null', 'it is null; allowed: a JSON object, { … }'],
    [{ maxParalell: 3 }, '/repo/.unstuck/config.json: unknown key maxParalell. Did you mean "maxParallel"?'],
    [{ zebra: 3 }, 'unknown key zebra. Known keys here: harness, allowedDirs'],
    [{ limits: { runSecs: 3 } }, 'unknown key limits.runSecs. Did you mean "runSeconds"?'],
    [
      { maxParallel: 'three' },
      '/repo/.unstuck/config.json: maxParallel is "three"; allowed: a whole number from 1 to 256',
    ],
    [{ maxParallel: 0 }, 'maxParallel is 0; allowed: a whole number from 1 to 256'],
    [{ maxParallel: null }, 'maxParallel is null; allowed'],
    ...['', 'a b/', '-x/', 'x..y/', '/x/', 'x//', 'x.lock/', '.x/', 'x~', 'refs/heads/', `${'x'.repeat(100)}/`].map(
      (branchPrefix) => [{ git: { branchPrefix } }, 'a start of branch names as git takes them'] as [object, string],
    ),
    [{ repoMode: 'remote' }, 'repoMode is "remote"; allowed: "local", "direct"'],
    [{ autoMerge: 'yes' }, 'autoMerge is "yes"; allowed: true, false'],
    [{ allowedDirs: ['rel'] }, 'allowedDirs[0] is "rel"; allowed: the absolute path of a folder'],
    [{ limits: { runTokens: 0 } }, 'limits.runTokens is 0; allowed: a number of tokens above 0, or -1 for no limit'],
    [{ limits: [] }, 'limits is []'],
    [
      { deniedPaths: ['a', '../b'] },
      'deniedPaths[1] is "../b"; it leaves the repository with ".."; allowed: a path or glob inside the repository',
    ],
    [
      { allowedDirs: ['/data', '/'] },
      'allowedDirs: / is the whole file system: too wide to be given to an agent; name a folder inside it',
    ],
    [{ allowedDirs: [homedir()] }, 'is the home folder: too wide to be given to an agent'],
    [{ env: ['A=1'] }, 'env[0] is "A=1"; allowed: the name of an environment variable'],
    [{ verify: { commands: 'npm test' } }, 'verify.commands is "npm test"; allowed: a list of commands'],
  ])('%j', (file, message) => {
    expect(problem(file)).toContain(message)
  })

  it('environment and command line are named as such', () => {
    expect(problem(undefined, { environment: { UNSTUCK_MAX_PARALLEL: 'lots' } })).toBe(
      'environment variable UNSTUCK_MAX_PARALLEL: maxParallel is "lots"; allowed: a whole number from 1 to 256',
    )
    expect(problem(undefined, { environment: { UNSTUCK_HARNESS: 'codx' } })).toContain(
      'environment variable UNSTUCK_HARNESS: harness.default is "codx"',
    )
    expect(problem(undefined, { flags: { 'limits.runTokens': 'x' } })).toContain(
      'command line: limits.runTokens is "x"',
    )
    expect(problem(undefined, { flags: { nope: 1 } })).toContain('command line: unknown key nope')
  })

  it('any JSON is either accepted or refused with a message', () => {
    const keys = fc.constantFrom(
      'maxParallel',
      'harness',
      'limits',
      'runSeconds',
      'default',
      '__proto__',
      'constructor',
      'x',
    )
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: 'small' },
        fc.jsonValue(),
        fc.dictionary(keys, tie('any')),
        fc.array(tie('any'), { maxLength: 3 }),
      ),
    })).any
    fc.assert(
      fc.property(value, (file) => {
        expect(problem(JSON.stringify(file))).not.toBe('')
      }),
      { numRuns: samples(500) },
    )
  })
})

it('reads the real file, and an unreadable one is an error that names it', () => {
  const root = mkdtempSync(join(tmpdir(), 'unstuck-config-'))
  try {
    expect(loadConfig({ root }).maxParallel).toBe(2)
    mkdirSync(join(root, '.unstuck'))
    writeFileSync(join(root, '.unstuck', 'config.json'), '\uFEFF{"maxParallel": 7}')
    expect(loadConfig({ root }).maxParallel).toBe(7)
    rmSync(join(root, '.unstuck', 'config.json'))
    mkdirSync(join(root, '.unstuck', 'config.json'))
    expect(() => loadConfig({ root })).toThrow(/config\.json: it is a folder/)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
})

it('the table for the docs has every key once, with default, variable and meaning', () => {
  const rows = describeConfig()
  expect(rows).toContainEqual({
    key: 'maxParallel',
    default: '2',
    environment: 'UNSTUCK_MAX_PARALLEL',
    meaning: 'Maximum number of agents that work at the same time.',
  })
  expect(rows.find((row) => row.key === 'limits.runSeconds')?.default).toBe('3600')
  expect(rows.find((row) => row.key === 'harness.default')?.environment).toBe('UNSTUCK_HARNESS')
  expect(rows.find((row) => row.key === 'harness.<name>.args')?.default).toBe('[]')
  expect(rows.filter((row) => row.meaning === '')).toEqual([])
  const keys = rows.map((row) => row.key).filter((key) => key !== '')
  expect(new Set(keys).size).toBe(keys.length)
  const variables = rows.map((row) => row.environment).filter((name) => name !== '')
  expect([...new Set(variables)].toSorted()).toEqual([
    'AUTO_REWORK_MAX_DEPTH',
    'BLOCKED_NEEDS_REWORK_IN_PLACE_RETRY_LIMIT',
    'BLOCKED_POLICY_SUPPRESSION_MAX_RETRIES',
    'BLOCKED_TASK_RETRY_COOLDOWN_MS',
    'DISPATCH_CONFLICT_LANE_MAX_SLOTS',
    'DISPATCH_DOCSER_LANE_MAX_SLOTS',
    'DISPATCH_FEATURE_LANE_MIN_SLOTS',
    'FAILED_TASK_MAX_RETRY_COUNT',
    'FAILED_TASK_REPEATED_SIGNATURE_THRESHOLD',
    'FAILED_TASK_RETRY_COOLDOWN_MS',
    'GENERATED_PATHS',
    'HOURLY_TOKEN_LIMIT',
    'JUDGE_AWAITING_RETRY_COOLDOWN_MS',
    'JUDGE_DOOM_LOOP_CIRCUIT_BREAKER_RETRIES',
    'JUDGE_MODE',
    'UNSTUCK_DATABASE_URL',
    'UNSTUCK_HARNESS',
    'UNSTUCK_HOME',
    'UNSTUCK_LOG',
    'UNSTUCK_MAX_PARALLEL',
    'UNSTUCK_NTFY_ANSWERS_URL',
    'UNSTUCK_NTFY_URL',
    'UNSTUCK_WEBHOOK_SECRET',
    'UNSTUCK_WEBHOOK_URL',
    'WORKER_EXTRA_GENERATED_PATHS',
    'WORKER_POLICY_RECOVERY_ATTEMPTS',
    'WORKER_POLICY_RECOVERY_MODEL',
    'WORKER_POLICY_RECOVERY_TIMEOUT_SECONDS',
    'WORKER_POLICY_RECOVERY_USE_LLM',
    'WORKER_VERIFY_SKIP_MISSING_EXPLICIT_SCRIPT',
  ])
})

it('a suggestion is made for a slip and not for a different word', () => {
  expect(nearestWord('autoMereg', ['autoMerge', 'env'])).toBe('autoMerge')
  expect(nearestWord('zebra', ['autoMerge', 'env'])).toBeUndefined()
  expect(nearestWord('', [])).toBeUndefined()
})

it('the roles of a loop have a harness and a model of their own', () => {
  const roles = { reviewer: { harness: 'codex', model: 'm' }, tester: { harness: 'claude' } }
  expect(load({ loop: { roles, max_iterations: 7 } }).loop).toMatchObject({ roles, max_iterations: 7 })
})

it.each([
  ['max_iterations', 0, 'loop.max_iterations is 0; allowed: a whole number from 1 to 10000'],
  ['max_iterations', -1, 'loop.max_iterations is -1; allowed: a whole number from 1 to 10000'],
  ['stuck_threshold', 1, 'loop.stuck_threshold is 1; allowed: a whole number from 2 to 1000, or -1'],
  ['completion_promise', '', 'loop.completion_promise is ""; allowed: a text without < and >'],
  ['completion_promise', 'a</promise>b', 'loop.completion_promise is "a</promise>b"'],
  ['completion_promise', ' DONE', 'loop.completion_promise is " DONE"'],
  ['completion_promise', 'DO\nNE', 'loop.completion_promise is "DO\\nNE"'],
  ['plan_files', ['../plan.md'], 'loop.plan_files[0] is "../plan.md"'],
  ['roles', { judge: {} }, 'loop.roles'],
  ['roles', { tester: { harnes: 'codex' } }, 'unknown key loop.roles.tester.harnes'],
  ['max_iteration', 3, 'Did you mean "max_iterations"?'],
])('loop.%s %j is refused', (key, value, message) => {
  expect(problem({ loop: { [key]: value } })).toContain(message)
})

describe('the generated paths', () => {
  it('are read from variables with commas inside braces, lines and comments', () => {
    const environment = { GENERATED_PATHS: 'coverage, **/*.{o,a}\n# a comment\n\ngen/[id]\r\n,coverage' }
    expect(load({}, { environment }).policyRecovery.generatedPaths).toEqual(['coverage', '**/*.{o,a}', 'gen/[id]'])
  })

  it.each([
    ['../x', 'it leaves the repository with ".."'],
    ['/tmp', 'it is absolute'],
    ['**', 'it covers files of every name'],
    ['*', 'it covers files of every name'],
    ['{a,**}', 'it covers files of every name'],
    ['.git/x', 'it is inside a .git folder'],
  ])('%s is refused in the file and in the variable', (entry, message) => {
    expect(problem({ policyRecovery: { generatedPaths: [entry] } })).toContain(message)
    expect(problem({}, { environment: { WORKER_EXTRA_GENERATED_PATHS: `a\n${entry}` } })).toContain(message)
  })

  it('the built-in ones are valid and match no secret', () => {
    expect(builtInGeneratedPaths.map(whyNoGeneratedPath).filter((why) => why !== undefined)).toEqual([])
    const matches = generatedMatcher(builtInGeneratedPaths)
    expect(['a/node_modules/x.js', 'dist/a.js', 'a.o', 'src/a.ts', 'dist', 'build/server.pem'].map(matches)).toEqual([
      ...['**/node_modules/**', '**/{dist,build,out}/**', '**/*.{elf,o,a,bin,img,map}'],
      ...[undefined, undefined, undefined],
    ])
  })
})
