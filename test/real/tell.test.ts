/** A person writes to a real CLI in the middle of a tool call: it is interrupted, and reads the message in the same session. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { shortened } from '../support/form.ts'
import { openUser, until, type Printed, type User } from './user.ts'

let user: User | undefined
afterEach(async () => {
  await user?.close()
  user = undefined
})

const goIn = (root: string): string => join(root, 'go')

/** The sessions of the CLIs in this home that hold all of these texts. */
const sessionsWith = (root: string, ...texts: string[]): string[] =>
  readdirSync(join(root, 'home'), { recursive: true, encoding: 'utf8' })
    .filter((path) => /sessions|projects/.test(path) && path.endsWith('.jsonl'))
    .filter((path) => {
      const session = readFileSync(join(root, 'home', path), 'utf8')
      return texts.every((text) => session.includes(text))
    })

test.each(shortened(['claude', 'codex'] as const, 1))('%s', async (cli) => {
  user = await openUser(
    (root) => [
      {
        name: 'job',
        match: 'Paint it',
        steps: [
          { write: { path: 'begun.txt', content: 'begun\n' } },
          { hold: { until: goIn(root) } },
          { write: { path: 'colour.txt', content: 'blue\n' } },
          { text: 'It is blue.' },
        ],
      },
    ],
    {},
    [cli],
  )
  const { git, project, root, sim } = user
  const runs = async (): Promise<Printed[]> => ((await user?.lines('runs'))?.[0] ?? []) as Printed[]
  writeFileSync(join(project, 'check.js'), "require('node:fs').readFileSync('colour.txt')\n")
  git('init', '-q', '-b', 'main')
  git('add', '-A')
  git('commit', '-qm', 'Start')
  const task = { title: 'Paint it', instructions: 'Paint it.', harness: cli, commands: ['node check.js'] }
  writeFileSync(join(root, 'tasks.json'), JSON.stringify({ version: 1, goal: 'Paint it', tasks: [task] }))
  const running = user.start('run', join(root, 'tasks.json'), '--json')
  await until('the held call', () => sim.requests().some(({ step }) => step === 1))
  expect(await user.unstuck('tell', (await runs())[0]?.taskId, 'Use blue')).toMatchObject({ code: 0 })
  // Not before the interruption: else the call would end by itself.
  await until('the second launch', async () => (await runs())[0]?.launches.length === 2)
  writeFileSync(goIn(root), '')
  const ended = await running.ended
  expect(ended.code, ended.stdout).toBe(0)
  const [run, ...more] = await runs()
  expect(more).toEqual([])
  expect(run?.launches.map(({ resumeSession }: Printed) => resumeSession)).toEqual([null, run?.sessionId])
  expect(git('show', `unstuck/goal/${run?.goalId}:begun.txt`)).toBe('begun')
  const read = (await user.events(run?.goalId)).filter(({ type }) => type === 'run.message_read')
  expect(read.map(({ payload }) => payload)).toEqual([{ text: 'Use blue', resumed: true }])
  expect(sessionsWith(root, 'Paint it', 'Use blue')).toHaveLength(1)
})
