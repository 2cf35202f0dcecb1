/**
 * A session with the real Claude and the real Codex at once: each task has a fault of its own, and its model mends the work when
 * it is told. All of it lands without a question; a check that never passes is one.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { CliName } from '../../scripts/install-clis.ts'
import type { ScriptInput } from '../../sim/script.ts'
import { openUser, type EndedCommand, type Printed, type User } from './user.ts'
import { isLongForm } from '../support/form.ts'

type Steps = ScriptInput['conversations'][number]['steps']

let user: User | undefined
afterEach(async () => {
  await user?.close()
  user = undefined
})

const moduleOf = (value: number): string => `module.exports = ${value}\n`
const write = (name: string, value: number): Steps[number] => ({
  write: { path: `src/${name}.js`, content: moduleOf(value) },
})
const right = (name: string): Steps => [write(name, 42), { text: 'Written.' }]
const wrong = (name: string): Steps => [write(name, 41), { text: 'Written.' }]

interface Fault {
  steps: (name: string) => Steps
  /** How often its agent has to start at least. */
  starts: number
  only?: CliName
}

const faults: Record<string, Fault> = {
  plain: { steps: right, starts: 1 },
  red: { steps: (name) => [...wrong(name), ...right(name)], starts: 2 },
  later: { steps: (name) => [{ text: 'Not now. Please ask me another time.' }, ...right(name)], starts: 2 },
  idle: { steps: (name) => [{ read: 'package.json' }, { text: 'All done.' }, ...right(name)], starts: 2 },
  overload: { steps: (name) => [{ error: { status: 503, times: 6 } }, ...right(name)], starts: 2 },
  limit: { steps: (name) => [{ limit: { resetInSeconds: 3, times: 3 } }, ...right(name)], starts: 2 },
  hang: { steps: (name) => [{ silence: { times: 1 } }, ...right(name)], starts: 2 },
  // The shell of a command of Codex's is not its child.
  crash: {
    steps: (name) => [{ shell: '[ -e .git/killed ] || { touch .git/killed; kill -9 $PPID; }' }, ...right(name)],
    starts: 2,
    only: 'claude',
  },
}

const players = (['claude', 'codex'] as const).flatMap((cli) =>
  Object.entries(faults)
    .filter(([, { only = cli }]) => only === cli)
    .map(([fault, { steps, starts }]) => ({ name: `${fault}-${cli}`, cli, steps, starts })),
)

const titleOf = (name: string): string => `Write the module ${name} now`

const testOf = (name: string): string =>
  `require('node:test').test('the answer of ${name}', () => require('node:assert').equal(require('../src/${name}.js'), 42))\n`

const putUnderGit = ({ project, git }: User, names: string[]): void => {
  writeFileSync(join(project, 'package.json'), '{ "private": true }\n')
  for (const name of names) writeFileSync(join(project, `${name}.test.js`), testOf(name).replace('../src', './src'))
  git('init', '-q', '-b', 'main')
  git('add', '-A')
  git('commit', '-qm', 'Start')
}

const writeTasks = ({ root }: User, tasks: { name: string; cli: CliName }[]): string => {
  const file = join(root, 'tasks.json')
  const listed = tasks.map(({ name, cli }) => ({
    ...{ title: titleOf(name), instructions: `${titleOf(name)}.`, harness: cli },
    ...{ allowedPaths: [`src/${name}.js`], commands: [`node --test ${name}.test.js`] },
  }))
  writeFileSync(file, JSON.stringify({ version: 1, goal: 'Write the modules', tasks: listed }))
  return file
}

const goalOf = ({ stdout, stderr }: EndedCommand): Printed => {
  const last = stdout.trim().split('\n').at(-1) ?? ''
  expect(last, stderr).toMatch(/^\{"type":"result"/)
  return (JSON.parse(last) as Printed).goal as Printed
}

const clocks = {
  maxParallel: 3,
  retry: { transientBaseSeconds: 1, transientMaxSeconds: 4, quotaBaseSeconds: 3, quotaMaxSeconds: 10 },
  stall: { silenceSeconds: 20, afterToolResultSeconds: 20, promptSeconds: 20, lingerSeconds: 20 },
}

const opened = (events: Printed[]): Printed[] => events.filter(({ type }) => type === 'escalation.opened')

test.runIf(isLongForm)('each of these faults is recovered from, and all of the work lands', async () => {
  user = await openUser(
    () => players.map(({ name, steps }) => ({ name, match: titleOf(name), steps: steps(name) })),
    // Claude's own patience with a busy provider is minutes.
    { CLAUDE_CODE_MAX_RETRIES: '1' },
  )
  user.configure(clocks)
  putUnderGit(
    user,
    players.map(({ name }) => name),
  )
  const goal = goalOf(await user.unstuck('run', writeTasks(user, players), '--merge', '--json'))
  const events = await user.events(goal.id)
  expect(opened(events).map(({ payload }) => payload)).toEqual([])
  expect(goal.state).toBe('done')
  const [runs] = (await user.lines('runs')) as unknown as [Printed[]]
  const seen = players.map(({ name, starts }) => {
    const { id } = goal.tasks.find(({ title }: Printed) => title === titleOf(name))
    const launches = runs.filter(({ taskId }) => taskId === id).flatMap((run) => run.launches).length
    return { name, landed: user?.git('show', `main:src/${name}.js`), enough: launches >= starts }
  })
  expect(seen).toEqual(players.map(({ name }) => ({ name, landed: moduleOf(42).trim(), enough: true })))
  expect(await user.leave()).toEqual([])
})

// One CLI is enough: how each is told of a failed check is in the test above, and when a person is asked does not depend on it.
test('a check that Claude never gets right is one question, and nothing lands', async () => {
  const name = 'never'
  user = await openUser(() => [
    { name, match: titleOf(name), steps: [...wrong(name), ...wrong(name), ...wrong(name), ...wrong(name)] },
  ])
  putUnderGit(user, [name])
  const ended = await user.unstuck('run', writeTasks(user, [{ name, cli: 'claude' }]), '--merge', '--json')
  expect(ended.code).toBe(3)
  const goal = goalOf(ended)
  expect(opened(await user.events(goal.id))).toHaveLength(1)
  expect(user.git('ls-tree', '--name-only', 'main', 'src/')).toBe('')
  expect(await user.leave()).toEqual([])
})
