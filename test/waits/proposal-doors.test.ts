/** What a proposal must not reach: files that are no proposals, folders outside, processes that outlive it, changes that nobody asked for. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { GoalView } from '../../src/api/contract.ts'
import {
  cli,
  isDone,
  mends,
  open,
  proposalText,
  propose,
  question,
  ran,
  recoveryEvents,
  scene,
  tasksOf,
} from '../support/proposals.ts'

afterEach(() => scene.clear())

const trick = (name: string, program: string): void =>
  writeFileSync(join(scene.top, `trick-${name}.mjs`), program.replaceAll('TOP', scene.top))

/** Made of parts, so that no scanner takes this file for a leak. */
const token = ['ghp', 'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6'].join('_')

const imports =
  "import { execFileSync } from 'node:child_process'; import { symlinkSync, writeFileSync } from 'node:fs'\n"
const target = "process.env.UNSTUCK_RUN_DIR + '/recovery.json'"

test('files that are no proposals are refused: links, pipes, huge ones, folders outside, secrets', async () => {
  await open({ auto_approve: ['touch env.ok'] }, { maxParallel: 5 })
  writeFileSync(join(scene.top, 'elsewhere.json'), proposalText({ command: 'touch env.ok' }))
  trick('link', `${imports}symlinkSync('TOP/elsewhere.json', ${target})`)
  trick('pipe', `${imports}execFileSync('mkfifo', [${target}])`)
  trick('huge', `${imports}writeFileSync(${target}, ' '.repeat(3_000_000))`)
  trick('outside', `${imports}symlinkSync('..', 'out')`)
  propose('outside', { command: 'touch env.ok', more: { working_dir: 'out' } })
  const secret = token
  propose('secret', { command: `echo ${secret}` })
  const names = ['link', 'pipe', 'huge', 'outside', 'secret']
  const goals = await Promise.all(names.map((name) => scene.goal(tasksOf(name))))
  const expected = [
    'it is a symbolic link',
    'it is a named pipe',
    'it is larger than 256 KiB',
    'recovery.working_dir: out leads out of the repository',
    'recovery.command contains a secret (GitHub token)',
  ]
  for (const [index, goal] of goals.entries()) {
    const { happened, details } = await question(goal, 'invalid_proposal')
    expect(happened).toContain(expected[index])
    expect(happened + details).not.toContain(secret)
    const events = await recoveryEvents(goal)
    expect(events.map(([type]) => type)).toEqual(['recovery_escalated'])
    expect(JSON.stringify(events)).toContain(expected[index])
    expect(JSON.stringify(events)).not.toContain(secret)
  }
})

test('output without end, a process in a session of its own and a command that does not end are bounded', async () => {
  const loud = "setsid sleep 987 & head -c 3000000 /dev/zero | tr '\\0' x | fold; touch env.ok"
  const endless = 'trap "" TERM; setsid sleep 986 & sleep 986'
  await open({ auto_approve: [loud, endless], cooldown_seconds: 0 })
  propose('loud', { command: loud })
  propose('endless', { command: endless, more: { timeout_seconds: 2 } })
  const [one, two] = await Promise.all([scene.goal(tasksOf('loud')), scene.goal(tasksOf('endless'))])
  await isDone(one)
  const { happened } = await question(two, 'recovery_failed')
  expect(happened).toContain('did not help')
  expect(await recoveryEvents(two)).toContainEqual([
    'recovery_failed',
    expect.objectContaining({ error: expect.stringContaining('it ran out of time') as string }),
  ])
  expect(execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })).not.toMatch(/^sleep 98[67]$/m)
})

test('a command cannot change what is checked, and a lockfile enters the work only where the task may change it', async () => {
  const cheats = "echo 'process.exit(0)' > need.js"
  const locks = "echo '{}' > package-lock.json; touch env.ok"
  await open({ auto_approve: [cheats, locks], cooldown_seconds: 0 }, { maxParallel: 3 })
  propose('cheat', { command: cheats })
  propose('locked', { command: locks })
  propose('free', { command: locks })
  const free = tasksOf('free').map((task) => ({ ...task, allowedPaths: ['free.txt', 'package-lock.json'] }))
  const goals = await Promise.all([scene.goal(tasksOf('cheat')), scene.goal(tasksOf('locked')), scene.goal(free)])
  const [cheat, locked, open_] = goals
  await question(cheat, 'recovery_failed')
  await isDone(locked)
  await isDone(open_)
  expect(scene.show('package-lock.json', locked)).toContain('lockfileVersion')
  expect(scene.show('package-lock.json', open_)).toBe('{}')
})

const setRecovery = (recovery: object): void => {
  const path = join(scene.root, '.unstuck', 'config.json')
  const config = JSON.parse(readFileSync(path, 'utf8')) as object
  writeFileSync(path, JSON.stringify({ ...config, recovery }))
}

test('on_unknown: deny goes on without the command, allow runs it; the same bytes never count twice', async () => {
  await open(
    { on_unknown: 'deny', require_human: [] },
    { playbooks: { disabled: ['check-feedback', 'fresh-feedback'] } },
  )
  propose('one', { command: mends })
  const denied = await scene.goal(tasksOf('one'))
  const { id } = await question(denied, 'exhausted')
  expect(await recoveryEvents(denied)).toContainEqual([
    'recovery_resolved',
    expect.objectContaining({ by: 'config', method: 'denied' }),
  ])
  await scene.restart(() => setRecovery({ on_unknown: 'allow', require_human: ['curl *'], cooldown_seconds: 0 }))
  // The same bytes were read for this task before.
  await scene.post(`/escalations/${id}/answer`, { choice: 'retry', by: 'me' })
  await scene.waitFor('asked again', async () =>
    (await scene.questions()).find((each) => each.goalId === denied && each.id !== id),
  )
  expect(ran()).toBe(0)
  const allowed = await scene.goal(tasksOf('one'))
  await isDone(allowed)
  expect(ran()).toBe(1)
  expect(await recoveryEvents(allowed)).toContainEqual([
    'recovery_approved',
    expect.objectContaining({ source: 'on_unknown' }),
  ])
})

test('of fifty answers at the same time one wins, and a goal with two questions names both', async () => {
  await open({}, { maxParallel: 2 })
  propose('one', { command: mends })
  propose('two', { command: `true && ${mends}` })
  const goal = await scene.goal(tasksOf('one', 'two').map((task) => ({ ...task, after: [] })))
  const both = await scene.waitFor('both questions', async () => {
    const found = (await scene.questions()).filter(({ goalId }) => goalId === goal)
    return found.length === 2 ? found : undefined
  })
  expect(await cli('reject-recovery', '--loop', goal)).toMatchObject({
    ...{
      code: 2,
      out: expect.stringMatching(/2 questions about recoveries; answer one of them: unstuck answer t-/) as string,
    },
  })
  const [first] = both
  const answers = Array.from({ length: 50 }, (_, index) =>
    scene
      .post(`/escalations/${first?.id}/answer`, { choice: index % 2 === 0 ? 'approve' : 'resolve', by: `p${index}` })
      .then(
        () => 'won',
        (error: Error) => (error.message.includes('already decided') ? 'lost' : error.message),
      ),
  )
  const outcomes = await Promise.all(answers)
  expect(outcomes.filter((each) => each === 'won')).toHaveLength(1)
  expect(outcomes.filter((each) => each === 'lost')).toHaveLength(49)
  const [, second] = both
  await expect(
    scene.post(`/escalations/${second?.id}/answer`, {
      choice: 'edit',
      input: `echo ${token}`,
    }),
  ).rejects.toThrow('contains a secret')
  await scene.post<GoalView>(`/goals/${goal}/cancel`)
  expect((await cli('approve-recovery', '--loop', goal)).code).toBe(5)
})
