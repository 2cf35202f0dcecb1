/** What lists and shows: the logs of a run, task or goal with its checks, and that `--json` prints JSON and nothing else. */
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { GoalView, TaskView } from '../../src/api/contract.ts'
import { openScene, type Scene } from '../hostile/scene.ts'

const entry = fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))

let scene: Scene
let goal: GoalView
let task: TaskView
let run = ''

beforeAll(async () => {
  const check = `import { readFileSync } from 'node:fs'
console.log('the check looked')
if (!readFileSync('src/work.txt', 'utf8').includes('done')) process.exit(1)
`
  scene = await openScene(['honest'], {
    files: { 'check.mjs': check },
    commands: { honest: ['sh', '-c', 'echo I write it; echo done > src/work.txt'] },
  })
  goal = await scene.work([{ title: 'Do the work '.repeat(12).trim() }])
  task = goal.tasks[0] as TaskView
  run = task.run?.id ?? ''
})
afterAll(() => scene.clear())

const linesOf = (text: string): unknown[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line): unknown => JSON.parse(line))

describe('logs', () => {
  test('take a run, its task, its goal, or --last, and show the check after the agent', async () => {
    const shown = await scene.here('logs', run)
    expect(shown.stdout).toMatch(
      /^--- launch 1 ---\ntext {7}I write it\n--- check \S*node check\.mjs: exit 0, \d\d:\d\d, .* ago, took .* ---\ncheck {6}the check looked\n$/,
    )
    for (const id of [task.id, goal.id, '--last'])
      expect((await scene.here('logs', id)).stdout).toContain(`--- ${run}: check `)
  })

  test('of what has ended are followed to their end', async () => {
    for (const id of [run, goal.id]) {
      const followed = await scene.here('logs', '-f', id)
      expect([followed.exitCode, followed.stdout]).toEqual([0, expect.stringContaining('the check looked')])
    }
  })
})

test('runs and tasks say when an attempt began, how it ended, and cut long titles', async () => {
  const [runs, tasks] = [await scene.here('runs'), await scene.here('tasks')]
  expect(runs.stdout).toMatch(new RegExp(`^${run}  \\d\\d:\\d\\d, .* ago, took .* succeeded: verified.*\n$`))
  expect(tasks.stdout).toMatch(/ Do the work (Do the work )+Do.*… \[t-\w+\] \d\d:\d\d, .* ago, took /)
})

test('runs are those in the states that are asked for', async () => {
  expect((await scene.here('runs', '--state', 'failed,success')).stdout).toContain(run)
  expect(await scene.here('runs', '--state', 'failed,running')).toMatchObject({ stdout: '', exitCode: 0 })
})

const commands = [
  ...['status', 'report', 'tasks', 'runs', 'events', 'doctor', 'harness', 'restore', 'clean --dry-run'],
  ...['logs {run}', 'logs --last', 'explain {task}', 'edit {task}', 'land {goal}', 'login-url'],
  'run x --dry-run',
  'retry {task}',
  // What goes wrong, from the parser to the engine.
  ...['status --nosuch', 'logs', 'logs g-nosuch', 'report --since x'],
  ...['run nosuch.json', 'exec --set x=1 -- true', 'exec -- no-such-program', 'nosuch'],
]

const filled = (line: string): string =>
  line.replace('{run}', run).replace('{task}', task.id).replace('{goal}', goal.id)

test.each(commands)('unstuck %s --json prints JSON alone', async (line) => {
  const [words, behind] = filled(line).split(' -- ')
  const args = [...(words ?? '').split(' '), '--json', ...(behind === undefined ? [] : ['--', ...behind.split(' ')])]
  // What guards another program is one itself.
  const { stdout, stderr, exitCode } = await (args[0] === 'exec' ? scene.cli(...args) : scene.here(...args))
  const lines = linesOf(stdout)
  if (exitCode !== 0 && stderr.startsWith('unstuck: '))
    expect(lines.at(-1)).toEqual({ error: { code: expect.any(String), message: expect.any(String) } })
  expect(lines).not.toEqual([])
})

test('a command that a signal stops ends its JSON as JSON', async () => {
  const child = execa(process.execPath, [entry, 'events', '-f', '--json'], {
    ...{ cwd: scene.root, env: scene.environment, extendEnv: false, reject: false },
  })
  child.stdout.once('data', () => child.kill('SIGINT'))
  const { stdout, exitCode } = await child
  expect([exitCode, linesOf(stdout).length > 0]).toEqual([130, true])
})
