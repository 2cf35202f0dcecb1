/** The second run of failed files, with a real vitest over a small project, as CI starts it; and what CI says last. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'

const repository = join(import.meta.dirname, '..', '..')
const root = mkdtempSync(join(tmpdir(), 'unstuck-suite-'))
const report = join(root, 'small.json')

/** Writes a line per run; fails the first time, by whatever `how` is. */
const failsOnce = (how: string): string => `
  import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
  import { it } from 'vitest'
  const first = !existsSync('NAME.ran')
  appendFileSync('NAME.ran', 'ran\\n')
  ${how}`

const files: Record<string, string> = {
  steady: `${failsOnce('')} it('a', () => {})`,
  flaky: `${failsOnce('')} it('is noisy', () => { if (first) throw new Error('the machine was busy') }); it('b', () => {})`,
  unloaded: `${failsOnce("if (first) throw new Error('no disk');")} it('a', () => {})`,
  late: `${failsOnce('')} it('a', async () => {
    if (first) { setImmediate(() => { throw new Error('late') }); await new Promise((done) => setTimeout(done, 50)) } })`,
  broken: `${failsOnce('')} it('never', () => { throw new Error('no') }); it('b', () => {})`,
}

const node = (program: string, args: string[], cwd: string) =>
  spawnSync(process.execPath, [join(repository, 'scripts', program), ...args], {
    cwd,
    env: { PATH: process.env.PATH },
    encoding: 'utf8',
  })

const runsOf = (name: string): number =>
  existsSync(join(root, 'tests', `${name}.ran`))
    ? readFileSync(join(root, 'tests', `${name}.ran`), 'utf8')
        .trim()
        .split('\n').length
    : 0

beforeAll(() => {
  const tests = join(root, 'tests')
  mkdirSync(tests)
  symlinkSync(join(repository, 'node_modules'), join(tests, 'node_modules'))
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(tests, `${name}.test.ts`), text.replaceAll('NAME', name))
  const project = "{ test: { name: 'small', fileParallelism: false } }"
  const fast = join(root, 'fast')
  mkdirSync(fast)
  symlinkSync(join(repository, 'node_modules'), join(fast, 'node_modules'))
  writeFileSync(join(fast, 'fine.test.ts'), `import { it } from 'vitest'\nit('a', () => {})`)
  writeFileSync(
    join(fast, 'dies.test.ts'),
    failsOnce("if (first) process.kill(process.pid, 'SIGKILL'); it('a', () => {})"),
  )
  const script = 'echo the test script ran && node node_modules/vitest/vitest.mjs run --project fast'
  writeFileSync(join(fast, 'package.json'), JSON.stringify({ scripts: { test: script } }))
  writeFileSync(join(fast, 'vitest.config.ts'), "export default { test: { projects: [{ test: { name: 'fast' } }] } }")
  writeFileSync(join(tests, 'vitest.config.ts'), `export default { test: { projects: [${project}] } }`)
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

it('runs each failed file once more, alone, and lists as flaky what passes then', () => {
  const suite = node('ci-suite.ts', ['--report', report, '--project', 'small', '.test.ts'], join(root, 'tests'))
  expect(suite.status, suite.stdout + suite.stderr).toBe(1)
  expect(Object.fromEntries(Object.keys(files).map((name) => [name, runsOf(name)]))).toEqual({
    steady: 1,
    flaky: 2,
    unloaded: 2,
    late: 2,
    broken: 2,
  })
  const { stdout } = node('ci-report.ts', [report, '--status', '1'], root)
  const lines = stdout
    .replaceAll(`${join(root, 'tests')}/`, '')
    .trim()
    .split('\n')
  expect(lines.filter((line) => line.startsWith('flaky: ')).sort()).toEqual([
    'flaky: flaky.test.ts: failed among the others, passed alone: is noisy',
    expect.stringMatching(/^flaky: late\.test\.ts: .*late/),
    'flaky: unloaded.test.ts: failed among the others, passed alone: no disk',
  ])
  expect(lines.filter((line) => line.startsWith('failed: '))).toEqual(['failed: broken.test.ts: never'])
  expect(lines.at(-1)).toBe('6 passed, 1 failed')
})

it('runs the fast suite by npm test, and once more the file whose process died', () => {
  const path = join(root, 'fast.json')
  const suite = node('ci-suite.ts', ['--report', path, '--project', 'unit', '--project', 'fast'], join(root, 'fast'))
  expect(suite.stdout).toContain('the test script ran')
  expect(suite.status, suite.stdout + suite.stderr).toBe(0)
  const { stdout } = node('ci-report.ts', [path, '--status', '0'], root)
  expect(stdout).toMatch(/^flaky: .*dies\.test\.ts: failed among the others, passed alone: .*\n2 passed, 0 failed\n$/)
})

it('counts a suite whose project is not there as one failed, without a second run', () => {
  const path = join(root, 'none.json')
  const suite = node('ci-suite.ts', ['--report', path, '--project', 'gone'], join(root, 'tests'))
  expect(suite.status).toBe(1)
  expect(suite.stdout).not.toContain('once more')
  expect(node('ci-report.ts', [path, '--status', '1'], root).stdout).toMatch(/^failed: .*\n0 passed, 1 failed\n$/)
})

it('ends with the plain line of counts, and a name in CI_ONLY that is none counts as failed', () => {
  const { status, stdout } = spawnSync(join(repository, '.ci', 'run'), [], {
    env: { PATH: process.env.PATH, CI_ONLY: 'no-such-suite' },
    encoding: 'utf8',
  })
  expect(status).toBe(1)
  expect(stdout.trimEnd().split('\n').slice(-2)).toEqual([
    'failed: CI_ONLY names no step or suite no-such-suite',
    '0 passed, 1 failed',
  ])
})
