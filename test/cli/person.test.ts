/** What a person changes about a task from the command line: a hint for the next attempts, and the task itself. */
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { GoalView, StoredEvent, TaskView } from '../../src/api/contract.ts'
import { openScene, until, type Scene } from '../hostile/scene.ts'

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

let scene: Scene
beforeAll(async () => {
  writeFileSync(program, agent)
  const command = [process.execPath, program, dir]
  scene = await openScene(['scripted', 'second'], {
    commands: { scripted: command, second: command },
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
const ran = async (...args: string[]): Promise<string> => {
  const { stdout, stderr, exitCode } = await scene.cli(...args)
  expect([exitCode, stderr]).toEqual([0, ''])
  return stdout
}
const payloadsOf = async (type: string): Promise<StoredEvent['payload'][]> =>
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
    ['too long', 'x'.repeat(1_001), /at most 1000 characters/],
    ['with a control character', 'red \u001b[31m', /control character/],
  ])('%s is refused, and nothing moves', async (_what, hint, wanted) => {
    const goal = await stuck()
    const { stderr, exitCode } = await scene.cli('retry', only(goal).id, '--hint', hint)
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(wanted)])
    expect(only(await now(goal)).place).toBe('blocked(awaiting_human)')
  })

  test('belongs to a task, not to a goal', async () => {
    const { stderr, exitCode } = await scene.cli('retry', 'g-1', '--hint', 'x')
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/--hint.*task/)])
  })
})
