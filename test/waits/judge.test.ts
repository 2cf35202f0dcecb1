/**
 * Finished work before it lands, through the whole engine: a reviewer that objects and then approves, a person who rejects with a note, a
 * reviewer that answers garbage, and an engine that is killed between claim and verdict.
 */
import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { DiffView, ExplainView, Judgement, Run } from '../../src/api/contract.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'
import { killable } from '../support/killable.ts'

/** Right only where the prompt says what somebody objected to. */
const writer: FaultAgent = {
  driver: 'command',
  program: `
const prompt = args.join(' ') + readFileSync(0, 'utf8')
const name = ['one', 'two', 'three'].find((each) => prompt.includes('TASK-' + each))
put('TOP/prompts/' + name + '-' + count('TOP/rounds-' + name), prompt)
put(name + '.txt', prompt.includes('say good') ? 'good' : 'bad')
console.log('I wrote ' + name)
`,
}

/** Hangs when it is first asked about the first task, and then judges by the file; it never answers about the third one. */
const reviewer: FaultAgent = {
  driver: 'command',
  program: `
const prompt = args.join(' ') + readFileSync(0, 'utf8')
const name = ['one', 'two', 'three'].find((each) => prompt.includes('TASK-' + each))
const round = count('TOP/reviews-' + name)
put('TOP/reviews/' + name + '-' + round, prompt)
const say = (answer) => console.log(JSON.stringify(answer))
const point = { path: 'one.txt', line: 1, severity: 'error', what: 'The text is bad, it should say good', why: 'the task asks for it' }
const stray = { path: 'elsewhere.txt', severity: 'error', what: 'Not of this work', why: '' }
if (name === 'one' && round === 1 && existsSync('TOP/hang')) setInterval(() => {}, 1000)
else if (name === 'three') console.log('Looks fine to me!')
else if (readFileSync('one.txt', 'utf8') === 'good') say({ verdict: 'approve', risk: 'low', points: [{ ...stray, severity: 'warning' }], summary: 'All is well.' })
else say({ verdict: 'request_changes', risk: 'low', points: [point, stray], summary: 'Not yet.' })
`,
}

const taskOf = (name: string) => ({
  ...{ title: `Make ${name}`, instructions: `TASK-${name}: make ${name}.txt.`, commands: ['node ok.js'] },
  allowedPaths: [`${name}.txt`],
})
const [one, two, three] = ['one', 'two', 'three'].map(taskOf)
const files = { 'ok.js': 'process.exit(0)', hang: 'x' }

const judge = {
  ...{ harness: 'reviewer', rules: [{ paths: ['two.txt'], mode: 'human' }], retries: 1, retrySeconds: 0.2 },
  timeoutSeconds: 60,
}
const config = { judge, requeue: { reworkDepth: 2 }, maxParallel: 3 }

let scene: Scene
const engines: ChildProcess[] = []
afterEach(() => scene.clear())

const judgementsOf = (goal: string): Promise<Judgement[]> => scene.get(`/judgements?goal=${goal}`)
const storyOf = async (id: string): Promise<string> =>
  (await scene.get<ExplainView>(`/explain/${id}`)).lines.map(({ text }) => text).join('\n')

test('three tasks: an objection is corrected, a rejection too, and garbage is no approval', async () => {
  scene = await openScene({ writer, reviewer }, config, { files, start: killable(engines) })
  // The reviewer hangs at the first question: the engine is killed between claim and verdict.
  const { writeFileSync } = await import('node:fs')
  writeFileSync(join(scene.top, 'hang'), '')
  const goal = await scene.goal([{ ...one, judge: 'llm' }, { ...two }, { ...three, judge: 'llm' }])
  await scene.waitFor('the reviewer is asked', async () =>
    existsSync(join(scene.top, 'reviews', 'one-1')) ? true : undefined,
  )
  const waits = await scene.task(goal)
  expect(waits.nextStep?.text).toMatch(/^waits for the reviewer \(reviewer, asked /)
  await scene.restart()

  const child = await scene.waitFor('the objection has a task', async () => {
    const { tasks } = await scene.get<{ tasks: Awaited<ReturnType<Scene['task']>>[] }>(`/goals/${goal}`)
    return tasks.find(({ rework }) => rework?.parent === waits.id)
  })
  expect(child).toMatchObject({ rework: { kind: 'objection', depth: 1 } })
  expect(child.title).toMatch(/^\[AutoFix\] PR #\d+: Make one$/)
  expect(child.instructions).toContain(
    '- [error] one.txt:1: The text is bad, it should say good (the task asks for it)',
  )
  expect(child.instructions).not.toContain('elsewhere.txt')
  const claimed = (await judgementsOf(goal)).filter(({ taskId }) => taskId === waits.id)
  expect(claimed).toMatchObject([{ verdict: 'request_changes', version: 2, harness: 'reviewer', state: 'decided' }])
  expect(claimed[0]?.points).toHaveLength(1)
  await scene.waitFor('the corrected work lands', async () =>
    (await scene.task(goal, child.number)).status === 'done' ? true : undefined,
  )
  expect(await scene.task(goal)).toMatchObject({ status: 'cancelled', supersededBy: child.id })
  expect(scene.show('one.txt', goal)).toBe('good')

  const held = await scene.task(goal, 2)
  expect(held).toMatchObject({
    status: 'blocked(awaiting_human)',
    actions: expect.arrayContaining(['reject']) as string[],
  })
  await scene.post(`/tasks/${held.id}/reject`, { note: 'say good', by: 'ann' })
  const corrected = await scene.waitFor('the rejection has a task that is finished', async () => {
    const { tasks } = await scene.get<{ tasks: Awaited<ReturnType<Scene['task']>>[] }>(`/goals/${goal}`)
    return tasks.find(({ rework, status }) => rework?.parent === held.id && status === 'blocked(awaiting_human)')
  })
  expect(corrected.instructions).toContain('ann objects')
  const [run] = (await scene.get<Run[]>(`/runs?task=${corrected.id}`)).slice(-1)
  const { decisions } = await scene.get<DiffView>(`/runs/${run?.id}/diff`)
  const flag = `--commit ${run?.commit?.slice(0, 12)}`
  expect(decisions.map(({ command }) => command)).toEqual([
    ...[`unstuck approve ${corrected.id} ${flag}`, `unstuck reject ${corrected.id} ${flag} --note "…"`],
  ])
  await expect(scene.post(`/tasks/${corrected.id}/approve`, { commit: '0'.repeat(40) })).rejects.toThrow(
    'waits for your decision about commit',
  )
  await scene.post(`/tasks/${corrected.id}/approve`, { commit: run?.commit, by: 'ann' })

  const unclear = await scene.waitFor('a person is asked about the third', async () =>
    (await scene.questions()).find(({ question }) => question.includes('could not be reviewed')),
  )
  expect(unclear.choices.map(({ id }) => id)).toEqual(['approve', 'ask_again', 'reject', 'cancel'])
  await scene.post(`/escalations/${unclear.id}/answer`, { choice: 'approve' })
  await scene.until(goal, 'ready')
  expect(['one', 'two', 'three'].map((name) => scene.show(`${name}.txt`, goal))).toEqual(['good', 'good', 'bad'])

  // One verdict per head commit, whatever happened in between.
  const judgements = await judgementsOf(goal)
  expect(judgements.map(({ state }) => state)).toEqual(judgements.map(() => 'decided'))
  expect(new Set(judgements.map(({ commit }) => commit)).size).toBe(judgements.length)
  const story = await storyOf(waits.id)
  expect(story).toContain(
    'review (llm): changes requested, the reviewer objects in 1 point: one.txt:1: The text is bad',
  )
  expect(story).toContain(`task ${child.number} "`)
  expect(await storyOf(three === undefined ? '' : (unclear.taskId ?? ''))).toContain('gave no valid answer')
  const recoveries = (await scene.recoveries(goal)).filter(({ label }) => label === 'review_objection')
  expect(recoveries.map(({ status, action }) => [status, action.type])).toEqual([
    ['success', 'answer_objection'],
    ['success', 'answer_objection'],
  ])
  expect(readFileSync(join(scene.top, 'prompts', 'one-2'), 'utf8')).toContain('Objection to the work')
  expect(await scene.get(`/doctor`)).toMatchObject({ ok: true })
})
