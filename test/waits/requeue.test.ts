/**
 * A user's night: work that does not pass starts again with what was learned, a new task continues it, what depends on it
 * follows, and a person is asked once about the one task that fails the same way for the fourth time.
 */
import { execFileSync, type ChildProcess } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { GrantList, StatusView } from '../../src/api/contract.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'
import { killable } from '../support/killable.ts'
import { isLongForm, shortened } from '../support/form.ts'

const requires = (name: string): string =>
  `const text = require('node:fs').readFileSync('${name}.txt', 'utf8'); if (text !== 'good') { console.error('Error: ${name} is ' + text); process.exit(1) }`

const files = {
  'one.js': requires('one'),
  'two.js': `${requires('one')}; require('node:fs').readFileSync('two.txt')`,
  'three.js': requires('three'),
}

/** Right only where the prompt says that another task failed before. */
const agent: FaultAgent = {
  driver: 'command',
  program: `
const prompt = args.join(' ') + readFileSync(0, 'utf8')
const name = ['one', 'two', 'three'].find((each) => prompt.includes('TASK-' + each))
put('TOP/prompts/' + name + '-' + count('TOP/rounds-' + name), prompt)
const isRight = name === 'two' || (name === 'one' && prompt.includes('[auto-rework] parentTask='))
put(name + '.txt', isRight ? 'good' : 'bad')
put('seen-' + name + '.txt', existsSync('seen-' + name + '.txt') ? 'again' : 'first')
`,
}

const tasks = ['one', 'two', 'three'].map((name) => ({
  ...{ title: `Make ${name}`, instructions: `TASK-${name}: make ${name}.txt.`, commands: [`node ${name}.js`] },
  ...{ allowedPaths: [`${name}.txt`, `seen-${name}.txt`], after: name === 'two' ? ['1'] : [] },
}))

const requeue = { failedSeconds: 0.2, blockedSeconds: 0.2 }
/** One launch a run: what happens within a run has suites of its own. */
const playbooks = { disabled: ['check-feedback', 'fresh-feedback', 'policy-feedback'] }

type Question = StatusView['escalations'][number]

let scene: Scene
const engines: ChildProcess[] = []
afterEach(() => scene.clear())

test('three tasks through a night: one is continued and merged, its dependent follows, one question remains', async () => {
  scene = await openScene({ agent }, { requeue, playbooks }, { files })
  const goal = await scene.goal(tasks)
  await scene.waitFor('a task is continued', async () => (await scene.events(goal, 'task.split'))[0])
  await scene.waitFor('its dependent is done', async () =>
    (await scene.task(goal, 2)).status === 'done' ? 1 : undefined,
  )
  await scene.waitFor('the third task is continued twice', async () => (await scene.events(goal, 'task.split'))[2])
  const { tasks: all } = await scene.until(goal, 'awaiting_human')
  const [one, two, three] = all
  const child = all.find(({ id }) => id === one?.supersededBy)
  expect(child).toMatchObject({
    ...{ title: '[Rework] Make one', status: 'done', dependsOn: [], priority: 5, harness: 'agent' },
    rework: { parent: one?.id, depth: 1 },
  })
  expect(child?.instructions).toContain(`[auto-rework] parentTask=${one?.id}`)
  expect(one?.status).toBe('cancelled')
  expect(two).toMatchObject({ status: 'done', dependsOn: [child?.id] })
  expect(scene.show('one.txt', goal)).toBe('good')
  // The child began with the files of its parent.
  expect(scene.show('seen-one.txt', goal)).toBe('again')
  expect(three?.status).toBe('cancelled')
  const last = all.at(-1)
  expect(last).toMatchObject({ title: '[Rework] Make three', rework: { depth: 2 } })
  expect(last?.status).toBe('blocked(awaiting_human)')
  const questions = await scene.questions()
  expect(questions.map(({ taskId }) => taskId)).toEqual([last?.id])
  expect(questions[0]?.tried).toEqual(
    expect.arrayContaining(['started the task again on its own work once', 'continued the work in a new task twice']),
  )
  const reasons = (await scene.events(goal, 'task.recovery_escalated')).map(({ payload }) => payload['reason'])
  expect(reasons).toEqual(['repeated_same_failure_signature'])
  const requeued = (await scene.events(goal, 'task.requeued')).map(({ payload }) => payload['reason'])
  expect(requeued).toEqual(['needs_rework_in_place_retry', 'needs_rework_in_place_retry'])
  expect(await scene.events(goal, 'task.split')).toHaveLength(3)
  // A person's retry begins a new count and continues the last task only.
  await scene.post(`/tasks/${last?.id}/retry`, { hint: 'write good' })
  await scene.until(goal, 'active')
})

test.runIf(isLongForm)('an engine that is killed while a task waits continues it once', async () => {
  scene = await openScene(
    { agent },
    { requeue: { ...requeue, blockedSeconds: 4 } },
    { files, start: killable(engines) },
  )
  const goal = await scene.goal(tasks.slice(0, 1))
  await scene.waitFor('the task waits for rework', async () =>
    (await scene.task(goal)).status === 'blocked(needs_rework)' ? true : undefined,
  )
  const waits = await scene.task(goal)
  expect(waits.nextStep).toMatchObject({
    text: expect.stringContaining('it starts again on its own work') as string,
    at: waits.retry?.at,
  })
  await scene.restart()
  const { tasks: all } = await scene.until(goal, 'ready')
  expect(all.map(({ status, supersededBy }) => [status, supersededBy])).toEqual([
    ['cancelled', all[1]?.id],
    ['done', null],
  ])
  expect(await scene.events(goal, 'task.split')).toHaveLength(1)
})

test.runIf(isLongForm)(
  'a chain that reached its depth is one question about the goal, and a retry of the goal continues it',
  async () => {
    const failing = { ...tasks[2], after: [] }
    scene = await openScene(
      { agent },
      { requeue: { ...requeue, reworkDepth: 1, inPlaceLimit: 1 }, playbooks },
      { files },
    )
    const goal = await scene.goal([failing])
    const asked = await scene.until(goal, 'awaiting_human')
    expect(asked.tasks.map(({ status }) => status)).toEqual(['cancelled', 'cancelled'])
    const [question, ...more] = await scene.questions()
    expect(more).toEqual([])
    expect(question).toMatchObject({ taskId: null, goalId: goal })
    expect(question?.happened).toContain('Task 2 "[Rework] Make three" was given up after')
    expect(question?.tried).toEqual([
      'started the task again on its own work once',
      'continued the work in a new task once',
    ])
    expect(asked.tasks.map(({ nextStep }) => nextStep?.text)).toEqual([
      'task 2 continues its work',
      `your answer is needed: unstuck answer ${goal}`,
    ])
    const reasons = (await scene.events(goal, 'task.recovery_escalated')).map(({ payload }) => payload['reason'])
    expect(reasons).toEqual(['rework_chain_max_depth_reached'])
    await scene.post(`/goals/${goal}/retry`)
    const after = await scene.until(goal, 'active')
    expect(after.tasks.map(({ status }) => status).filter((status) => status === 'cancelled')).toHaveLength(1)
  },
)

test('a path that no rule allows: the task waits, is given up, and the goal asks', async () => {
  const stray = { ...tasks[0], allowedPaths: ['other.txt'], commands: ['node -e 0'] }
  scene = await openScene({ agent }, { requeue: { ...requeue, suppressionLimit: 1 }, playbooks }, { files })
  const goal = await scene.goal([stray])
  const asked = await scene.until(goal, 'awaiting_human')
  expect(asked.tasks.map(({ status }) => status)).toEqual(['cancelled'])
  const reasons = (await scene.events(goal, 'task.recovery_escalated')).map(({ payload }) => payload['reason'])
  expect(reasons).toEqual([
    'policy_violation_rework_suppressed_no_safe_path',
    'policy_violation_rework_suppressed_exhausted',
  ])
  expect((await scene.questions())[0]?.happened).toContain('it changed one.txt')
})

/** The first attempt leaves a file outside the task's paths; the later ones only there where the program says so. */
const strayer = (path: string, again: 'again' | 'once'): FaultAgent => ({
  driver: 'command',
  program: `
const round = count('TOP/rounds')
put('TOP/prompts/' + round, args.join(' ') + readFileSync(0, 'utf8'))
put('src/work.txt', 'round ' + round)
if (round === 1 || '${again}' === 'again') put('${path}', 'round ' + round)
`,
})

const oneStray = { allowedPaths: ['src/**'], commands: ['node -e 0'], instructions: 'TASK-one' }

const givenUp = async (
  strays: FaultAgent,
  limits: object = {},
  task: object = {},
): Promise<{ goal: string; question: Question }> => {
  const agents = { strays }
  scene = await openScene(agents, { requeue: { ...requeue, suppressionLimit: 1, ...limits }, playbooks })
  const goal = await scene.goal([{ ...oneStray, ...task }])
  await scene.until(goal, 'awaiting_human')
  const [question, ...more] = await scene.questions()
  if (question === undefined || more.length > 0) throw new Error('not one question')
  return { goal, question }
}

const offered = ({ choices }: Question): string[] => choices.map(({ kind }) => kind)

test.runIf(isLongForm)(
  'a person allows exactly the paths of a task that was given up, and it continues from its work',
  async () => {
    const { goal, question } = await givenUp(strayer('lib/extra.txt', 'once'))
    expect(question.happened).toMatch(
      /^Task 1 "Task 1" was given up because it changed lib\/extra\.txt, which its allowed paths do not cover\. No rule connects it with the task\.$/,
    )
    expect(offered(question)).toEqual(['widen', 'leave_out', 'hint', 'edit', 'retry', 'cancel'])
    await scene.post(`/escalations/${question.id}/answer`, { choice: 'widen', by: 'ada' })
    await scene.until(goal, 'ready')
    // Only the first attempt wrote it.
    expect(scene.show('lib/extra.txt', goal)).toBe('round 1')
    expect(await scene.task(goal)).toMatchObject({ status: 'done', allowedPaths: ['src/**'] })
    const { grants } = await scene.get<GrantList>('/grants?state=all')
    expect(grants).toMatchObject([{ path: 'lib/extra.txt', scope: 'task', grantedBy: 'ada', rule: 'person', uses: 1 }])
  },
)

test.runIf(isLongForm)(
  'a person leaves the files of a task that was given up out of its work, also where its agent makes them again',
  async () => {
    const { goal, question } = await givenUp(strayer('lib/extra.txt', 'again'))
    await scene.post(`/escalations/${question.id}/answer`, { choice: 'leave_out', by: 'ada' })
    await scene.until(goal, 'ready')
    expect(scene.show('src/work.txt', goal)).not.toBe('round 1')
    expect(() => scene.show('lib/extra.txt', goal)).toThrow()
    const last = (await scene.runs(goal)).at(-1)
    expect(last?.verdict?.notes.join('\n')).toContain('lib/extra.txt is not part of the work: a person left it out')
    const rounds = readFileSync(join(scene.top, 'rounds'), 'utf8')
    expect(readFileSync(join(scene.top, 'prompts', rounds), 'utf8')).toContain(
      'no part of the work, do not change them again: lib/extra.txt',
    )
    // What was left out is not lost.
    const shadows = readdirSync(join(scene.top, 'home')).map((id) => join(scene.top, 'home', id, 'shadow.git'))
    const shadow = shadows.find((path) => existsSync(path)) ?? ''
    const kept = execFileSync('git', ['--git-dir', shadow, 'log', '--all', '--format=%H', '--', 'lib/extra.txt'])
    expect(kept.toString()).not.toBe('')
  },
)

test.runIf(isLongForm)(
  'a nested repository and a link that leads out stay out of the work where a person says so, also when they are made again',
  async () => {
    const program = `const { execFileSync } = await import('node:child_process')
const { rmSync, symlinkSync } = await import('node:fs')
count('TOP/rounds')
put('src/work.txt', 'mine')
put('src/lib/a.txt', 'theirs')
execFileSync('git', ['init', '-q', 'src/lib'])
rmSync('src/host', { force: true })
symlinkSync('/etc/hostname', 'src/host')`
    const { goal, question } = await givenUp({ driver: 'command', program })
    expect(offered(question)).toEqual(['leave_out', 'hint', 'edit', 'retry', 'cancel'])
    await scene.post(`/escalations/${question.id}/answer`, { choice: 'leave_out', by: 'ada' })
    await scene.until(goal, 'ready')
    expect(scene.show('src/work.txt', goal)).toBe('mine')
    for (const path of ['src/lib/a.txt', 'src/host']) expect(() => scene.show(path, goal)).toThrow()
  },
)

test.each(
  shortened(
    [
      ['outside of the task', ['src/**']],
      ['where the task may change everything', ['**']],
    ],
    1,
  ),
)(
  'a secret %s: a question at once, which says why, and the work continues without it',
  async (_where, allowedPaths) => {
    const { goal, question } = await givenUp(strayer('lib/.env', 'again'), { blockedSeconds: 3_600 }, { allowedPaths })
    expect(question.happened).toContain('lib/.env cannot be allowed: names like "**/.env" are those of secrets')
    expect(offered(question)).toEqual(['leave_out', 'hint', 'edit', 'retry', 'cancel'])
    const wrong = scene.post(`/escalations/${question.id}/answer`, { choice: 'widen', by: 'ada' })
    await expect(wrong).rejects.toThrow(/does not offer/)
    await scene.post(`/escalations/${question.id}/answer`, { choice: 'leave_out', by: 'ada' })
    await scene.until(goal, 'ready')
    expect(() => scene.show('lib/.env', goal)).toThrow()
  },
)
