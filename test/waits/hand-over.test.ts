/** A person does a task themselves: takes it over in a folder, and gives it back to be checked and landed. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { DoctorView, Escalation, EventView, GoalView, Run, StatusView, TaskView } from '../../src/api/contract.ts'
import { filesAt, openScene, type Scene } from '../hostile/scene.ts'
import { isLongForm } from '../support/form.ts'
import { user } from '../workspace/scene.ts'

/** Writes what no check lets pass. */
const agent = `
import { appendFileSync, writeFileSync } from 'node:fs'
appendFileSync(process.argv[2], process.argv.at(-1) + '\\n')
writeFileSync('src/work.txt', 'wrong ' + Date.now() + '\\n')
writeFileSync('src/agent.txt', 'by the agent\\n')
`
const check = `
import test from 'node:test'
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
test('the word is there', () => assert.match(readFileSync('src/work.txt', 'utf8'), /done/))
`
const daemon = join(import.meta.dirname, '..', 'support', 'daemon.ts')

const dir = mkdtempSync(join(tmpdir(), 'unstuck-hand-over-'))
const program = join(dir, 'agent.mjs')
const prompts = join(dir, 'prompts')

let scene: Scene
beforeAll(async () => {
  writeFileSync(program, agent)
  scene = await openScene(['scripted'], {
    commands: { scripted: [process.execPath, program, prompts] },
    // One start of the agent in an attempt, which cannot help.
    config: { playbooks: { disabled: ['check-feedback', 'fresh-feedback'] } },
    files: { 'word.test.mjs': check },
  })
})
afterAll(async () => {
  await scene.clear()
  rmSync(dir, { recursive: true })
})
beforeEach(async () => scene.begin())

const until = async <T>(look: () => Promise<T | undefined>, what: string): Promise<T> => {
  for (const end = performance.now() + 60_000; performance.now() < end;) {
    const found = await look()
    if (found !== undefined) return found
    await delay(50)
  }
  throw new Error(`waited too long for ${what}`)
}

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
const stuck = async (more: object = {}): Promise<GoalView> => {
  const goal = await scene.work([{ commands: ['node --test word.test.mjs'], ...more }])
  expect([goal.state, only(goal).place]).toEqual(['awaiting_human', 'blocked(awaiting_human)'])
  return goal
}
const ran = async (...args: string[]): Promise<string> => {
  const { stdout, stderr, exitCode } = await scene.here(...args)
  expect([exitCode, stderr]).toEqual([0, ''])
  return stdout
}
const takeOver = async (id: string): Promise<string> => {
  const [first = ''] = (await ran('take-over', id)).split('\n')
  expect(first).toMatch(/^cd \S+$/)
  return first.slice('cd '.length)
}
const runsOf = (id: string): Promise<Run[]> => scene.api<Run[]>(`/runs?task=${id}`)
const payloadsOf = async (type: string): Promise<EventView['payload'][]> =>
  (await scene.events(type)).map(({ payload }) => payload)

describe('a task that a person has taken over', () => {
  test('has a next step, and lands when the work is given back', async () => {
    // Who gave the work back has approved it, whoever judges the work of agents.
    const goal = await stuck({ judge: 'human' })
    const { id } = only(goal)
    const folder = await takeOver(id)
    expect(await takeOver(id)).toBe(folder)
    // What the last run left.
    expect(readFileSync(join(folder, 'src/agent.txt'), 'utf8')).toBe('by the agent\n')
    expect((await scene.here('status')).stdout).toContain(`taken over by you in ${folder}: unstuck give-back ${id}`)
    expect((await scene.api<DoctorView>('/doctor')).checks.filter(({ ok }) => !ok)).toEqual([])
    writeFileSync(join(folder, 'src/work.txt'), 'done by hand\n')
    writeFileSync(join(folder, 'src/new.txt'), 'untracked\n')
    const launched = readFileSync(prompts, 'utf8')
    expect(await ran('give-back', id)).toContain('is being checked')
    const landed = await inState(goal, 'ready', 'awaiting_human')
    expect([landed.state, only(landed)]).toMatchObject(['ready', { status: 'done', takenOver: null }])
    expect(filesAt(scene.root, landed.branch)).toContain('src/new.txt')
    expect(user(scene.root, 'show', `${landed.branch}:src/work.txt`)).toContain('done by hand')
    const last = (await runsOf(id)).at(-1)
    expect(last).toMatchObject({ launches: [], state: 'success', verdict: { outcome: 'verified' } })
    expect(readFileSync(prompts, 'utf8')).toBe(launched)
    expect(await payloadsOf('task.given_back')).toEqual([expect.objectContaining({ by: userInfo().username, folder })])
    await scene.expectUnharmed()
  })

  test.runIf(isLongForm)(
    'is asked about again with the failing test, and the files stay; a retry goes on from them',
    async () => {
      const goal = await stuck()
      const { id } = only(goal)
      const folder = await takeOver(id)
      writeFileSync(join(folder, 'src/work.txt'), 'not yet\n')
      writeFileSync(join(folder, 'src/mine.txt'), 'mine\n')
      await ran('give-back', id)
      const asked = await until(async () => {
        const all = await runsOf(id)
        const found = await now(goal)
        return all.at(-1)?.launches.length === 0 && found.state === 'awaiting_human' ? found : undefined
      }, 'the question')
      expect(only(asked).takenOver).toMatchObject({ folder, givenBack: false })
      const [question] = (await scene.status()).escalations.filter(
        ({ taskId, state }) => taskId === id && state === 'pending',
      )
      expect(question?.question).toMatch(/Your work on task 1 .*the word is there/)
      expect(question?.details).toContain(`unstuck give-back ${id}`)
      expect(readFileSync(join(folder, 'src/work.txt'), 'utf8')).toBe('not yet\n')
      // The choice of the question is the same as the command.
      const answered = await scene.api<Escalation & { line: string | null }>(`/escalations/${question?.id}/answer`, {
        choice: 'take_over',
      })
      expect([answered.line, answered.state]).toEqual([`cd ${folder}`, 'resolved'])
      expect(only(await now(goal))).toMatchObject({ status: 'blocked(awaiting_human)', takenOver: { folder } })
      // Nothing of what the person did is lost when agents get the task back.
      await ran('retry', id)
      const again = await inState(await now(goal), 'awaiting_human')
      expect(only(again).takenOver).toBeNull()
      const workspace = join(scene.stateDir, 'runs', (await runsOf(id)).at(-1)?.id ?? '', 'workspace')
      expect(readFileSync(join(workspace, 'src/mine.txt'), 'utf8')).toBe('mine\n')
      expect(readFileSync(prompts, 'utf8')).toContain('A person worked on this task before you')
    },
  )

  test.runIf(isLongForm)('may change no other path than an agent, and can be cancelled', async () => {
    const goal = await stuck({ allowedPaths: ['src/**'] })
    const { id } = only(goal)
    const folder = await takeOver(id)
    writeFileSync(join(folder, 'src/work.txt'), 'done\n')
    writeFileSync(join(folder, 'README.md'), 'elsewhere\n')
    await ran('give-back', id)
    const asked = await until(async () => {
      const found = await now(goal)
      return (await runsOf(id)).at(-1)?.errorMeta?.policyViolations !== undefined && found.state === 'awaiting_human'
        ? found
        : undefined
    }, 'the refusal')
    const [question] = (await scene.status()).escalations.filter(
      ({ taskId, state }) => taskId === id && state === 'pending',
    )
    expect(question?.question).toMatch(/README\.md/)
    expect(only(asked).place).toBe('blocked(awaiting_human)')
    await ran('cancel', id)
    expect(only(await now(goal))).toMatchObject({ status: 'cancelled', takenOver: null })
    const { stderr, exitCode } = await scene.here('give-back', id)
    expect([exitCode, stderr]).toEqual([expect.any(Number), expect.stringContaining(`unstuck take-over ${id}`)])
    expect(existsSync(folder)).toBe(true)
  })
})

test.runIf(isLongForm)(
  'a task that no agent has begun is laid out as well, and cleaning leaves its folder alone',
  async () => {
    const commands = ['node --test word.test.mjs']
    const goal = await scene.work([{ commands }, { commands, after: ['1'] }])
    const { id, place } = goal.tasks[1] as TaskView
    expect(place).toBe('queued')
    const { takenOver } = await scene.api<TaskView>(`/tasks/${id}/take-over`, {})
    const folder = takenOver?.folder ?? ''
    expect(readFileSync(join(folder, 'src/work.txt'), 'utf8')).toBe('open\n')
    await scene.api('/clean', { dryRun: false })
    expect(existsSync(folder)).toBe(true)
    await scene.api(`/tasks/${id}/cancel`, {})
    await scene.api('/clean', { dryRun: false })
    expect(existsSync(folder)).toBe(false)
    await scene.api(`/goals/${goal.id}/cancel`, {})
  },
)

const start = async (point?: string): Promise<ChildProcess> => {
  const crash = point === undefined ? {} : { CHAOS_POINT: point }
  const env = { ...scene.environment, ...crash }
  const child = spawn(process.execPath, [daemon], { cwd: scene.root, env, stdio: 'ignore' })
  const address = join(scene.stateDir, 'engine.json')
  const isOwn = async (): Promise<true | undefined> =>
    existsSync(address) && readFileSync(address, 'utf8').includes(`"pid":${child.pid}`) ? true : undefined
  await until(isOwn, 'the engine')
  return child
}

test.runIf(isLongForm)(
  'an engine that is killed while the task is with a person, and again while it collects, loses nothing',
  async () => {
    const goal = await stuck()
    const { id } = only(goal)
    await scene.stop()
    const first = await start()
    const folder = await takeOver(id)
    first.kill('SIGKILL')
    await once(first, 'exit')
    writeFileSync(join(folder, 'src/work.txt'), 'done by hand\n')
    const second = await start('workspace-made')
    const ended = once(second, 'exit')
    await ran('give-back', id)
    expect(await ended).toEqual([null, 'SIGKILL'])
    const third = await start()
    const landed = async (): Promise<true | undefined> => {
      const { goals } = JSON.parse((await scene.here('status', '--json')).stdout) as StatusView
      return goals.find(({ id: other }) => other === goal.id)?.state === 'ready' ? true : undefined
    }
    await until(landed, 'the goal to be ready')
    expect(user(scene.root, 'show', `${goal.branch}:src/work.txt`)).toContain('done by hand')
    third.kill('SIGTERM')
    await once(third, 'exit')
  },
)
