import { describe, expect, test } from 'vitest'
import { diagnose } from './diagnosis.ts'
import type { ObservedCheck } from './evidence.ts'
import { nextStep, playbooks } from './ladder.ts'
import { faultOfMachine, measurementsFor, probeFindings } from './probe.ts'
import type { InstalledTree, Measurement } from './probes/measurement.ts'

const check = (more: Partial<ObservedCheck>): ObservedCheck => ({
  command: 'npm test',
  source: 'task',
  exitCode: 1,
  signal: null,
  timedOut: false,
  stdout: '',
  stderr: '',
  remaining: 1,
  ...more,
})

const taken = check({ stderr: 'Error: listen EADDRINUSE: address already in use :::3000' })
const missing = check({ stderr: "Error: Cannot find module 'left-pad'\nRequire stack:\n- /repo/index.js" })
const offline = check({
  command: 'npm ci',
  stderr:
    'npm error code ENOTFOUND\nnpm error request to https://packages.example/left-pad failed, reason: getaddrinfo ENOTFOUND packages.example',
})
const full = check({ stderr: 'Error: ENOSPC: no space left on device, write' })
const files = check({ stderr: "Error: EMFILE: too many open files, open '/repo/a.txt'" })
const oldRuntime = check({
  stderr: 'npm error code EBADENGINE\nnpm error engine Unsupported engine\nnpm error notsup Required: {"node":">=99"}',
})
const asserted = check({
  stdout: [
    '✖ adds (1.5ms)',
    '  AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:',
    "  + actual 'listen EADDRINUSE: address already in use :::3000'",
    'ℹ tests 1',
    'ℹ fail 1',
  ].join('\n'),
})

const place = (more: object): Measurement => ({
  probe: 'disk',
  places: [{ name: 'the workspace', path: '/w', freeMb: 900, totalMb: 1000, freeInodes: 5000, inodes: 9000, ...more }],
})
const tree = (more: Partial<InstalledTree>): InstalledTree => ({
  ecosystem: 'node',
  folder: '',
  lockfile: 'package-lock.json',
  state: 'same',
  differences: [],
  damage: [],
  ...more,
})
const installed = (trees: InstalledTree[], declared?: boolean): Measurement => ({
  probe: 'packages',
  trees,
  asked: declared === undefined ? undefined : { name: 'left-pad', declared },
})

const traceback = (file: string, name: string): string =>
  [
    'Traceback (most recent call last):',
    '  File "/repo/tests/test_cart.py", line 1, in <module>',
    '    import cart',
    `  File "${file}", line 3, in <module>`,
    `    import ${name}`,
    `ModuleNotFoundError: No module named '${name}'`,
  ].join('\n')
const python = (stderr: string, command = 'python3 -m pytest'): ObservedCheck => check({ command, stderr })

const ofCheckout = { probe: 'checkout', lines: expect.any(Array) }

describe('a failure asks', () => {
  test.each<[string, ObservedCheck, unknown[]]>([
    ['for its port', taken, [{ probe: 'port', port: 3000 }]],
    ['for its package', missing, [{ probe: 'packages', of: 'node', name: 'left-pad' }, ofCheckout]],
    ['for its hosts', offline, [{ probe: 'network', hosts: expect.arrayContaining(['packages.example']) }]],
    ['for the disk', full, [{ probe: 'disk' }]],
    ['for the file limit', files, [{ probe: 'files' }]],
    ['for versions', oldRuntime, [{ probe: 'runtime' }]],
    ['for memory, killed without a word', check({ exitCode: null, signal: 'SIGKILL' }), [{ probe: 'memory' }]],
    ['only for files of the checkout, where a test judged', asserted, [ofCheckout]],
    ['for nothing, out of time', check({ ...full, timedOut: true }), []],
    ['for nothing, without its script', check({ ...full, script: { name: 't', manifest: 'p', exists: false } }), []],
  ])('%s', (_, failed, questions) => expect(measurementsFor(failed)).toEqual(questions))

  test.each<[string, ObservedCheck, object[]]>([
    [
      'a module that a file of the project imports',
      python(traceback('/repo/cart.py', 'structlog')),
      [{ of: 'python', name: 'structlog' }],
    ],
    [
      'the same, as pytest tells it',
      check({
        command: 'make test',
        stdout:
          "tests/test_cart.py:1: in <module>\n    import structlog\nE   ModuleNotFoundError: No module named 'structlog'",
      }),
      [{ of: 'python', name: 'structlog' }],
    ],
    [
      'nothing by name, where an installed package imports it',
      python(traceback('/repo/.venv/lib/python3.11/site-packages/requests/compat.py', 'brotli')),
      [{ of: 'python' }],
    ],
    ['nothing by name, where no file is told', python("ModuleNotFoundError: No module named 'x'"), [{ of: 'python' }]],
    [
      'nothing by name, where it is the tool of the command line',
      python(traceback('/repo/run.py', 'pytest')),
      [{ of: 'python' }],
    ],
    ['nothing by name, of a missing tool', python('/usr/bin/python3: No module named pytest'), [{ of: 'python' }]],
    [
      'what Node says, whatever was started',
      check({ ...missing, command: 'python3 build.py' }),
      [{ of: 'node', name: 'left-pad' }],
    ],
    [
      'the vendored packages of Go',
      check({ command: 'go test ./...', stderr: 'go: inconsistent vendoring in /repo:' }),
      [{ of: 'go' }],
    ],
    [
      'nothing, where the environment is one of the command line',
      python(traceback('/repo/cart.py', 'structlog'), 'tox -e py311'),
      [],
    ],
    [
      'nothing, where packages lie outside the project',
      check({ command: 'cargo test', stderr: "error[E0463]: can't find crate for `serde`" }),
      [],
    ],
    [
      'all, where nothing tells',
      check({ command: 'make lint', stderr: 'make: lintall: No such file or directory' }),
      [{}],
    ],
  ])('about packages: %s', (...[, failed, questions]) =>
    expect(measurementsFor(failed).filter(({ probe }) => probe === 'packages')).toEqual(
      questions.map((question) => ({ probe: 'packages', ...question })),
    ),
  )

  test.each([
    ["OSError: [Errno 98] error while attempting to bind on address ('127.0.0.1', 8123): address already in use", 8123],
    ['panic: listen tcp :8080: bind: address already in use', 8080],
    ['Error: listen EADDRINUSE: address already in use 127.0.0.1:4000', 4000],
  ])('for the port of "%s"', (stderr, port) =>
    expect(measurementsFor(check({ stderr }))).toContainEqual({ probe: 'port', port }),
  )

  test('for the port of a service of this machine alone', () => {
    const refused = (host: string) => check({ stderr: `Error: connect ECONNREFUSED ${host}:5432` })
    expect(measurementsFor(refused('127.0.0.1'))).toEqual([{ probe: 'port', port: 5432 }])
    expect(measurementsFor(refused('10.0.0.7'))).toEqual([])
  })
})

describe('a reading points', () => {
  test.each<[string, ObservedCheck, Measurement, string, RegExp]>([
    [
      'a disk without room',
      full,
      place({ freeMb: 0.4, totalMb: 1 }),
      'environment',
      /the workspace \(\/w\) has 0 MB of 1 MB free/,
    ],
    ['a disk without inodes', full, place({ freeInodes: 0 }), 'environment', /has 0 of 9000 inodes free/],
    ['inodes made as they are needed', full, place({ freeInodes: 0, inodes: 0 }), 'neither', /there is free space now/],
    ['a disk with room', full, place({}), 'neither', /there is free space now: 900 MB/],
    [
      'a kill by the kernel',
      check({ signal: 'SIGKILL' }),
      { probe: 'memory', killed: 1, freeMb: 120 },
      'environment',
      /ran out of memory and ended 1 process\(es\)/,
    ],
    [
      'a kill by somebody else',
      check({ signal: 'SIGKILL' }),
      { probe: 'memory', killed: 0, freeMb: 120 },
      'neither',
      /ended no process/,
    ],
    [
      'a taken port',
      taken,
      { probe: 'port', port: 3000, owner: { pid: 7, program: 'postgres' } },
      'environment',
      /port 3000 is in use by postgres \(pid 7, not started by Unstuck\)/,
    ],
    [
      'a port taken by a run',
      taken,
      { probe: 'port', port: 3000, owner: { pid: 7, program: 'node', of: 'this very run' } },
      'environment',
      /node \(pid 7, started by this very run\)/,
    ],
    [
      'a port that is free by now',
      taken,
      { probe: 'port', port: 3000, owner: null },
      'neither',
      /no process listens on port 3000 any more/,
    ],
    [
      'a service that is down',
      check({ stderr: 'Error: connect ECONNREFUSED 127.0.0.1:5432' }),
      { probe: 'port', port: 5432, owner: null },
      'environment',
      /no process listens on port 5432 of this machine/,
    ],
    [
      'an unreachable registry',
      offline,
      {
        probe: 'network',
        targets: [{ host: 'packages.example', port: 443, from: '.npmrc', trouble: 'getaddrinfo ENOTFOUND' }],
      },
      'environment',
      /packages\.example:443 \(\.npmrc\) cannot be reached: getaddrinfo ENOTFOUND/,
    ],
    [
      'a registry that answers',
      offline,
      { probe: 'network', targets: [{ host: 'packages.example', port: 443, from: '.npmrc', trouble: undefined }] },
      'neither',
      /responds now/,
    ],
    [
      'nothing installed',
      missing,
      installed([tree({ state: 'absent' })], true),
      'environment',
      /node_modules does not exist/,
    ],
    [
      'a stale tree',
      missing,
      installed([tree({ state: 'differs', differences: ['left-pad is missing'] })], true),
      'environment',
      /does not match package-lock\.json: left-pad is missing/,
    ],
    [
      'a damaged tree',
      missing,
      installed([tree({ damage: ['left-pad has no package.json'] })], true),
      'environment',
      /is damaged: left-pad has no package\.json/,
    ],
    [
      'a package that nothing declares',
      missing,
      installed([tree({})], false),
      'work',
      /no manifest or lockfile of the project declares left-pad/,
    ],
    [
      'a declared package',
      missing,
      installed([tree({})], true),
      'neither',
      /the installed packages match package-lock\.json/,
    ],
    [
      'a stale virtual environment',
      python(traceback('/repo/cart.py', 'structlog')),
      installed([
        tree({
          ecosystem: 'python',
          lockfile: 'requirements.txt',
          state: 'differs',
          differences: ['x is not installed'],
        }),
      ]),
      'environment',
      /^\.venv does not match requirements\.txt: x is not installed$/,
    ],
    [
      'a module that nothing declares',
      python(traceback('/repo/cart.py', 'structlog')),
      {
        probe: 'packages',
        trees: [tree({ ecosystem: 'python', lockfile: 'requirements.txt' })],
        asked: { name: 'structlog', declared: false },
      },
      'work',
      /declares structlog, and the installed packages match requirements\.txt/,
    ],
    [
      'a module of which nothing can be told',
      python(traceback('/repo/cart.py', 'yaml')),
      {
        probe: 'packages',
        trees: [tree({ ecosystem: 'python', lockfile: 'requirements.txt' })],
        asked: { name: 'yaml', declared: undefined },
      },
      'neither',
      /^the installed packages match requirements\.txt$/,
    ],
    [
      'vendored packages, which may be part of the work',
      check({ command: 'go test ./...', stderr: 'go: inconsistent vendoring in /repo:' }),
      installed([
        tree({ ecosystem: 'go', folder: 'cmd', lockfile: 'go.mod', state: 'differs', differences: ['m is missing'] }),
      ]),
      'neither',
      /^cmd\/vendor does not match go\.mod: m is missing$/,
    ],
    [
      'another version',
      oldRuntime,
      { probe: 'runtime', requirements: [{ tool: 'node', wanted: '>=99', file: 'package.json', found: '24.1.0' }] },
      'environment',
      /package\.json requires node >=99, and 24\.1\.0 is installed/,
    ],
    [
      'a missing tool',
      oldRuntime,
      { probe: 'runtime', requirements: [{ tool: 'go', wanted: '>=1.22', file: 'go.mod', found: null }] },
      'environment',
      /go\.mod requires go >=1\.22, and it is not installed/,
    ],
    [
      'a low limit of files',
      files,
      { probe: 'files', soft: 64, hard: 4096 },
      'environment',
      /64 files open \(hard limit 4096\)/,
    ],
    ['a high limit of files', files, { probe: 'files', soft: 1_048_576, hard: Infinity }, 'neither', /which is enough/],
  ])('%s', (...[, failed, reading, points, text]) =>
    expect(probeFindings({ ...failed, measurements: [reading] })).toEqual([
      { probe: reading.probe, points, text: expect.stringMatching(text) },
    ]),
  )

  test('nowhere where it does not know: a tree of unknown state, versions that cannot be read', () => {
    expect(probeFindings({ ...missing, measurements: [installed([tree({ state: 'unknown' })], false)] })).toEqual([])
    // Whose packages the failure is about was not told.
    const stale = tree({ ecosystem: 'python', state: 'differs', differences: ['x is not installed'] })
    expect(probeFindings({ ...missing, measurements: [installed([tree({}), stale])] })).toEqual([])
    const requirements = [{ tool: 'node', wanted: 'lts/*', file: '.nvmrc', found: '24.1.0' }]
    expect(probeFindings({ ...oldRuntime, measurements: [{ probe: 'runtime', requirements }] })).toEqual([])
  })
})

const diagnosed = (failed: ObservedCheck, ...readings: Measurement[]) =>
  diagnose({ kind: 'check', check: { ...failed, measurements: readings } })

describe('the diagnosis', () => {
  test('has the findings in its evidence but not in its signature', () => {
    const found = (pid: number) => diagnosed(taken, { probe: 'port', port: 3000, owner: { pid, program: 'node' } })
    expect(found(7)).toMatchObject({
      label: 'port_in_use',
      category: 'env',
      evidence: expect.stringContaining(
        'EADDRINUSE: address already in use :::3000; port 3000 is in use by node (pid 7,',
      ),
      facts: { machine: expect.stringContaining('port 3000 is in use') },
    })
    expect(found(7).signature).toBe(found(8).signature)
    expect(found(7).signature).toBe(diagnosed(taken).signature)
  })

  test('is a failed check of the work if nothing declares the missing package', () => {
    expect(diagnosed(missing)).toMatchObject({ label: 'dependency_missing', category: 'setup' })
    expect(diagnosed(missing, installed([tree({})], false))).toMatchObject({
      label: 'check_failed',
      failureCode: 'verification_command_failed',
      category: 'test',
      evidence: expect.stringContaining('declares left-pad'),
    })
    // What is broken first is mended first.
    const damaged = installed([tree({ damage: ['x has no package.json'] })], false)
    expect(diagnosed(missing, damaged)).toMatchObject({ label: 'dependency_missing' })
  })

  test('is an outage only if confirmed: the output of a check is no reason to wait', () => {
    const reset = check({ command: 'npm ci', stderr: 'npm error code ECONNRESET\nnpm error network read ECONNRESET' })
    const away = { host: 'packages.example', port: 443, from: '.npmrc', trouble: 'connect ETIMEDOUT' }
    expect(diagnosed(reset)).toMatchObject({ label: 'check_failed' })
    expect(diagnosed(reset, { probe: 'network', targets: [{ ...away, trouble: undefined }] })).toMatchObject({
      label: 'check_failed',
    })
    expect(diagnosed(reset, { probe: 'network', targets: [away] })).toMatchObject({
      label: 'network_unreachable',
      failureCode: 'environment_issue',
    })
  })

  test('leads to a wait if a probe confirmed the outage, and to a question if only the check reports it', () => {
    const retry = {
      ...{ transientBaseSeconds: 60, transientMaxSeconds: 600, transientLimit: 5 },
      ...{ quotaBaseSeconds: 60, quotaMaxSeconds: 600 },
    }
    const step = (...readings: Measurement[]) =>
      nextStep(diagnosed(offline, ...readings), [], { playbooks, disabled: [], retry }, { id: 't', runId: 'r' })
    const target = { host: 'packages.example', port: 443, from: '.npmrc', trouble: 'getaddrinfo ENOTFOUND' }
    expect(step({ probe: 'network', targets: [target] })).toMatchObject({
      ...{ kind: 'recover', action: { type: 'wait', count: 1, forChecks: true } },
      postCondition: { type: 'remaining_checks_pass' },
    })
    expect(step({ probe: 'network', targets: [{ ...target, trouble: undefined }] })).toMatchObject({
      kind: 'exhausted',
    })
    expect(step()).toMatchObject({ kind: 'exhausted', then: 'escalate' })
  })

  test('stays a test failure of the work even if the machine lacks something', () => {
    const everything: Measurement[] = [
      place({ freeMb: 0 }),
      { probe: 'memory', killed: 3, freeMb: 1 },
      { probe: 'port', port: 3000, owner: { pid: 7, program: 'node' } },
      { probe: 'network', targets: [{ host: 'h', port: 1, from: 'f', trouble: 't' }] },
      installed([tree({ state: 'absent' })], true),
      { probe: 'runtime', requirements: [{ tool: 'node', wanted: '>=99', file: '.nvmrc', found: '24.1.0' }] },
      { probe: 'files', soft: 4, hard: 4 },
    ]
    expect(diagnosed(asserted, ...everything)).toMatchObject({
      label: 'test_failure',
      failureCode: 'test_failure',
      category: 'test',
      facts: { command: 'npm test', remaining: 1 },
    })
    expect(diagnosed(asserted, ...everything).facts).not.toHaveProperty('machine')
    expect(diagnosed(check({ stdout: 'boom' }), ...everything)).toMatchObject({ label: 'check_failed' })
  })
})

test.each([
  ['missing_env_var', 'Error: API_URL is not set'],
  ['network_unreachable', 'getaddrinfo EAI_AGAIN registry.internal.example'],
  ['disk_full', 'ENOSPC: no space left on device, write'],
])(
  '%s on the base commit too: after a retry only the checks run, because no agent can put that right',
  (label, stderr) => {
    const failed = check({ command: 'node check.js', stderr })
    const baseline = { state: 'unknown' as const, detail: '', label }
    expect(faultOfMachine({ ...failed, baseline })).toEqual({ label, probe: 'base' })
    for (const other of [undefined, { ...baseline, label: 'test_failure' }])
      expect(faultOfMachine({ ...failed, ...(other === undefined ? {} : { baseline: other }) })).toBeUndefined()
  },
)
