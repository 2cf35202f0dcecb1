/**
 * A conflict that is not solved at the first attempt: its agent leaves the markers in until it is told, and other work lands on the same
 * lines while it works.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import type { ExplainView, GoalView, TaskView } from '../../src/api/contract.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

let scene: Scene
afterEach(() => scene.clear())

const waitFor = (name: string): string =>
  `const ends = Date.now() + 100_000
   while (!existsSync('TOP/${name}') && Date.now() < ends) await new Promise((next) => setTimeout(next, 20))`

/** Writes its name before the last line, as soon as it may. */
const writer = (name: string, { begun, go }: { begun: string; go: string }): string => `
  const text = readFileSync('list.txt', 'utf8')
  put('TOP/${begun}', '')
  ${waitFor(go)}
  writeFileSync('list.txt', text.replace('end\\n', '${name}\\nend\\n'))`

const second: FaultAgent = {
  driver: 'command',
  program: `
    const prompt = args.at(-1)
    if (prompt.includes('## Conflict')) {
      const round = count('TOP/rounds')
      put('TOP/prompt-' + round, prompt)
      put('TOP/found-' + round, readFileSync('list.txt', 'utf8'))
      const told = prompt.includes('Your work is not accepted')
      if (round > 2 || told) put('list.txt', readFileSync('list.txt', 'utf8').replace(/^(<{7}|={7}|>{7}).*\\n/gm, ''))
      if (told) { put('TOP/solving', ''); ${waitFor('third-landed')} }
    } else { ${writer('second', { begun: 'second-begun', go: 'first-landed' })} }`,
}

const agents: Record<string, FaultAgent> = {
  first: { driver: 'command', program: writer('first', { begun: 'first-begun', go: 'second-begun' }) },
  second,
  third: { driver: 'command', program: writer('third', { begun: 'third-begun', go: 'solving' }) },
}

it('is solved by the same task: told of the markers, and again when other work has landed meanwhile', async () => {
  const files = {
    'list.txt': 'list\nend\n',
    'check.js': "if (!require('node:fs').readFileSync('list.txt', 'utf8').endsWith('end\\n')) process.exit(1)",
  }
  scene = await openScene(agents, { maxParallel: 3, requeue: { inPlaceLimit: 0, reworkDepth: 1 } }, { files })
  const goal = await scene.goal([
    { harness: 'first', title: 'Add first' },
    { harness: 'second', title: 'Add second' },
    { harness: 'third', title: 'Add third', after: ['1'] },
  ])
  const landed = (number: number) =>
    scene.waitFor(`task ${number} is merged`, async () =>
      (await scene.task(goal, number)).status === 'done' ? true : undefined,
    )
  await landed(1)
  writeFileSync(join(scene.top, 'first-landed'), '')
  await landed(3)
  expect(existsSync(join(scene.top, 'solving'))).toBe(true)
  writeFileSync(join(scene.top, 'third-landed'), '')
  await scene.until(goal, 'ready', 'awaiting_human', 'failed')

  expect(await scene.questions()).toEqual([])
  const { tasks } = await scene.get<GoalView>(`/goals/${goal}`)
  const [, left, , fix] = tasks as [TaskView, TaskView, TaskView, TaskView]
  expect(left).toMatchObject({ status: 'cancelled', supersededBy: fix.id })
  expect(scene.show('list.txt', goal)).toBe('list\nfirst\nthird\nsecond\nend')
  const tried = (await scene.recoveries(goal)).map(({ taskId, playbook, status, counted }) => ({
    ...{ task: taskId === fix.id ? 'fix' : 'second', playbook, status, counted },
  }))
  expect(tried).toEqual([
    { task: 'second', playbook: 'conflict-auto-fix', status: 'success', counted: true },
    { task: 'fix', playbook: 'conflict-markers-feedback', status: 'success', counted: true },
    { task: 'fix', playbook: 'conflict-again', status: 'success', counted: true },
  ])
  const found = (round: number): string => readFileSync(join(scene.top, `found-${round}`), 'utf8')
  expect(found(1)).toMatch(/^<{7}.*\nfirst\n={7}\nsecond\n>{7}/m)
  // The second round has its own solution of the first one.
  expect(found(3)).toMatch(/^<{7}.*\nthird\n={7}\nsecond\n>{7}/m)
  const { lines } = await scene.get<ExplainView>(`/explain/${fix.id}`)
  expect(lines.map(({ text }) => text).join('\n')).toMatch(
    /conflict markers are left in list\.txt[^]*conflicting paths: list\.txt/,
  )
})

/** Solves its conflict by giving up its own work, and does its task when it is asked again. */
const yielding: FaultAgent = {
  driver: 'command',
  program: `
    const prompt = args.at(-1)
    if (prompt.includes('## Conflict')) put('list.txt', 'list\\nfirst\\nend\\n')
    else { ${writer('second', { begun: 'second-begun', go: 'first-landed' })} }`,
}

it('is not solved by giving up the work: the task is done again, although its check passes without it', async () => {
  const files = { 'list.txt': 'list\nend\n', 'check.js': 'process.exit(0)' }
  const config = { maxParallel: 2, requeue: { inPlaceLimit: 0, reworkDepth: 1, failedSeconds: 1, blockedSeconds: 1 } }
  scene = await openScene({ first: agents['first'] as FaultAgent, yielding }, config, { files })
  const goal = await scene.goal([
    { harness: 'first', title: 'Add first' },
    { harness: 'yielding', title: 'Add second' },
  ])
  await scene.waitFor('task 1 is merged', async () =>
    (await scene.task(goal, 1)).status === 'done' ? true : undefined,
  )
  writeFileSync(join(scene.top, 'first-landed'), '')
  await scene.until(goal, 'ready', 'awaiting_human', 'failed')
  expect(await scene.questions()).toEqual([])
  expect(scene.show('list.txt', goal)).toBe('list\nfirst\nsecond\nend')
  expect(await scene.task(goal, 2)).toMatchObject({ status: 'done', supersededBy: null })
})
