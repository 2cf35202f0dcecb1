/**
 * Changed paths outside the task, with the real Claude and the real Codex: the agent writes a file that no rule decides about, the same
 * CLI is asked read-only, and its model allows, discards or denies it, or tries to leave the fence. What lands is what the answer
 * permits.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { CliName } from '../../scripts/install-clis.ts'
import type { ScriptInput } from '../../sim/script.ts'
import { openUser, type EndedCommand, type Printed, type User } from './user.ts'
import { isLongForm } from '../support/form.ts'

type Conversation = ScriptInput['conversations'][number]
type Steps = Conversation['steps']

let user: User | undefined
afterEach(async () => {
  await user?.close()
  user = undefined
})

const clis = ['claude', 'codex'] as const

const titleOf = (name: string): string => `Write the module ${name} now`
const strayOf = (name: string): string => `shared/${name}.txt`

type Decision = {
  path: string
  action: 'allow' | 'discard' | 'deny'
  reason: string
}

const decided = (...decisions: Decision[]): Steps => [{ answer: { decisions, summary: 'Decided.', confidence: 0.9 } }]

const work = (name: string): Steps => [
  { write: { path: `src/${name}.js`, content: 'module.exports = 42\n' } },
  { write: { path: strayOf(name), content: `by the agent of ${name}\n` } },
  { text: 'Written.' },
]
// Codex refuses `rm -f` as a dangerous command.
const takesBack = (name: string): Steps => [{ shell: `unlink ${strayOf(name)}` }, { text: 'Taken back.' }]

interface Case {
  answer: (name: string) => Steps
  /** What the agent does when its work comes back. */
  then?: (name: string) => Steps
  more?: object
}

const cases: Record<string, Case> = {
  allow: { answer: (name) => decided({ path: strayOf(name), action: 'allow', reason: 'the module needs it' }) },
  discard: { answer: (name) => decided({ path: strayOf(name), action: 'discard', reason: 'a note to itself' }) },
  deny: {
    answer: (name) => decided({ path: strayOf(name), action: 'deny', reason: 'it belongs to another task' }),
    then: takesBack,
  },
  fence: {
    answer: () =>
      decided(
        { path: '**', action: 'allow', reason: 'everything' },
        { path: 'package.json', action: 'allow', reason: 'not in question' },
      ),
    then: takesBack,
  },
  // A denied path is never asked about: it goes back to the agent at once.
  denied: {
    answer: (name) => decided({ path: strayOf(name), action: 'allow', reason: 'needed' }),
    then: takesBack,
    more: { deniedPaths: ['shared/denied-*'] },
  },
}

interface Player extends Case {
  name: string
  cli: CliName
}

const players: Player[] = clis.flatMap((cli) =>
  Object.entries(cases).map(([name, one]) => ({ ...one, name: `${name}-${cli}`, cli })),
)

const stubborn = clis.map((cli): Player => ({
  ...{ name: `stubborn-${cli}`, cli },
  answer: (name) =>
    [1, 2, 3].flatMap(() => decided({ path: strayOf(name), action: 'deny', reason: 'not of this task' })),
  then: () => [1, 2, 3].map(() => ({ text: 'It has to stay.' })),
}))

/** The questions first: they name the task as well. */
const conversations = (played: readonly Player[]): Conversation[] => [
  ...played.map(({ name, answer }) => ({
    name: `ask-${name}`,
    match: ['Question: changed paths', strayOf(name)],
    steps: answer(name),
  })),
  ...played.map(({ name, then }) => ({
    name,
    match: titleOf(name),
    steps: [...work(name), ...(then?.(name) ?? [])],
  })),
]

const putUnderGit = ({ project, git }: User, names: string[]): void => {
  writeFileSync(join(project, 'package.json'), '{ "private": true }\n')
  for (const name of names)
    writeFileSync(
      join(project, `${name}.test.js`),
      `require('node:test').test('${name}', () => require('node:assert').equal(require('./src/${name}.js'), 42))\n`,
    )
  git('init', '-q', '-b', 'main')
  git('add', '-A')
  git('commit', '-qm', 'Start')
}

const writeTasks = ({ root }: User, played: readonly Player[]): string => {
  const file = join(root, 'tasks.json')
  const tasks = played.map(({ name, cli, more }) => ({
    ...{ title: titleOf(name), instructions: `${titleOf(name)}.`, harness: cli },
    ...{ allowedPaths: [`src/${name}.js`], commands: [`node --test ${name}.test.js`], ...more },
  }))
  writeFileSync(file, JSON.stringify({ version: 1, goal: 'Write the modules', tasks }))
  return file
}

const goalOf = ({ stdout, stderr }: EndedCommand): Printed => {
  const last = stdout.trim().split('\n').at(-1) ?? ''
  expect(last, stderr).toMatch(/^\{"type":"result"/)
  return (JSON.parse(last) as Printed).goal as Printed
}

/** What was discarded is still in the snapshot of its run. */
const discarded = async (asked: User, taskId: string, name: string): Promise<string> => {
  const [runs] = (await asked.lines('runs')) as unknown as [Printed[]]
  const folder = join(asked.root, `restored-${name}`)
  await asked.unstuck('restore', runs.find((run) => run.taskId === taskId)?.id as string, '--into', folder)
  return readFileSync(join(folder, strayOf(name)), 'utf8')
}

test.runIf(isLongForm)(
  'a model allows, discards, denies, or tries to leave the fence: what lands is what its answer permits',
  async () => {
    user = await openUser(() => conversations(players))
    user.configure({ maxParallel: 3, policyRecovery: { useLlm: true } })
    putUnderGit(
      user,
      players.map(({ name }) => name),
    )
    const goal = goalOf(await user.unstuck('run', writeTasks(user, players), '--merge', '--json'))
    const events = await user.events(goal.id)
    expect(events.filter(({ type }) => type === 'escalation.opened').map(({ payload }) => payload)).toEqual([])
    expect(goal.state).toBe('done')
    for (const cli of clis) {
      const taskOf = (name: string): string =>
        goal.tasks.find(({ title }: Printed) => title === titleOf(`${name}-${cli}`)).id as string
      const of = (name: string, type: string): Printed[] =>
        events.filter((event) => event.taskId === taskOf(name) && event.type === type).map(({ payload }) => payload)
      const names = Object.keys(cases)
      const landed = names.map((name) => [name, user?.git('ls-tree', '--name-only', 'main', strayOf(`${name}-${cli}`))])
      expect(landed).toEqual(names.map((name) => [name, name === 'allow' ? strayOf(`allow-${cli}`) : '']))
      for (const name of names) expect(user.git('show', `main:src/${name}-${cli}.js`)).toBe('module.exports = 42')
      expect(of('allow', 'task.policy_recovery_decided')).toMatchObject([
        { harness: cli, counts: { allow: 1, discard: 0, deny: 0 }, decisions: [{ path: strayOf(`allow-${cli}`) }] },
      ])
      expect(of('allow', 'policy.granted')).toMatchObject([
        { path: strayOf(`allow-${cli}`), scope: 'run', by: 'model' },
      ])
      expect(of('allow', 'task.policy_recovery_applied')).toMatchObject([{ action: 'allow' }])
      const allowed = strayOf(`allow-${cli}`)
      const told = (await user.unstuck('explain', taskOf('allow'))).stdout
      expect(told).toMatch(new RegExp(`${allowed} may be changed by run \\S+: the module needs it \\[model\\]`))
      expect(of('discard', 'task.policy_recovery_applied')).toMatchObject([{ action: 'discard' }])
      expect(of('deny', 'task.policy_recovery_denied')).toMatchObject([
        { denied: [{ path: strayOf(`deny-${cli}`), reason: 'it belongs to another task' }] },
      ])
      expect(of('fence', 'task.policy_recovery_decided')).toMatchObject([
        { counts: { allow: 0 }, refused: [{ path: '**' }, { path: 'package.json' }] },
      ])
      expect([...of('fence', 'policy.granted'), ...of('denied', 'policy.granted')]).toEqual([])
      expect(of('denied', 'task.policy_recovery_decided')).toEqual([])
      expect(await discarded(user, taskOf('discard'), `discard-${cli}`)).toBe(`by the agent of discard-${cli}\n`)
    }
    expect(await user.leave()).toEqual([])
  },
)

test('an agent that keeps a denied file is told once, and then a person is asked', async () => {
  user = await openUser(() => conversations(stubborn))
  user.configure({ maxParallel: 2, policyRecovery: { useLlm: true } })
  putUnderGit(
    user,
    stubborn.map(({ name }) => name),
  )
  const goal = goalOf(await user.unstuck('run', writeTasks(user, stubborn), '--merge', '--json'))
  const events = await user.events(goal.id)
  expect(goal.state).toBe('awaiting_human')
  for (const { name } of stubborn) {
    const task = goal.tasks.find(({ title }: Printed) => title === titleOf(name)) as Printed
    const of = (type: string): Printed[] =>
      events.filter((event) => event.taskId === task.id && event.type === type).map(({ payload }) => payload)
    expect(task.status).toBe('blocked(awaiting_human)')
    expect(of('task.policy_recovery_denied')).toMatchObject([
      { denied: [{ path: strayOf(name), reason: 'not of this task' }], text: expect.stringContaining(strayOf(name)) },
    ])
    expect(of('escalation.opened')).toMatchObject([
      {
        kind: 'exhausted',
        tried: [
          expect.stringContaining('the model allowed nothing'),
          `sent the failure back to the agent once: still changed: ${strayOf(name)}`,
        ],
      },
    ])
    const played = user.sim.requests().filter(({ conversation }) => conversation?.endsWith(name))
    expect(played.map(({ conversation, kind }) => `${conversation} ${kind}`)).toEqual([
      ...['write', 'write', 'text'].map((kind) => `${name} ${kind}`),
      ...[`ask-${name} answer`, `${name} text`],
    ])
    expect(user.git('ls-tree', '--name-only', 'main', strayOf(name), `src/${name}.js`)).toBe('')
  }
  expect(await user.leave()).toEqual([])
})
