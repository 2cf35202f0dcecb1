/**
 * Every failure code once, through the whole engine on a real repository: what it leads to, the events that tell of it, and
 * the verdict in the end. `external_directory_permission_prompt` is what `unstuck classify` says of another tool's log; a
 * refused directory of an agent of ours is `permission_or_auth_failure`.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { processesWithEnvironment } from '../../src/platform/process.ts'
import { markerName } from '../../src/process/find.ts'
import { openScene, type Scene } from '../recovery/scene.ts'

interface Row {
  code: string
  /** What the agent does; it writes made.txt where nothing else is said. */
  program?: string
  commands?: string[]
  task?: object
  /** The playbook that helps; absent = a person is asked. */
  recovery?: string
  /** Those that were tried in vain. */
  inVain?: string[]
}

const work = `put('made.txt', 'made')`
const once = (name: string, failure: string): string =>
  `begin(); if (count('TOP/${name}') === 1) { ${failure} } else { ${work}; end() }`
const done = `begin(); ${work}; end()`
/** What a check is answered with that fails by the work, as often as the agent is told. */
const told = ['check-feedback', 'fresh-feedback']

const rows: Row[] = [
  {
    code: 'verification_command_missing_script',
    commands: ['npm run nowhere', 'node check.js'],
    recovery: 'missing-script-drop',
  },
  {
    code: 'verification_command_missing_make_target',
    commands: ['make nowhere', 'node check.js'],
    recovery: 'make-target-drop',
  },
  {
    code: 'verification_command_unsupported_format',
    commands: ['node check.js | cat', 'node check.js'],
    recovery: 'unsupported-format-drop',
  },
  {
    code: 'verification_command_no_test_files',
    commands: ['node empty.js', 'node check.js'],
    recovery: 'no-tests-drop',
  },
  {
    code: 'verification_command_sequence_issue',
    commands: ['node built.js', 'npm run build'],
    recovery: 'sequence-reorder',
  },
  { code: 'setup_or_bootstrap_issue', commands: ['cd app && node use.js'], recovery: 'dependency-install' },
  { code: 'environment_issue', commands: ['node refused.js'] },
  {
    code: 'test_failure',
    program: `begin(); put('sum.js', 'module.exports = 3'); end()`,
    commands: ['node --test sum.test.js'],
    inVain: told,
  },
  { code: 'verification_command_failed', program: `begin(); put('other.txt', ''); end()`, inVain: told },
  { code: 'policy_violation', task: { allowedPaths: ['src/**'] }, inVain: ['policy-feedback'] },
  { code: 'no_actionable_changes', program: 'begin(); end()', inVain: ['no-change-restart'] },
  {
    code: 'permission_or_auth_failure',
    program: `begin(); end({ is_error: true, api_error_status: 401, result: 'API Error: 401' }); process.exit(1)`,
  },
  {
    code: 'model_or_unknown_failure',
    program: `begin(); end({ is_error: true, result: 'Something that nobody has a name for' }); process.exit(1)`,
    inVain: ['unknown-restart', 'unknown-requeue'],
  },
  {
    code: 'transient_or_flaky_failure',
    program: once(
      'overloads',
      `end({ is_error: true, api_error_status: 529, result: 'API Error: Repeated 529 Overloaded errors.' })`,
    ),
    recovery: 'transient-backoff',
  },
  {
    code: 'quota_failure',
    program: once(
      'quotas',
      `print({ type: 'assistant', error: 'rate_limit', message: { content: [{ type: 'text', text: "You've hit your limit" }] } })
       end({ is_error: true, api_error_status: 429, result: "You've hit your limit" })`,
    ),
    recovery: 'quota-wait',
  },
  {
    code: 'model_doom_loop',
    program: `begin()
      if (hinted) { ${work}; end() }
      else setInterval(() => { const id = 'c' + Math.random(); call(id, 'Bash', { command: 'ls' }); answered(id, 'x') }, 50)`,
    recovery: 'doom-loop-restart',
  },
  { code: 'timeout', program: `begin(); if (hinted) { ${work}; end() } else forever()`, recovery: 'stall-restart' },
]

const files = {
  'package.json': '{"scripts":{"build":"node build.js"}}',
  'build.js': `const fs = require('node:fs'); fs.mkdirSync('dist', { recursive: true }); fs.writeFileSync('dist/index.js', '')`,
  'built.js': `require('./dist/index.js')`,
  'empty.js': `console.log('collected 0 items')`,
  'refused.js': `console.error("Error: EACCES: permission denied, open '/etc/shadow'"); process.exit(1)`,
  'sum.js': 'module.exports = 2',
  'sum.test.js': `require('node:test').test('adds', () => require('node:assert').equal(require('./sum.js'), 2))`,
  Makefile: 'all:\n\ttrue\n',
  'app/package.json': '{"name":"app","version":"1.0.0","dependencies":{"tiny":"file:dep"}}',
  'app/package-lock.json': JSON.stringify({
    ...{ name: 'app', version: '1.0.0', lockfileVersion: 3, requires: true },
    packages: {
      '': { name: 'app', version: '1.0.0', dependencies: { tiny: 'file:dep' } },
      dep: { name: 'tiny', version: '1.0.0' },
      'node_modules/tiny': { resolved: 'dep', link: true },
    },
  }),
  'app/dep/package.json': '{"name":"tiny","version":"1.0.0"}',
  'app/dep/index.js': '',
  'app/use.js': `require('tiny')`,
}

const config = {
  retry: { transientBaseSeconds: 1, quotaBaseSeconds: 1 },
  stall: { silenceSeconds: 5 },
  maxParallel: 3,
}

// With a grandchild in a session of its own; on the base commit it passes.
const hang = `[ -f made.txt ] || exit 0
setsid sh -c 'echo $$ >> TOP/grandchildren; exec tail -f /dev/null' &
wait`

let scene: Scene
/** Of one check that has little time. */
let short: Scene
const goals: string[] = []
let outOfTime: string
beforeAll(async () => {
  const plain = { driver: 'claude' as const, program: done }
  short = await openScene({ plain }, { verify: { timeoutSeconds: 3 } }, { files: { 'hang.sh': hang } })
  outOfTime = await short.goal([{ commands: ['sh hang.sh'] }])
  const agents = Object.fromEntries(
    rows.map(({ code, program = done }) => [code.replaceAll('_', '-'), { driver: 'claude' as const, program }]),
  )
  // The second of two that begin on the same base meets the first one's line.
  const clashing = { driver: 'claude' as const, program: `begin(); put('made.txt', String(count('TOP/clash'))); end()` }
  scene = await openScene({ ...agents, clashing }, config, { files })
  for (const { code, commands, task = {} } of rows)
    goals.push(
      await scene.goal([
        { harness: code.replaceAll('_', '-'), ...(commands === undefined ? {} : { commands }), ...task },
      ]),
    )
}, 600_000)
afterAll(async () => {
  await short.clear()
  await scene.clear()
})

const look = async (row: Row) => {
  const goal = goals[rows.indexOf(row)] as string
  await scene.until(goal, 'ready', 'awaiting_human')
  const tried = await scene.recoveries(goal)
  return {
    status: (await scene.task(goal)).status,
    tried: tried.map(({ playbook, status }) => [playbook, status]),
    codes: tried.map(({ signature }) => signature.split('/')[0]),
    told: (await scene.events(goal, 'recovery')).map(({ payload }) => [payload['playbook'], payload['status']]),
    asked: (await scene.events(goal, 'task.recovery_escalated')).map(({ payload }) => payload['reason']),
    run: (await scene.runs(goal)).at(-1),
  }
}

describe('is recovered from', { timeout: 400_000 }, () => {
  test.each(rows.filter(({ recovery }) => recovery !== undefined))('$code by $recovery', async (row) => {
    const { status, tried, codes, told, asked, run } = await look(row)
    expect({ status, codes, tried, told, asked }).toEqual({
      ...{ status: 'done', codes: [row.code], asked: [] },
      ...{ tried: [[row.recovery, 'success']], told: [[row.recovery, 'success']] },
    })
    expect(run?.verdict?.outcome).toBe('verified')
  })
})

describe('goes to a person, and nothing of it is merged', { timeout: 400_000 }, () => {
  test.each(rows.filter(({ recovery }) => recovery === undefined))('$code', async (row) => {
    const { status, tried, told, asked, run } = await look(row)
    const vain = (row.inVain ?? []).map((playbook) => [playbook, 'failed'])
    expect({ status, tried, told, asked }).toEqual({
      ...{ status: 'blocked(awaiting_human)', asked: [row.code] },
      ...{ tried: vain, told: vain },
    })
    expect(run).toMatchObject({ state: 'failed', commit: null, errorMeta: { failureCode: row.code } })
    expect(run?.verdict?.outcome ?? 'not verified').not.toBe('nothing to verify')
  })
})

test(
  'branch_diverged_requires_recreate, work of two on one line, is done again on the newer base',
  { timeout: 400_000 },
  async () => {
    const goal = await scene.goal([{ harness: 'clashing' }, { harness: 'clashing' }])
    await scene.until(goal, 'ready', 'awaiting_human')
    const places = [(await scene.task(goal, 1)).place, (await scene.task(goal, 2)).place]
    expect(places).toEqual(['done', 'done'])
    expect(await scene.recoveries(goal)).toMatchObject([
      {
        playbook: 'newer-base-run',
        status: 'success',
        signature: expect.stringContaining('branch_diverged_requires_recreate'),
      },
    ])
    expect((await scene.questions()).filter(({ goalId }) => goalId === goal)).toEqual([])
  },
)

/** `timeout` is the code of an agent that stands still as well, which is restarted; of a check out of time the agent is told. */
describe('timeout of a check', { timeout: 400_000 }, () => {
  test('goes to a person: its whole tree is ended, and nothing is merged', async () => {
    const goal = outOfTime
    await short.until(goal, 'ready', 'awaiting_human')
    expect((await short.task(goal)).place).toBe('blocked(awaiting_human)')
    const [run, ...others] = await short.runs(goal)
    expect(others).toEqual([])
    const evidence = 'sh hang.sh ran out of time'
    expect(run).toMatchObject({
      ...{ state: 'failed', commit: null, errorMeta: { failureCode: 'timeout', source: 'verification', evidence } },
      verdict: { outcome: 'not verified', checks: [{ command: 'sh hang.sh', timedOut: true }] },
    })
    expect(run?.launches).toHaveLength(3)
    expect((await short.recoveries(goal)).map(({ playbook, status }) => [playbook, status])).toEqual(
      told.map((playbook) => [playbook, 'failed']),
    )
    expect((await short.events(goal, 'task.recovery_escalated')).map(({ payload }) => payload)).toEqual([
      { reason: 'timeout', label: 'timeout', evidence },
    ])
    expect((await short.events(goal, 'verify.baseline')).map(({ payload }) => payload)).toMatchObject([
      { command: 'sh hang.sh', blocks: true },
      { command: 'sh hang.sh', blocks: true },
      { command: 'sh hang.sh', blocks: true },
    ])
    expect(await short.questions()).toMatchObject([
      {
        ...{
          kind: 'exhausted',
          happened: expect.stringMatching(/^Task \d+ ".*" stopped: sh hang\.sh ran out of time\.$/),
        },
        question: expect.stringMatching(/Tried: sent the failure back to the agent .*\.$/),
      },
    ])
    expect(await short.events(goal, 'merge.enqueued')).toEqual([])
    const branches = ['main', `unstuck/goal/${goal}`].map((name) =>
      execFileSync('git', ['rev-parse', name], { cwd: short.root, encoding: 'utf8' }),
    )
    expect(branches[1]).toBe(branches[0])
    // Each time there was a tree to end.
    expect(readFileSync(join(short.top, 'grandchildren'), 'utf8').trim().split('\n').length).toBeGreaterThanOrEqual(3)
    expect(processesWithEnvironment(markerName, `${run?.id}-check`)).toEqual([])
  })
})
