/** The tasks of a planned goal are done: what the goal asks for and nobody did becomes work, at most twice, and only in the goal's own words. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { put } from '../workspace/scene.ts'
import { openForgeUser } from './forge-user.ts'
import { isLongForm } from '../support/form.ts'

const { top, root, github, cli, forge, ...owner } = await openForgeUser()

const taskFor = (name: string) => ({
  ...{ id: name, title: `Write ${name}`, instructions: `Write src/${name}.js.`, purpose: name },
  allowedPaths: ['src/**'],
})
const plan = { tasks: [taskFor('read'), taskFor('print')] }
const missing = (name: string, asked: string) => ({
  missing: [{ ...taskFor(name), asked, evidence: `there is no src/${name}.js` }],
})

/** Answers the questions about the plan from files, the n-th about what is missing from `missing-<n>`, and does tasks by their text. */
const agent = `import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
const top = ${JSON.stringify(top)}
const prompt = process.argv.at(-1)
if (prompt.includes('Question: the plan')) console.log(readFileSync(top + '/plan', 'utf8'))
else if (prompt.includes('Question: what the goal still lacks')) {
  appendFileSync(top + '/asked', '+')
  writeFileSync(top + '/question', prompt)
  const file = top + '/missing-' + readFileSync(top + '/asked', 'utf8').length
  console.log(existsSync(file) ? readFileSync(file, 'utf8') : '{"missing": []}')
} else {
  mkdirSync('src', { recursive: true })
  writeFileSync(/Write (src\\/\\w+\\.js)/.exec(prompt)[1], 'export const value = 1\\n')
}
`

const configure = (more: object = {}): void => owner.configure([process.execPath, join(top, 'agent.mjs')], more)

const asked = (): number => readFileSync(join(top, 'asked'), 'utf8').length
const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()

interface Event {
  type: string
  taskId?: string
  payload: Record<string, unknown>
}

const run = async (requirement: string, ...more: string[]): Promise<Event[]> => {
  const ran = await cli('run', '--plan', '--merge', '--json', ...more, requirement)
  expect(ran.exitCode, ran.stdout + ran.stderr).toBe(0)
  return ran.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Event)
}
const replans = (events: readonly Event[]): string[] =>
  events.filter(({ type }) => type.startsWith('planner.replan')).map(({ type }) => type.replace('planner.replan_', ''))
const one = (events: readonly Event[], type: string): Event['payload'] =>
  events.find((event) => event.type === type)?.payload ?? {}

beforeAll(() => put(top, { 'agent.mjs': agent }))
beforeEach(() => {
  git('reset', '--hard', '-q')
  configure()
  writeFileSync(join(top, 'plan'), JSON.stringify(plan))
  writeFileSync(join(top, 'asked'), '')
  for (const n of [1, 2, 3]) writeFileSync(join(top, `missing-${n}`), '{"missing": []}')
})
afterAll(owner.leave)

test('what nobody did is done before the goal lands, and is looked for once more', async () => {
  writeFileSync(join(top, 'missing-1'), JSON.stringify(missing('help', 'a *help* text')))
  const events = await run('Read and print a file, and show a help text')
  expect(replans(events)).toEqual(['triggered', 'finished', 'triggered', 'finished'])
  expect(git('log', '--format=%s', '-1')).toBe('Write help')
  expect(git('ls-tree', '-r', '--name-only', 'HEAD', 'src').split('\n')).toEqual([
    'src/help.js',
    'src/print.js',
    'src/read.js',
  ])
  // The planner has seen what was done.
  expect(readFileSync(join(top, 'question'), 'utf8')).toContain('src/help.js')
})

test.runIf(isLongForm)('what the goal does not say is no gap', async () => {
  writeFileSync(join(top, 'missing-1'), JSON.stringify(missing('logo', 'a logo in five colours')))
  const events = await run('Read and print another file')
  expect(replans(events)).toEqual(['triggered', 'finished'])
  expect(one(events, 'planner.replan_finished')).toMatchObject({
    count: 0,
    notes: [expect.stringContaining('a logo in five colours')],
  })
})

test.runIf(isLongForm)(
  'two comparisons are the most, and one that gives no answer ends the goal as it is',
  async () => {
    for (const n of [1, 2, 3]) writeFileSync(join(top, `missing-${n}`), JSON.stringify(missing(`more${n}`, 'for ever')))
    const events = await run('Read and print for ever')
    expect(replans(events)).toEqual(['triggered', 'finished', 'triggered', 'finished'])
    expect(asked()).toBe(2)
    writeFileSync(join(top, 'asked'), '')
    writeFileSync(join(top, 'missing-1'), 'All looks good to me.')
    writeFileSync(join(top, 'missing-2'), 'All looks good to me.')
    expect(replans(await run('Read and print in vain'))).toEqual(['triggered', 'failed'])
  },
)

test.runIf(isLongForm)('a goal that is one task, and an owner who wants no comparison, cost no question', async () => {
  writeFileSync(join(top, 'plan'), JSON.stringify({ tasks: [taskFor('alone')] }))
  expect(replans(await run('Write it alone'))).toEqual([])
  configure({ planner: { replans: 0 } })
  writeFileSync(join(top, 'plan'), JSON.stringify(plan))
  expect(replans(await run('Read and print without a look'))).toEqual([])
  expect(asked()).toBe(0)
})

test.runIf(isLongForm)('planner.mode decides whether a goal is planned', async () => {
  configure({ planner: { mode: 'never' } })
  expect(await cli('run', '--plan', 'Read')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('planner.mode'),
  })
  configure({ planner: { mode: 'always', replans: 0 } })
  const ran = await cli('run', '--json', 'Read and print always')
  expect(ran.stdout).toContain('planner.plan_created')
})

test('issues are known before a replan: with issue backlog == 0 it goes on, an unknown backlog ends it', async () => {
  configure({ forge: { ...forge, pollSeconds: 3_600 } })
  // Role and dependency keep it from becoming a goal now; it is backlog all the same.
  github.issues.push(
    { number: 20, title: 'Translate the help', labels: ['unstuck'], body: 'Role: worker\nDepends on #21' },
    { number: 21, title: 'Else' },
  )
  expect(replans(await run('Read and print with issues'))).toEqual(['triggered', 'finished'])
  expect(readFileSync(join(top, 'question'), 'utf8')).toContain('Translate the help')
  github.refusals.push(...Array.from({ length: 20 }, () => ({ status: 404 })))
  const events = await run('Read and print without the forge')
  expect(replans(events)).toEqual(['triggered', 'skipped'])
  expect(asked()).toBe(1)
})
