/** What a person changes about a task from the command line: a hint for the next attempts, and the task itself. */
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { GoalRequest, GoalView, Run, EventView, TaskView } from '../../src/api/contract.ts'
import { openScene, standardTask, until, type Scene } from '../hostile/scene.ts'

/** Keeps each prompt, waits while a file says so, and does the work. */
const agent = `
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
const [dir, prompt] = process.argv.slice(2)
const count = readdirSync(dir).filter((name) => name.startsWith('prompt-')).length + 1
writeFileSync(join(dir, 'prompt-' + count), prompt)
const work = () => writeFileSync('src/work.txt', 'done ' + count + '\\n')
const wait = () => (existsSync(join(dir, 'hold')) ? setTimeout(wait, 20) : work())
wait()
`

/** Passes until somebody works: no attempt can ever make it pass. */
const never =
  "import { readFileSync } from 'node:fs'\nif (readFileSync('src/work.txt', 'utf8').includes('done')) process.exit(1)\n"

const dir = mkdtempSync(join(tmpdir(), 'unstuck-person-'))
const program = join(dir, 'agent.mjs')
const prompts = (): string[] =>
  readdirSync(dir)
    .filter((name) => name.startsWith('prompt-'))
    .toSorted((a, b) => Number(a.slice(7)) - Number(b.slice(7)))
    .map((name) => readFileSync(join(dir, name), 'utf8'))
const held = join(dir, 'hold')

let scene: Scene
beforeAll(async () => {
  writeFileSync(program, agent)
  const command = [process.execPath, program, dir]
  scene = await openScene(['scripted', 'second'], {
    commands: { scripted: command, second: command },
    // One start of the agent in an attempt: what a person changes is for the next attempt.
    config: { playbooks: { disabled: ['check-feedback', 'fresh-feedback'] } },
    files: { 'never.mjs': never },
  })
})
afterAll(async () => {
  await scene.clear()
  rmSync(dir, { recursive: true })
})
beforeEach(async () => scene.begin())

const only = (goal: GoalView): TaskView => goal.tasks[0] as TaskView
const now = async ({ id }: GoalView): Promise<GoalView> => scene.api<GoalView>(`/goals/${id}`)
const inState = (goal: GoalView, ...states: string[]): Promise<GoalView> =>
  until(
    async () => {
      const found = await now(goal)
      return states.includes(found.state) ? found : undefined
    },
    `goal ${goal.id} to be ${states.join(' or ')}`,
  )
const stuck = async (): Promise<GoalView> => {
  const goal = await scene.work([{ commands: ['node never.mjs'] }])
  expect(goal.state).toBe('awaiting_human')
  return goal
}
/** A goal whose agent waits until it is let go. */
const begun = async (commands: string[]): Promise<GoalView> => {
  const before = prompts().length
  writeFileSync(held, '')
  const goal = await scene.api<GoalView>('/goals', {
    input: {
      ...{ title: 'A goal', requirement: 'work', allowedDirs: [], warnings: [] },
      tasks: [{ ...standardTask, commands }],
    },
    options: { autoMerge: false, repoMode: 'local', allowedDirs: [], harness: null, limits: {} },
  } satisfies GoalRequest)
  await until(async () => (prompts().length > before ? true : undefined), 'the agent')
  return now(goal)
}
const ran = async (...args: string[]): Promise<string> => {
  const { stdout, stderr, exitCode } = await scene.here(...args)
  expect([exitCode, stderr]).toEqual([0, ''])
  return stdout
}
const payloadsOf = async (type: string): Promise<EventView['payload'][]> =>
  (await scene.events(type)).map(({ payload }) => payload)

describe('a hint', () => {
  test('is in the prompt of every attempt after it, in the event, and never holds a secret', async () => {
    const goal = await stuck()
    const secret = `ghp_${'a1B2'.repeat(9)}`
    await ran('retry', only(goal).id, '--hint', `Use tabs; the token is ${secret}`)
    const again = await inState(await now(goal), 'awaiting_human')
    const said = 'Use tabs; the token is [redacted]'
    expect(only(again).hint).toBe(said)
    expect(prompts().at(-1)).toContain(`A person says: ${said}`)
    expect(await payloadsOf('task.requeued')).toContainEqual(
      expect.objectContaining({ reason: 'manual_requeue', hint: said, by: userInfo().username }),
    )
    // A retry without one keeps it, an empty one takes it away.
    await ran('retry', only(goal).id)
    await inState(await now(goal), 'awaiting_human')
    expect(prompts().at(-1)).toContain(`A person says: ${said}`)
    await ran('retry', only(goal).id, '--hint', '')
    expect(only(await inState(await now(goal), 'awaiting_human')).hint).toBeNull()
    expect(prompts().at(-1)).not.toContain('A person says')
  })

  test.each([
    ['too long', 'x'.repeat(1_001), /1001 characters; at most 1000/],
    ['with a control character', 'red \u001b[31m', /control character/],
  ])('%s is refused, and nothing moves', async (_what, hint, wanted) => {
    const goal = await stuck()
    const { stderr, exitCode } = await scene.here('retry', only(goal).id, '--hint', hint)
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(wanted)])
    expect(only(await now(goal)).place).toBe('blocked(awaiting_human)')
  })

  test('belongs to a task, not to a goal', async () => {
    const { stderr, exitCode } = await scene.here('retry', 'g-1', '--hint', 'x')
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/--hint.*task/)])
  })
})

describe('an edit', () => {
  test('of a check that can never pass, with a retry, brings the task to its end; the event says who, what and why', async () => {
    const goal = await stuck()
    const { id } = only(goal)
    const said = await ran('edit', id, '--check', 'node check.mjs', '--why', 'never.mjs cannot pass', '--retry')
    expect(said).toMatch(/checks/)
    const ready = await inState(await now(goal), 'ready', 'awaiting_human')
    expect([ready.state, only(ready).place]).toEqual(['ready', 'done'])
    expect(only(ready)).toMatchObject({ commands: ['node check.mjs'], originalCommands: ['node check.mjs'] })
    expect(await payloadsOf('task.edited')).toEqual([
      {
        by: userInfo().username,
        why: 'never.mjs cannot pass',
        counts: 'now',
        widened: [],
        changes: [{ field: 'commands', before: ['node never.mjs'], after: ['node check.mjs'] }],
      },
    ])
    const [run] = (await scene.api<Run[]>(`/runs?task=${id}`)).toReversed()
    expect(run?.verdict?.dropped).toEqual([])
    expect(await ran('explain', id)).toMatch(/changed the checks.*never\.mjs cannot pass/)
  })

  test('without the retry says how to go on, and a wait for a person stays one', async () => {
    const goal = await stuck()
    const { id } = only(goal)
    expect(await ran('edit', id, '--title', 'Write it')).toContain(`unstuck retry ${id}`)
    expect(only(await now(goal))).toMatchObject({ title: 'Write it', status: 'blocked(awaiting_human)' })
    expect(await ran('edit', id)).toMatch(/Write it[\s\S]*node never\.mjs[\s\S]*--add-path/)
  })

  test('while the task runs leaves the run alone, and its next attempt begins with it', async () => {
    const goal = await begun(['node never.mjs'])
    const { id } = only(goal)
    const args = ['--check', 'node check.mjs', '--text', 'Write the word.', '--harness', 'second']
    expect(await ran('edit', id, ...args)).toMatch(/next run/)
    expect(only(await now(goal))).toMatchObject({
      status: 'running',
      commands: ['node never.mjs'],
      harness: 'scripted',
    })
    rmSync(held)
    const asked = await inState(goal, 'awaiting_human', 'ready')
    // The attempt that was under way was judged by the check that it began with.
    expect(only(asked)).toMatchObject({
      status: 'blocked(awaiting_human)',
      commands: ['node check.mjs'],
      pendingEdit: null,
    })
    await ran('retry', id)
    expect(only(await inState(await now(goal), 'awaiting_human', 'ready')).place).toBe('done')
    expect(prompts().at(-1)).toMatch(/Write the word\.[\s\S]*node check\.mjs/)
    expect((await scene.api<Run[]>(`/runs?task=${id}`)).at(-1)?.harness).toBe('second')
    expect(existsSync(held)).toBe(false)
  })

  test('of what has ended, or with a value that a task cannot have, is refused and changes nothing', async () => {
    const goal = await stuck()
    const { id } = only(goal)
    const before = only(await now(goal))
    const refused = async (wanted: RegExp, ...args: string[]): Promise<void> => {
      const { stderr, exitCode } = await scene.here('edit', id, ...args)
      expect([exitCode, stderr]).toEqual([expect.any(Number), expect.stringMatching(wanted)])
      expect(exitCode).not.toBe(0)
    }
    await refused(/allowedPaths\[0\].*\.\./, '--path', '../other/**')
    await refused(/checks?.*without a shell/, '--check', 'cat a | grep b')
    await refused(/no harness "thrid"/, '--harness', 'thrid')
    await refused(/model/, '--model=-x')
    await refused(/secret/, '--text', `use ghp_${'a1B2'.repeat(9)}`)
    await refused(/--why and --retry need a change/, '--why', 'because')
    expect(only(await now(goal))).toEqual({ ...before, changedAt: before.changedAt })
    await ran('cancel', id)
    await refused(/is cancelled/, '--title', 'x')
    expect(await payloadsOf('task.edited')).toEqual([])
  })
})

test('paths are widened with a reason only, and narrowed without', async () => {
  const goal = await scene.work([
    { commands: ['node never.mjs'], allowedPaths: ['src/**'], deniedPaths: ['src/secret'] },
  ])
  const { id } = only(goal)
  expect(await ran('edit', id, '--path', 'src/work.txt')).toMatch(/paths/)
  for (const args of [['--add-path', 'docs/**'], ['--no-deny']]) {
    const { stderr, exitCode } = await scene.here('edit', id, ...args)
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/--why/)])
  }
  await ran('edit', id, '--add-path', 'docs/**', '--deny', 'docs/old', '--why', 'the guide belongs to it')
  expect(only(await now(goal))).toMatchObject({
    allowedPaths: ['src/work.txt', 'docs/**'],
    deniedPaths: ['docs/old'],
    areas: ['docs', 'src/work.txt'],
  })
  expect((await payloadsOf('task.edited')).map(({ widened }) => widened)).toEqual([
    [],
    ['docs/**', 'src/secret (no longer denied)'],
  ])
})
