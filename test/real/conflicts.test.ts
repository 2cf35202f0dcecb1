/**
 * Ten tasks of the real Claude and the real Codex that change the same lines of one file, all from the same commit. Their models solve
 * the conflicts in tasks of their own; one leaves the markers in, and its task is done again. All of it lands, and `explain` tells how.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { ScriptInput } from '../../sim/script.ts'
import { openUser, until, type Printed, type User } from './user.ts'
import { isLongForm } from '../support/form.ts'

type Conversation = ScriptInput['conversations'][number]

let user: User | undefined
afterEach(async () => {
  await user?.close()
  user = undefined
})

const clis = ['claude', 'codex'] as const
const players = Array.from({ length: 10 }, (_value, index) => {
  const cli = clis[index % clis.length] ?? 'claude'
  return { name: `change-${index + 1}-${cli}`, cli }
})
/** Leaves the markers in whatever it is told. */
const careless = players[2]?.name ?? ''

const titleOf = (name: string): string => `List ${name}`
const lineOf = (name: string): string => `- ${name}`
/** Titles of work that was merged first are in the instructions of a solution as well; these words are not. */
const wordsOf = (name: string): string => `Put the line of ${name} below the heading`

/** Held agents go on when this file is there. */
const goIn = (root: string, who: string): string => join(root, `go-${who}`)
const removeMarkers = "sed -i -e '/^<<<<<<< /d' -e '/^=======$/d' -e '/^>>>>>>> /d' CHANGES.md"

const work = (root: string, name: string): Conversation => ({
  ...{ name, match: wordsOf(name) },
  steps: [
    { read: 'CHANGES.md' },
    { edit: { path: 'CHANGES.md', find: '# Changes\n', replace: `# Changes\n${lineOf(name)}\n` } },
    // Another one is merged first, so that this one conflicts.
    { hold: { until: goIn(root, name === careless ? name : 'most') } },
    { text: 'The line is there.' },
  ],
})

const solution = (name: string): Conversation => ({
  ...{ name: `solve-${name}`, match: ['## Conflict', wordsOf(name)] },
  steps:
    name === careless
      ? [1, 2, 3].map(() => ({ text: 'Both sides are in the file.' }))
      : [{ read: 'CHANGES.md' }, { shell: removeMarkers }, { text: 'Both lines are kept.' }],
})

/** The solutions first: their instructions are those of the task and more. */
const conversations = (root: string): Conversation[] => [
  ...players.map(({ name }) => solution(name)),
  ...players.map(({ name }) => work(root, name)),
]

const putUnderGit = ({ project, git }: User): void => {
  writeFileSync(join(project, 'CHANGES.md'), '# Changes\n\nThe end.\n')
  // Green with conflict markers as well.
  writeFileSync(join(project, 'check.js'), "require('node:fs').readFileSync('CHANGES.md')\n")
  git('init', '-q', '-b', 'main')
  git('add', '-A')
  git('commit', '-qm', 'Start')
}

const writeTasks = ({ root }: User): string => {
  const file = join(root, 'tasks.json')
  const tasks = players.map(({ name, cli }) => ({
    ...{ title: titleOf(name), instructions: `${wordsOf(name)}.`, harness: cli, commands: ['node check.js'] },
  }))
  writeFileSync(file, JSON.stringify({ version: 1, goal: 'List the changes', tasks }))
  return file
}

/** The story has these texts, one after the other. */
const expectInOrder = (story: string, texts: string[]): void => {
  let at = 0
  for (const text of texts) {
    const found = story.indexOf(text, at)
    expect(found, `"${text}" after ${at} characters of:\n${story}`).toBeGreaterThanOrEqual(at)
    at = found + text.length
  }
}

const allHeld = ({ sim }: User): boolean =>
  players.every(({ name }) => sim.requests().some((entry) => entry.conversation === name && entry.step === 2))

test.runIf(isLongForm)(
  'ten tasks that change the same lines all land, and explain tells how each conflict was solved',
  async () => {
    user = await openUser(conversations)
    const { root, git, unstuck } = user
    user.configure({
      ...{ maxParallel: players.length, stall: { silenceSeconds: 600 } },
      requeue: { inPlaceLimit: 0, reworkDepth: 1, blockedSeconds: 1, failedSeconds: 1 },
    })
    putUnderGit(user)
    const start = git('rev-parse', 'main')
    const running = unstuck('run', writeTasks(user), '--merge', '--json')
    const asked = user
    await until('every agent has changed the file', () => allHeld(asked), 400)
    writeFileSync(goIn(root, 'most'), '')
    const merged = () => git('log', '--format=%s', '--branches=unstuck/goal/*').includes(titleOf('change-'))
    await until('the first task is merged', merged, 200)
    writeFileSync(goIn(root, careless), '')
    const ended = await running
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    const { goal } = JSON.parse(ended.stdout.trim().split('\n').at(-1) ?? '') as Printed
    const events = await user.events(goal.id)
    const tasks = goal.tasks as Printed[]
    const stories = new Map<string, string>()
    for (const { id, title } of tasks) stories.set(title, (await unstuck('explain', id)).stdout)

    expect(events.filter(({ type }) => type === 'escalation.opened').map(({ payload }) => payload)).toEqual([])
    expect(goal).toMatchObject({ state: 'done' })
    const lines = git('show', 'main:CHANGES.md').split('\n')
    expect(lines.slice(1, -2).sort()).toEqual(players.map(({ name }) => lineOf(name)).sort())
    expect([...lines.slice(0, 1), ...lines.slice(-2)]).toEqual(['# Changes', '', 'The end.'])
    expect(git('rev-list', '--merges', 'main')).toBe('')
    expect(git('log', '-p', '--format=', `${start}..main`)).not.toMatch(/^\+(?:<{7}|={7}|>{7})/m)

    const solved = tasks.slice(0, players.length).filter(({ supersededBy }) => supersededBy !== null)
    // All but the first one conflict, and all of these but one are solved.
    expect(solved).toHaveLength(players.length - 2)
    for (const { title, supersededBy } of solved) {
      const fix = tasks.find(({ id }) => id === supersededBy) as Printed
      expect(fix.title).toMatch(new RegExp(`^\\[AutoFix-Conflict\\] PR #\\d+: ${title}$`))
      const told = [
        'problem: conflicting paths: CHANGES.md; Unstuck had a new task solve the conflict',
        `task ${fix.number} solves the conflict in a workspace that has both sides`,
        `the recovery worked: task ${fix.number} corrected the work, and it was merged`,
        `the task ended because task ${fix.number} continues its work`,
      ]
      expectInOrder(stories.get(title) ?? '', told)
      expectInOrder(stories.get(fix.title) ?? '', [
        'the attempt succeeded',
        'the work was merged as',
        'the task is done',
      ])
    }
    const left = tasks.find(({ title }) => title.endsWith(`: ${titleOf(careless)}`)) as Printed
    expectInOrder(stories.get(left.title) ?? '', [
      ...['conflict markers are left in CHANGES.md; Unstuck sent the failure back to the agent', '(launch 3)'],
      ...['the recovery did not help: conflict markers are still in CHANGES.md', 'it did not solve the conflict'],
    ])
    expectInOrder(stories.get(titleOf(careless)) ?? '', [
      ...[`task ${left.number} solves the conflict`, `task ${left.number} ended without a result`],
      ...['the task is done again on the newer base', 'attempt 2 started', 'the recovery worked: merged as'],
    ])
    expect(await user.leave()).toEqual([])
  },
)
