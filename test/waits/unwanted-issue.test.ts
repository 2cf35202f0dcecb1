/** Issues lose their label, or are closed, before their goals begin and while they are at work. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { GoalView, StatusView } from '../../src/api/contract.ts'
import type { HeldIssue } from '../support/github.ts'
import { eventually, openForgeUser } from './forge-user.ts'

const { top, cli, json, github, forge, ...owner } = await openForgeUser()

beforeAll(() => {
  // It works until the test lets it end.
  const agent = `#!/bin/sh\nwhile [ ! -e ${top}/go ]; do sleep 0.2; done\nmkdir -p src\necho made >> src/made.js\n`
  writeFileSync(join(top, 'agent.sh'), agent, { mode: 0o755 })
  owner.configure([join(top, 'agent.sh')], { forge, maxParallel: 1 })
})
afterAll(owner.leave)

test(
  'what has not begun is not started, and is taken again with its label; what is at work is one question',
  { timeout: 240_000 },
  async () => {
    const issue = (number: number, title: string): HeldIssue => ({
      number,
      title,
      body: 'Please.',
      labels: ['Unstuck'],
    })
    const [first, second, third] = [issue(1, 'First'), issue(2, 'Second'), issue(3, 'Third')]
    github.issues.push(first, second, third)
    // It starts the engine, which takes the issues.
    expect(await cli('schedule', 'add', '0 0 1 1 *', 'Later')).toMatchObject({ exitCode: 0 })
    const status = () => json<StatusView>('status')
    const titled = async (title: string): Promise<GoalView[]> =>
      (await status()).goals.filter((goal) => goal.title === title)
    const stateOf = async (title: string) => (await titled(title)).map(({ state }) => state)
    const questions = async () => (await status()).escalations.filter(({ state }) => state === 'pending')
    await expect.poll(async () => (await titled('First'))[0]?.tasks[0]?.status, eventually).toBe('running')
    expect(await stateOf('Second')).toEqual(['active'])

    second.labels = []
    third.state = 'closed'
    await expect.poll(() => stateOf('Second'), eventually).toEqual(['cancelled'])
    await expect.poll(() => stateOf('Third'), eventually).toEqual(['cancelled'])
    expect(await questions()).toEqual([])

    first.labels = ['bug']
    await expect.poll(questions, eventually).toMatchObject([{ kind: 'issue_changed' }])
    expect((await questions())[0]?.choices.map(({ id }) => id)).toEqual(['keep', 'cancel'])
    first.labels = ['unstuck']
    await expect.poll(questions, eventually).toEqual([])
    first.labels = []
    await expect.poll(async () => (await questions()).length, eventually).toBe(1)
    expect(await cli('answer', (await questions())[0]?.id ?? '', 'keep')).toMatchObject({ exitCode: 0 })

    second.labels = ['unstuck']
    writeFileSync(join(top, 'go'), '')
    await expect.poll(() => stateOf('First'), eventually).toEqual(['ready'])
    await expect.poll(async () => (await stateOf('Second')).toSorted(), eventually).toEqual(['cancelled', 'ready'])
    // Finished work may lose its label, and a closed issue stays without a goal.
    expect(await questions()).toEqual([])
    expect(await stateOf('Third')).toEqual(['cancelled'])
  },
)
