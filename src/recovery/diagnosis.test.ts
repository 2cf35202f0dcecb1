import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { FaultType } from '../harness/driver.ts'
import { diagnose } from './diagnosis.ts'
import type { AnyFacts, Diagnosis } from './types.ts'
import { launchRules, isCorrectable, refusalIn } from './diagnosis/launch-failure.ts'
import type { Evidence, ObservedCheck, ObservedDenial, ReportedFailure } from './evidence.ts'
import { nextStep, playbooks, type LadderSettings } from './ladder.ts'
import { signatureOf } from './signature.ts'

const launch = (harness: string, failure: Partial<ReportedFailure>, denials: ObservedDenial[] = []): Evidence => ({
  kind: 'launch',
  harness,
  failure: { source: 'event', text: 'it failed', ...failure },
  denials,
})

const denial = (kind: ObservedDenial['kind'], extra: Partial<ObservedDenial> = {}): ObservedDenial => ({
  kind,
  tool: 'Write',
  text: `${kind} denied`,
  ...extra,
})

/** The public map from wording to issue type. */
const seedMap = readFileSync(new URL('../../test/fixture/seeds/trigger-map.md', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| **'))
  .map((line) => line.split('|').map((cell) => cell.trim().replaceAll(/\*\*|`/g, '')))
  .map(([, agent = '', pattern = '', issue = '']) => ({ agent: agent.toLowerCase(), pattern, issue }))

describe('the trigger map of the founding document', () => {
  it('is read whole', () => {
    expect(seedMap).toHaveLength(5)
  })

  it.each(seedMap)('$agent /$pattern/ is $issue, verbatim', ({ agent, pattern, issue }) => {
    const rule = launchRules.find((entry) => entry.harness === agent && entry.text?.source === pattern)
    expect(rule?.meaning).toMatchObject({ label: issue, rung: 1 })
    const words = pattern.replace('.*', ' /repo ')
    expect(diagnose(launch(agent, { source: 'stderr', text: `Warning: x\nError: ${words}.` }))).toMatchObject({
      label: issue,
      evidence: words,
      failureCode: 'permission_or_auth_failure',
    })
  })

  it.each(seedMap)('$agent /$pattern/ does not match for other agents', ({ agent, pattern, issue }) => {
    const other = agent === 'command' ? 'claude' : 'command'
    expect(diagnose(launch(other, { source: 'stderr', text: pattern })).label).not.toBe(issue)
  })
})

it('each wording of the founding document gives its issue type', () => {
  const said = (harness: string, text: string): string => diagnose(launch(harness, { source: 'stderr', text })).label
  expect('Path must be within.*workspace directories').toBe(seedMap[0]?.pattern)
  expect(said('gemini', 'Path must be within one of the workspace directories')).toBe('DIR_SCOPE_ERROR')
  expect(said('gemini', 'Permission denied')).toBe('FS_PERM_ERROR')
  expect(said('codex', 'Not inside a trusted directory')).toBe('GIT_TRUST_ERROR')
  expect(said('codex', 'Repository check failed')).toBe('GIT_CHECK_ERROR')
  expect(said('claude', 'Access blocked')).toBe('SANDBOX_ERROR')
})

it.each([
  ['gemini', 'File path must be within one of the workspace directories: /w', 'DIR_SCOPE_ERROR'],
  ['gemini', 'PATH MUST BE WITHIN THE WORKSPACE DIRECTORIES', 'DIR_SCOPE_ERROR'],
  ['gemini', "EACCES: permission denied, open '/w/a'", 'FS_PERM_ERROR'],
  ['codex', 'not inside a trusted directory', 'GIT_TRUST_ERROR'],
  ['codex', 'repository check failed', 'GIT_CHECK_ERROR'],
  ['codex', 'Not a Git repository', 'GIT_CHECK_ERROR'],
  ['claude', 'access blocked: /other', 'SANDBOX_ERROR'],
])('%s: "%s" in any case of letters is %s', (harness, text, label) => {
  expect(diagnose(launch(harness, { source: 'stderr', text })).label).toBe(label)
})

describe('wordings with several meanings', () => {
  const trust = 'Not inside a trusted directory and --skip-git-repo-check was not specified.'
  const labelOf = (evidence: Evidence): string => diagnose(evidence).label

  it.each<[string, Partial<ReportedFailure>]>([
    [
      'gemini',
      {
        httpStatus: 403,
        code: 'PERMISSION_DENIED',
        text: "Permission denied: Consumer 'projects/7' has been suspended.",
      },
    ],
    ['gemini', { type: 'authentication_failed', text: "Permission denied: Consumer 'projects/7' has been suspended." }],
    ['gemini', { source: 'stderr', text: "Permission denied: Consumer 'projects/7' has been suspended." }],
    ['claude', { httpStatus: 403, text: 'API Error: 403 Access blocked by network policy' }],
    ['claude', { source: 'stderr', text: 'Access blocked by network policy' }],
  ])('%s: what a provider answers is the account’s: %j', (harness, failure) => {
    expect(diagnose(launch(harness, failure))).toMatchObject({ label: 'auth_failure', rung: 2 })
    expect(refusalIn({ harness, failure: { source: 'event', text: '', ...failure } })).toBeUndefined()
  })

  it.each([
    ['codex', trust],
    ['codex', 'Repository check failed'],
    ['codex', 'Not inside a Git repo and --skip-git-repo-check was not specified.'],
    ['gemini', 'Gemini CLI is not running in a trusted directory. To proceed, use `--skip-trust`'],
  ])('%s: a folder is not trusted before a session opens, and never after it: %s', (harness, text) => {
    const before = launch(harness, { source: 'stderr', type: 'git_trust', text })
    expect(labelOf(before)).toMatch(/^GIT_(?:TRUST|CHECK)_ERROR$/)
    expect(labelOf({ ...before, opened: true } as Evidence)).toBe('unknown')
  })

  it.each([
    ['Not a git repository', 'GIT_CHECK_ERROR'],
    ['Error: not a git repository: /work', 'GIT_CHECK_ERROR'],
    ['fatal: not a git repository (or any of the parent directories): .git', 'GIT_CHECK_ERROR'],
    ['Not inside a Git repo and --skip-git-repo-check was not specified.', 'GIT_CHECK_ERROR'],
    ['a test says: not a git repository', 'unknown'],
  ])('codex: %s is %s', (text, label) => {
    expect(labelOf(launch('codex', { source: 'stderr', text }))).toBe(label)
  })
})

describe('a path that a failure names', () => {
  const refused = (harness: string, text: string) => refusalIn({ harness, failure: { source: 'stderr', text } })

  it.each([
    ['gemini', 'Error: Path must be within one of the workspace directories: /data/x.txt', 'scope', ['/data/x.txt']],
    [
      'gemini',
      'Path not in workspace: Attempted path "/data/my file" resolves outside the allowed workspace directories: /repo',
      'scope',
      ['/data/my file', '/repo'],
    ],
    [
      'gemini',
      'Permission denied writing to file: /repo/locked/new.txt (EACCES)',
      'filesystem',
      ['/repo/locked/new.txt'],
    ],
    ['gemini', "Error: EACCES: permission denied, open '/repo/locked/new.txt'", 'filesystem', ['/repo/locked/new.txt']],
    ['gemini', 'Permission denied', 'filesystem', []],
    ['claude', 'Access blocked: /data/x.txt is not allowed.', 'scope', ['/data/x.txt']],
    ['claude', "see /elsewhere\nAccess blocked ('/data').", 'scope', ['/data']],
  ])('%s: %s', (harness, text, kind, paths) => {
    expect(refused(harness, text)).toMatchObject({ kind, paths })
  })

  it('is what the correction is made of', () => {
    const seen = { ...denial('scope', { directory: '/data', allowedBy: '/data' }) }
    const evidence = { ...launch('claude', { source: 'stderr', text: 'Access blocked: /data/x' }), refused: [seen] }
    expect(diagnose(evidence as Evidence)).toMatchObject({
      ...{ label: 'SANDBOX_ERROR', evidence: 'Access blocked' },
      facts: { directory: '/data', allowedBy: '/data' },
    })
    const unusable = { path: '/repo/locked', problem: 'no access' as const, mode: 0o500, isOurs: true }
    const folder = denial('filesystem', { directory: '/repo/locked', unusable })
    const locked = { ...launch('gemini', { source: 'stderr', text: 'Permission denied' }), refused: [folder] }
    expect(diagnose(locked as Evidence).facts).toMatchObject({ chmod: { directory: '/repo/locked', newMode: '0700' } })
  })
})

/** Every fault a driver can tell apart. A new one does not compile until it stands here. */
const meanings: Record<FaultType, [label: string, failureCode: string, retryable: boolean]> = {
  authentication_failed: ['auth_failure', 'permission_or_auth_failure', false],
  billing_error: ['llm_quota', 'quota_failure', true],
  usage_limit: ['llm_quota', 'quota_failure', true],
  rate_limit: ['llm_quota', 'quota_failure', true],
  overloaded: ['provider_overloaded', 'transient_or_flaky_failure', true],
  server_error: ['provider_overloaded', 'transient_or_flaky_failure', true],
  network: ['network_transient', 'transient_or_flaky_failure', true],
  timeout: ['network_transient', 'transient_or_flaky_failure', true],
  prompt_too_long: ['context_overflow', 'environment_issue', false],
  model_not_found: ['model_missing', 'environment_issue', false],
  temporary_failure: ['temporary_failure', 'transient_or_flaky_failure', true],
  session_not_found: ['session_lost', 'model_or_unknown_failure', true],
  session_busy: ['session_lost', 'model_or_unknown_failure', true],
  git_trust: ['GIT_TRUST_ERROR', 'permission_or_auth_failure', false],
  filesystem: ['FS_PERM_ERROR', 'permission_or_auth_failure', false],
  directory_missing: ['launch_refused', 'environment_issue', false],
  bad_flag: ['launch_refused', 'environment_issue', false],
  bad_config: ['launch_refused', 'environment_issue', false],
  invalid_request: ['unknown', 'model_or_unknown_failure', true],
  refusal: ['unknown', 'model_or_unknown_failure', true],
  max_output_tokens: ['unknown', 'model_or_unknown_failure', true],
  max_turns: ['unknown', 'model_or_unknown_failure', true],
  max_budget: ['unknown', 'model_or_unknown_failure', true],
  aborted: ['unknown', 'model_or_unknown_failure', true],
  stopped: ['unknown', 'model_or_unknown_failure', true],
  signal: ['unknown', 'model_or_unknown_failure', true],
  no_result: ['unknown', 'model_or_unknown_failure', true],
  bad_exit: ['unknown', 'model_or_unknown_failure', true],
}

describe('a fault that a CLI reports', () => {
  it.each(Object.entries(meanings))('%s has its diagnosis', (type, [label, failureCode, retryable]) => {
    expect(diagnose(launch('claude', { type }))).toMatchObject({ label, failureCode, retryable })
  })

  it.each([408, 500, 502, 503, 504, 529])('with nothing but status %i is an overload', (httpStatus) => {
    expect(diagnose(launch('claude', { httpStatus }))).toMatchObject({ label: 'provider_overloaded', rung: 2 })
  })

  it('with nothing but status 429 or 402 is a limit of the account', () => {
    for (const httpStatus of [402, 429])
      expect(diagnose(launch('claude', { httpStatus }))).toMatchObject({ label: 'llm_quota', rung: 2 })
  })

  it('with a status that says nothing stays unknown', () => {
    expect(diagnose(launch('claude', { httpStatus: 418 })).label).toBe('unknown')
  })

  it('keeps the time at which the provider says that the limit ends', () => {
    const resetAt = new Date(1e12)
    expect(diagnose(launch('claude', { type: 'usage_limit', resetAt })).facts).toMatchObject({ resetAt })
  })

  it('that nothing explains is explained by the denials before it', () => {
    expect(diagnose(launch('claude', { type: 'bad_exit' }, [denial('scope')])).label).toBe('SANDBOX_ERROR')
    expect(diagnose(launch('claude', { type: 'overloaded' }, [denial('scope')])).label).toBe('provider_overloaded')
  })
})

describe('denials', () => {
  const labelled = (harness: string, ...denials: ObservedDenial[]) =>
    diagnose({ kind: 'denial', harness, denials, because: 'nothing changed' })

  it.each([
    ['claude', 'scope', 'SANDBOX_ERROR'],
    ['gemini', 'scope', 'DIR_SCOPE_ERROR'],
    ['codex', 'tool', 'TOOL_DENIED'],
    ['codex', 'filesystem', 'FS_PERM_ERROR'],
    ['claude', 'safety', 'DANGEROUS_COMMAND'],
  ] as const)('%s: %s is %s', (harness, kind, label) => {
    expect(labelled(harness, denial(kind))).toMatchObject({ label, rung: 1, category: 'permission' })
  })

  it('one that can be corrected is chosen before one that cannot', () => {
    const found = labelled(
      'claude',
      denial('scope', { directory: '/other' }),
      denial('scope', { directory: '/data', allowedBy: '/data' }),
    )
    expect(found.facts).toEqual({ refused: { tool: 'Write' }, directory: '/data', allowedBy: '/data' })
  })

  it('a refused tool is answered by a rule or not at all, never by a directory', () => {
    const tool = denial('tool', { directory: '/data', allowedBy: '/data' })
    expect(labelled('codex', tool).facts).toEqual({ refused: { tool: 'Write' } })
    expect([isCorrectable(tool), isCorrectable({ ...tool, toolRules: ['Bash(npm test:*)'] })]).toEqual([false, true])
  })

  it('otherwise orders scope before tool before filesystem', () => {
    expect(labelled('claude', denial('filesystem'), denial('tool'), denial('scope')).evidence).toBe('scope denied')
    expect(labelled('claude', denial('filesystem'), denial('tool')).evidence).toBe('tool denied')
  })

  it('none at all is unknown', () => {
    expect(labelled('claude').label).toBe('unknown')
  })
})

const check = (extra: Partial<ObservedCheck>): Evidence => ({
  kind: 'check',
  check: {
    command: 'npm test',
    source: 'task',
    exitCode: 1,
    signal: null,
    timedOut: false,
    stdout: '',
    stderr: '',
    remaining: 1,
    ...extra,
  },
})

const factsOf = (extra: Partial<ObservedCheck>): AnyFacts => diagnose(check(extra)).facts

describe('a failed check', () => {
  const missing = { name: 'lint', manifest: 'package.json', exists: false }
  it.each<[string, Partial<ObservedCheck>, Partial<Diagnosis>]>([
    [
      'of a format that needs a shell',
      { exitCode: null, unsupported: { piece: '|', reason: 'a pipe' } },
      {
        label: 'unsupported_format',
        failureCode: 'verification_command_unsupported_format',
        category: 'setup',
        retryable: false,
      },
    ],
    [
      'of a script that does not exist',
      { script: missing },
      {
        label: 'missing_script',
        failureCode: 'verification_command_missing_script',
        category: 'setup',
        retryable: false,
      },
    ],
    [
      'of a script that exists',
      { script: { ...missing, exists: true } },
      { label: 'check_failed', failureCode: 'verification_command_failed', category: 'test', retryable: true },
    ],
    [
      'out of time',
      { timedOut: true, exitCode: null },
      { label: 'timeout', failureCode: 'timeout', category: 'flaky', retryable: true },
    ],
    [
      'whose program is not there',
      { exitCode: null, spawnError: 'ENOENT' },
      { label: 'command_not_found', failureCode: 'setup_or_bootstrap_issue', category: 'setup', retryable: false },
    ],
    [
      'whose program an install may bring',
      { exitCode: null, spawnError: 'ENOENT', installs: [{ manager: 'npm', folder: '', commands: [['npm', 'ci']] }] },
      { label: 'command_not_found', retryable: true },
    ],
    [
      'of a test',
      { stderr: '3 failing' },
      { label: 'test_failure', failureCode: 'test_failure', category: 'test', retryable: true },
    ],
  ])('%s', (_name, extra, diagnosis) => {
    expect(diagnose(check(extra))).toMatchObject({ rung: 4, ...diagnosis })
  })

  it('drops no check that the work itself made wait for changes for ever', () => {
    const unsupported = { piece: 'node --test --watch', reason: 'its script waits for changes' }
    const script = { name: 'test', manifest: 'package.json', exists: true }
    expect(diagnose(check({ unsupported, script })).facts).toMatchObject({ droppable: true })
    const found = diagnose(check({ unsupported, script: { ...script, inBase: false } }))
    expect(found.label).not.toBe('unsupported_format')
    expect(found.facts).not.toMatchObject({ droppable: true })
  })

  const noRule = "make: *** No rule to make target 'nosuch'.  Stop."
  it('has the failure codes of the founding documents', () => {
    const codeOf = (extra: Partial<ObservedCheck>): string => diagnose(check(extra)).failureCode
    expect(codeOf({ script: missing })).toBe('verification_command_missing_script')
    expect(codeOf({ unsupported: { piece: '$()', reason: 'a substitution' } })).toBe(
      'verification_command_unsupported_format',
    )
    expect(codeOf({ spawnError: 'ENOENT' })).toBe('setup_or_bootstrap_issue')
    expect(codeOf({ ranNothing: '0 tests' })).toBe('verification_command_no_test_files')
    expect(codeOf({ command: 'make nosuch', exitCode: 2, stderr: noRule })).toBe(
      'verification_command_missing_make_target',
    )
    expect(codeOf({ command: 'test -f dist/a.js', plan: ['test -f dist/a.js', 'npm run build'] })).toBe(
      'verification_command_sequence_issue',
    )
    expect(diagnose({ kind: 'policy', violations: [] }).failureCode).toBe('policy_violation')
  })

  it('names what was left out of work without a change, and shows characters that cannot be seen', () => {
    const leftOut = [{ path: '.g\u200Cit/a', reason: 'git does not store this name' }]
    const unchanged = { kind: 'noChange', because: 'npm test does not pass', tree: 't' } as const
    expect(diagnose({ ...unchanged, leftOut }).evidence).toBe(
      'the agent ended without an error and none of its changes can be committed: .g<U+200C>it/a (git does not store this name); npm test does not pass',
    )
    expect(diagnose(unchanged).evidence).toContain('no path differs')
    const violations = [{ path: 'a\u202Eb', kind: 'outside', rule: 'src' }]
    expect(diagnose({ kind: 'policy', violations }).evidence).toContain('a<U+202E>b (outside: src)')
  })

  const before = (label: string) => ({ state: 'unknown' as const, detail: 'baseline unknown', label })
  it.each<[ObservedCheck['source'], boolean]>([
    ['inferred', false],
    ['contract', true],
    ['task', true],
  ])(
    'starts an agent for a command that could not run before the work either, unless it was only %s',
    (source, starts) => {
      const stderr =
        'a_test.go:9:2: no required module provides package x/y: go.mod file not found in current directory'
      const found = diagnose(
        check({ command: 'make test', exitCode: 2, stderr, source, baseline: before('missing_script') }),
      )
      const facts = found.facts as { feedback?: unknown }
      expect([facts.feedback !== undefined, found.retryable]).toEqual([starts, starts])
    },
  )

  const make = {
    command: 'make nosuch',
    exitCode: 2,
    stderr: noRule,
    make: { makefile: 'Makefile', missing: ['nosuch'] },
  }
  it.each<[string, Partial<ObservedCheck>, string, boolean]>([
    [
      'and the base commit lacks it as well',
      { ...make, baseline: before('missing_make_target') },
      'missing_make_target',
      true,
    ],
    ['and nothing is known of the base commit', make, 'missing_make_target', false],
    [
      'and the base commit has it',
      { ...make, baseline: { state: 'passes', detail: 'it passes there' } },
      'check_failed',
      false,
    ],
    // A test that prints what make prints.
    [
      'though the makefile has it',
      { ...make, make: { makefile: 'Makefile', missing: [] }, baseline: before('missing_make_target') },
      'check_failed',
      false,
    ],
    [
      'of a make that another one called',
      {
        ...make,
        stderr: "make[1]: *** No rule to make target 'other'.  Stop.\nmake: *** [Makefile:2: nosuch] Error 2",
        make: { makefile: 'Makefile', missing: [] },
      },
      'check_failed',
      false,
    ],
  ])('names a make target that does not exist %s', (_name, extra, label, droppable) => {
    const found = diagnose(check(extra))
    expect([found.label, factsOf(extra).droppable === true]).toEqual([label, droppable])
  })

  it('offers an order only where the output of a build is missed, and none to a failed test', () => {
    const plan = ['node use.js', 'npm run build']
    const missed = "Error: Cannot find module './dist/index.js'\nRequire stack:\n- /r/use.js"
    expect(factsOf({ command: 'node use.js', stderr: missed, plan }).order).toEqual(plan.toReversed())
    const failed = `AssertionError [ERR_ASSERTION]: ${missed}\n# tests 1\n# fail 1`
    expect(factsOf({ command: 'node use.js', stdout: failed, plan }).order).toBeUndefined()
  })

  it('offers a narrower check only where the base commit cannot run it for the same reason', () => {
    const extra = { command: 'npm test -ws', stderr: 'npm error Missing script: "test"', narrowed: 'npm -w a test' }
    expect(factsOf({ ...extra, baseline: before('missing_script') }).narrowed).toBe('npm -w a test')
    expect(factsOf({ ...extra, baseline: before('dependency_missing') }).narrowed).toBeUndefined()
    expect(factsOf(extra).narrowed).toBeUndefined()
    const failed = { ...extra, stdout: 'AssertionError [ERR_ASSERTION]: 1 == 2\n# tests 1\n# fail 1' }
    expect(factsOf({ ...failed, baseline: before('missing_script') }).narrowed).toBeUndefined()
  })

  describe('that the task names and that its owner lets block', () => {
    const retry = {
      ...{
        transientBaseSeconds: 1,
        transientMaxSeconds: 1,
        transientLimit: 1,
        quotaBaseSeconds: 1,
        quotaMaxSeconds: 1,
      },
    }
    const settings: LadderSettings = { playbooks, disabled: [], retry }
    const usage = { command: 'npm test -- --nope', exitCode: 2, stderr: "error: unknown option '--nope'" }
    it.each<[string, Partial<ObservedCheck>, string]>([
      ['missing script', { script: { ...missing, replacement: 'npm run lint:all' } }, 'missing_script'],
      [
        'missing script in some packages',
        {
          ...{ command: 'npm test -ws', stderr: 'npm error Missing script: "test"', narrowed: 'npm -w a test' },
          baseline: before('missing_script'),
        },
        'missing_script',
      ],
      ['missing make target', { ...make, baseline: before('missing_make_target') }, 'missing_make_target'],
      [
        'runner without tests',
        { ranNothing: 'no tests', countedNone: true, baseline: { state: 'no tests', detail: 'none there' } },
        'no_test_files',
      ],
      [
        'form that needs a shell',
        { unsupported: { piece: '|', reason: 'a pipe' }, rest: 'npm test' },
        'unsupported_format',
      ],
      ['refused option', { ...usage, baseline: before('invalid_usage') }, 'invalid_usage'],
    ])('%s: nothing takes its place, while the default finds a way', (_name, extra, label) => {
      const step = (more: Partial<ObservedCheck>) => {
        const found = diagnose(check({ ...extra, ...more }))
        return [found.label, nextStep(found, [], settings, { id: 't', runId: 'r' }).kind]
      }
      expect(step({})).toEqual([label, 'recover'])
      expect(step({ mustRun: true })).toEqual([label, 'exhausted'])
    })
  })

  it.each([
    ['that fails without the work as well', { baseline: { ...before('unknown'), isSame: true } }, false, true],
    [
      'that misses a build with and without the work',
      { baseline: { ...before('unknown'), isSame: true } },
      true,
      false,
    ],
    ['that misses a build since the work', { baseline: { state: 'passes', detail: 'it passes there' } }, true, true],
  ] as const)('%s, while the agent wrote the file where git ignores it', (_name, base, isBuilt, isTold) => {
    const unkept = [{ path: 'made.js', isFolder: false, asks: isBuilt }]
    const { facts } = diagnose(
      check({ stderr: 'made.js: missing', source: 'inferred', changed: ['a.js'], unkept, ...base }),
    )
    expect((facts as AnyFacts).feedback?.text.includes('made.js, but git ignores it') ?? false).toBe(isTold)
  })

  it.each([
    ['says nothing of its cause', { stdout: 'node quiet.js' }, true],
    ['misses what the task asks for', { stderr: 'sh: 0: cannot open tool.sh: No such file', asked: true }, true],
    ['misses a module that the task asks for', { stderr: "No module named 'add'", asked: true }, true],
    ['misses something else', { stderr: 'sh: 0: cannot open tool.sh: No such file' }, false],
    ['misses a module', { stderr: "No module named 'add'" }, false],
    ['was killed by the machine', { stderr: 'Killed', exitCode: 137, asked: true }, false],
  ] as const)('that is as red as on the base commit and %s is told once or not at all', (_name, more, isTold) => {
    const { label } = diagnose(check(more))
    const baseline = { ...before(label), isSame: true } as const
    const found = diagnose(check({ source: 'inferred', changed: ['a.js'], baseline, ...more }))
    const { feedback, unchanged } = found.facts as AnyFacts
    expect([feedback !== undefined, unchanged === true]).toEqual([isTold, isTold])
  })

  it('carries the command and how many checks remain', () => {
    expect(diagnose(check({ script: missing, remaining: 2 })).facts).toMatchObject({
      command: 'npm test',
      remaining: 2,
    })
  })

  it('that prints the words of a provider failure is still a failed check', () => {
    expect(diagnose(check({ stderr: 'Error: 529 overloaded, Not inside a trusted directory' })).label).toBe(
      'check_failed',
    )
  })

  it('shows the last line of stderr, else of stdout', () => {
    expect(diagnose(check({ stdout: 'a\nlast out\n', stderr: '' })).evidence).toBe('npm test: exit 1, last out')
    expect(diagnose(check({ stdout: 'out', stderr: 'first\r\nlast err\r\n\r\n' })).evidence).toBe(
      'npm test: exit 1, last err',
    )
    expect(diagnose(check({ exitCode: null, signal: 'SIGKILL' })).evidence).toBe('npm test: signal SIGKILL')
  })
})

describe('other evidence', () => {
  it.each<[Evidence, number, string, string]>([
    [
      { kind: 'policy', violations: [{ path: 'a', kind: 'outside', rule: 'src/**' }] },
      5,
      'policy_violation',
      'policy_violation',
    ],
    [{ kind: 'policy', violations: [] }, 5, 'policy_violation', 'policy_violation'],
    [{ kind: 'noChange', because: 'npm test does not pass', tree: 't' }, 3, 'no_changes', 'no_actionable_changes'],
    [{ kind: 'unverified', reason: 'no check ran' }, 4, 'not_verified', 'verification_command_failed'],
    [{ kind: 'budget', text: 'spent' }, 8, 'budget', 'budget_exceeded'],
    [{ kind: 'merge', conflicts: ['a.ts'], onto: 'c' }, 7, 'git_conflict', 'branch_diverged_requires_recreate'],
    [{ kind: 'leftRunning', processes: [{ pid: 7, name: 'a' }] }, 0, 'processes_left', 'environment_issue'],
    [{ kind: 'workspace', text: 'gone' }, 0, 'prepare', 'environment_issue'],
  ])('$kind', (evidence, rung, label, failureCode) => {
    expect(diagnose(evidence)).toMatchObject({ rung, label, failureCode, facts: {} })
  })
})

describe('signatures', () => {
  const same = (a: string, b: string): boolean => signatureOf('code', 'label', a) === signatureOf('code', 'label', b)

  it.each([
    ['temporary folders', 'cannot open /tmp/unstuck-Ab3/x.txt', 'cannot open /tmp/unstuck-Zz9/x.txt'],
    ['deep paths', "at '/home/a/state/run-1/workspace/src/x.ts'", "at '/home/b/state/run-2/workspace/src/x.ts'"],
    [
      'uuids',
      'request 123e4567-e89b-12d3-a456-426614174000 failed',
      'request 00000000-e89b-12d3-a456-426614174fff failed',
    ],
    ['commit ids', 'bad object 1a2b3c4', 'bad object 99ffee1deadbeef'],
    ['timestamps', 'at 2025-11-21T10:05:00Z: no', 'at 2026-01-02T23:59:59.123+02:00: no'],
    ['clock times', '[10:05:00] failed', '[23:59:59.5] failed'],
    ['durations', '3 failing (12.5 s)', '3 failing (900ms)'],
    ['process ids', 'pid 17 was killed', 'pid 4711 was killed'],
    ['colours and spaces', '\u001B[31mfailed\u001B[0m  here', 'failed here'],
  ])('do not differ by %s', (_name, a, b) => {
    expect(same(a, b)).toBe(true)
  })

  it.each([
    ['the number of failing tests', '47 failing', '3 failing'],
    ['the file of the repository', 'src/domain/store/a.test.ts failed', 'src/domain/store/b.test.ts failed'],
    ['the exit code', 'npm test: exit 1', 'npm test: exit 2'],
    ['the words', 'cannot find module x', 'cannot find module y'],
  ])('differ by %s', (_name, a, b) => {
    expect(same(a, b)).toBe(false)
  })

  it('differ by code and label', () => {
    expect(signatureOf('a', 'l', 'x')).not.toBe(signatureOf('b', 'l', 'x'))
    expect(signatureOf('a', 'l', 'x')).not.toBe(signatureOf('a', 'm', 'x'))
  })

  it('are bounded', () => {
    expect(signatureOf('a', 'l', 'x'.repeat(100_000)).length).toBeLessThan(400)
  })
})

describe('a check is dropped by a fact, never by what was printed', () => {
  const observed = (change: Partial<ObservedCheck>): Diagnosis =>
    diagnose({
      kind: 'check',
      check: {
        ...{ command: 'make test', source: 'inferred', exitCode: 2, signal: null, timedOut: false, remaining: 1 },
        ...{ stdout: '', stderr: '' },
        ...change,
      },
    })
  const make = { makefile: 'Makefile', missing: ['test'] }
  const isDroppable = ({ facts }: Diagnosis): boolean => (facts as { droppable?: true }).droppable === true
  const noRule = (target: string): string => `make: *** No rule to make target '${target}'.  Stop.`

  it.each([
    [true, 'test'],
    // The makefile includes the rule for `test`; what is missing is another one's.
    [false, 'generated'],
  ])('of make: %s where it does not know %s', (holds, target) => {
    const baseline = { state: 'unknown' as const, detail: 'nor there', label: 'missing_make_target' }
    expect(isDroppable(observed({ make, stderr: noRule(target), baseline }))).toBe(holds)
  })

  it.each([
    [true, { countedNone: true as const }],
    [true, { missingFile: 'no.test.js' }],
    [false, {}],
  ])('of a runner: %s with %j', (holds, fact) => {
    const baseline = { state: 'no tests' as const, detail: 'nor there' }
    const found = observed({
      command: 'npx jest',
      exitCode: 1,
      stdout: 'No tests found, exiting with code 1',
      baseline,
      ...fact,
    })
    expect([found.label, isDroppable(found)]).toEqual(['no_test_files', holds])
  })

  it.each([
    [{ spawnError: 'spawn nosuch ENOENT', exitCode: null }],
    [{ script: { name: 'lint', manifest: 'package.json', exists: false } }],
    [{ command: 'node no.js', missingFile: 'no.js', stderr: "Error: Cannot find module '/w/no.js'" }],
    [{ command: 'npx jest', missingFile: 'no.test.js', ranNothing: 'No tests found' }],
  ])('what cannot run is called that: %j', (change) => {
    expect(observed(change).evidence).toMatch(/^cannot run here: /)
  })
})
