/** A planner divides a goal: its tasks run, wait for a person, or are only shown. A planner that fails stops nothing. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { InboxQuestion, InboxView, StatusView } from '../../src/api/contract.ts'
import { exitCodes } from '../../src/errors.ts'
import { removeFolder } from '../../src/workspace/remove-folder.ts'
import { prepareEngineHome } from '../support/engine-home.ts'
import { makeRepository, put, temporaryFolder } from '../workspace/scene.ts'
import { isLongForm } from '../support/form.ts'

const entry = fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))
const top = temporaryFolder()
const root = join(top, 'project')
const environment = {
  PATH: process.env.PATH ?? '',
  HOME: join(top, 'home'),
  UNSTUCK_HOME: join(top, 'state'),
  XDG_CACHE_HOME: fileURLToPath(new URL('../../node_modules/.cache', import.meta.url)),
}

const plan = {
  tasks: [
    {
      ...{ id: 'use', title: 'Use the sum', instructions: 'Write src/use.js.', purpose: 'the sum is used' },
      ...{ allowedPaths: ['src/use.js'], commands: ['npm test', 'npm run nope'], after: ['sum'] },
    },
    {
      ...{ id: 'sum', title: 'Add the sum', instructions: 'Write src/sum.js.', purpose: 'there is a sum' },
      ...{ allowedPaths: ['src/**', '../outside'], after: ['use'] },
    },
  ],
  documentationGaps: ['The sum is not described.'],
}

/** Answers the question about the plan from `answer`, and does the tasks of that plan. */
const agent = `import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
const prompt = process.argv.at(-1)
if (prompt.includes('Question: the plan')) {
  writeFileSync(${JSON.stringify(join(top, 'asked'))}, prompt)
  console.log(readFileSync(${JSON.stringify(join(top, 'answer'))}, 'utf8'))
} else {
  mkdirSync('docs', { recursive: true })
  const file = prompt.includes('Complete the doc') ? 'docs/sum.md' : /Write (src\\/\\w+\\.js)/.exec(prompt)[1]
  writeFileSync(file, 'export const value = 1\\n')
}
`

const answer = (text: string): void => writeFileSync(join(top, 'answer'), text)
const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
const unstuck = (...args: string[]) =>
  execa(process.execPath, [entry, ...args], { cwd: root, env: environment, extendEnv: false, reject: false })

beforeAll(() => {
  mkdirSync(environment.HOME)
  makeRepository(root, {
    'package.json': JSON.stringify({ scripts: { test: 'node src/a.js' } }),
    'src/a.js': '',
    'README.md': 'It adds.\n',
    '.gitignore': '.unstuck/\n',
  })
  put(top, { 'agent.mjs': agent })
  const mine = { command: [process.execPath, join(top, 'agent.mjs')], promptMode: 'argument' }
  put(root, { '.unstuck/config.json': JSON.stringify({ harness: { default: 'mine', mine } }) })
  prepareEngineHome(environment.UNSTUCK_HOME)
})
afterAll(async () => {
  await unstuck('stop')
  await removeFolder(top)
})

it.runIf(isLongForm)(
  'shows a plan as a checklist that can be run, and changes nothing',
  async () => {
    answer(JSON.stringify(plan))
    const before = git('rev-parse', 'main')
    const shown = await unstuck('plan', 'Add a sum')
    expect(shown.exitCode, shown.stderr).toBe(0)
    // The circle is cut, what the base commit lacks is left out, and each correction is named.
    expect(shown.stdout.match(/^- \[ \] .+$/gm)).toEqual([
      '- [ ] Add the sum',
      '- [ ] Use the sum',
      '- [ ] Complete the documentation',
    ])
    for (const named of ['../outside', 'npm run nope']) expect(shown.stdout).toContain(named)
    expect(shown.stdout.match(/^ {2}- after: .+$/gm)).toEqual(['  - after: 1', '  - after: 2'])
    expect(shown.stdout).not.toContain('run: `npm run nope`')
    put(top, { 'plan.md': shown.stdout })
    const dry = await unstuck('run', '--dry-run', join(top, 'plan.md'))
    expect(dry.exitCode, dry.stderr).toBe(0)
    expect(git('rev-parse', 'main')).toBe(before)
    expect(git('status', '--porcelain')).toBe('')
  },
  60_000,
)

it('runs the tasks of a plan in its order, and lands them', async () => {
  answer(JSON.stringify(plan))
  const ran = await unstuck('run', '--plan', '--merge', 'Add a sum, and use it')
  expect(ran.exitCode, ran.stdout).toBe(0)
  expect(git('log', '--format=%s', '-3').split('\n')).toEqual([
    'Complete the documentation',
    'Use the sum',
    'Add the sum',
  ])
}, 120_000)

it('a plan to review is a question in the inbox: another plan, then a start; before that nothing begins', async () => {
  answer(JSON.stringify(plan))
  const ran = await unstuck('run', '--review-plan', 'Add a sum once more')
  const id = /\[(g-[a-z0-9]+)\]/.exec(ran.stdout)?.[1] ?? ''
  expect(ran.exitCode, ran.stdout).toBe(exitCodes.needsPerson)
  const tasks = async () =>
    JSON.parse((await unstuck('tasks', '--json', '--goal', id)).stdout) as { title: string; status: string }[]
  const states = async (): Promise<string[]> => (await tasks()).map(({ status }) => status)
  const asked = async (): Promise<InboxQuestion[]> =>
    (JSON.parse((await unstuck('inbox', '--json')).stdout) as InboxView).groups.flatMap(({ questions }) => questions)
  expect(await states()).toEqual(['done', 'queued', 'queued', 'queued'])
  const [first] = await asked()
  expect(first).toMatchObject({ kind: 'plan_review', goalId: id, taskId: null })
  expect(first?.choices.map((choice) => choice.id)).toEqual(['start', 'edit', 'cancel'])
  for (const named of ['Add the sum', 'src/use.js', 'npm test']) expect(first?.details).toContain(named)

  // Without a word there is nothing to plan by.
  expect((await unstuck('answer', id, 'edit')).exitCode).toBe(exitCodes.usage)
  const one = { ...plan.tasks[1], instructions: 'Write src/more.js.', after: [] }
  answer(JSON.stringify({ tasks: [one], documentationGaps: [] }))
  expect((await unstuck('answer', id, 'edit', '--text', 'One task is enough')).exitCode).toBe(0)
  await expect.poll(asked, { timeout: 60_000, interval: 300 }).toMatchObject([{ kind: 'plan_review', goalId: id }])
  expect((await asked())[0]?.id).not.toBe(first?.id)
  expect(readFileSync(join(top, 'asked'), 'utf8')).toContain('One task is enough')
  expect(await states()).toEqual(['done', 'cancelled', 'cancelled', 'cancelled', 'queued'])

  expect((await unstuck('answer', id, 'start')).exitCode).toBe(0)
  expect(await asked()).toEqual([])
  const goal = async () => JSON.parse((await unstuck('status', '--json')).stdout) as StatusView
  await expect
    .poll(async () => (await goal()).goals.find((each) => each.id === id)?.state, { timeout: 60_000, interval: 300 })
    .toBe('ready')
  expect(await states()).toEqual(['done', 'cancelled', 'cancelled', 'cancelled', 'done'])
}, 180_000)

it.runIf(isLongForm)(
  'a plan that is not wanted is cancelled with its goal',
  async () => {
    const ran = await unstuck('run', '--review-plan', 'Add a sum for nothing')
    const id = /\[(g-[a-z0-9]+)\]/.exec(ran.stdout)?.[1] ?? ''
    expect((await unstuck('answer', id, 'cancel')).exitCode).toBe(0)
    expect((await unstuck('inbox')).exitCode).toBe(0)
  },
  60_000,
)

it('a goal that cannot be planned is one task, and it is said why', async () => {
  answer('I would first look around.')
  const ran = await unstuck('run', '--plan', '--json', 'Write src/last.js')
  expect(ran.exitCode, ran.stdout).toBe(0)
  const lines = ran.stdout
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; payload?: Record<string, unknown> })
  const planned = lines.find(({ type }) => type === 'planner.plan_created')?.payload
  expect(planned).toMatchObject({
    count: 1,
    policyRecoveryHintApplications: [],
    reason: expect.stringContaining('JSON') as unknown,
  })
}, 120_000)

it('refuses to plan a goal that is divided already', async () => {
  const before = git('branch', '--list', 'unstuck/*')
  put(top, { 'two.md': '- [ ] a\n- [ ] b\n' })
  const ran = await unstuck('run', '--plan', join(top, 'two.md'))
  expect(ran.exitCode).toBe(exitCodes.usage)
  expect(git('branch', '--list', 'unstuck/*')).toBe(before)
})
