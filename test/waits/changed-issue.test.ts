/** The issue of a goal is edited, edited back, and closed while the goal is at work. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { GoalView, StatusView } from '../../src/api/contract.ts'
import { eventually, openForgeUser } from './forge-user.ts'

const { top, cli, json, github, forge, ...owner } = await openForgeUser()

beforeAll(() => {
  // It works until the test lets it end.
  const agent = `#!/bin/sh\nwhile [ ! -e ${top}/go ]; do sleep 0.2; done\nmkdir -p src\necho made >> src/made.js\n`
  writeFileSync(join(top, 'agent.sh'), agent, { mode: 0o755 })
  owner.configure([join(top, 'agent.sh')], { forge: { ...forge, comments: 'goal' } })
})
afterAll(owner.leave)

test(
  'it is a question, which is asked once, withdrawn when the text returns, and obeyed as answered',
  { timeout: 300_000 },
  async () => {
    const issue = { number: 7, title: 'Make it', body: 'Please.', state: 'open' as 'open' | 'closed' }
    github.issues.push(issue)
    const { id } = await json<GoalView>('issue', '7', '--detach')
    const goals = async () => (await json<StatusView>('status')).goals
    const questions = async () =>
      (await json<StatusView>('status')).escalations.filter(({ state }) => state === 'pending')
    const polls = () => github.requests.filter((line) => line === 'GET /issues/7').length
    // The comment of the goal is no edit.
    await expect.poll(() => github.comments.length, eventually).toBe(1)
    const before = polls()
    await expect.poll(polls, eventually).toBeGreaterThan(before + 1)
    expect(await questions()).toEqual([])

    issue.body = 'Please, in green.'
    await expect.poll(questions, eventually).toMatchObject([{ kind: 'issue_changed', goalId: id, taskId: null }])
    const [first] = await questions()
    expect(first?.choices.map((choice) => choice.id)).toEqual(['keep', 'restart', 'cancel'])
    issue.title = 'Make it green'
    await expect
      .poll(async () => (await questions()).map(({ details }) => details), eventually)
      .toEqual([expect.stringContaining('Make it green')])
    expect((await questions()).map((question) => question.id)).toEqual([first?.id])
    Object.assign(issue, { title: 'Make it', body: 'Please.' })
    await expect.poll(questions, eventually).toEqual([])

    issue.body = 'Please, in blue.'
    await expect.poll(async () => (await questions()).length, eventually).toBe(1)
    expect(await cli('answer', (await questions())[0]?.id ?? '', 'keep')).toMatchObject({ exitCode: 0 })
    const kept = polls()
    await expect.poll(polls, eventually).toBeGreaterThan(kept + 1)
    expect(await questions()).toEqual([])
    expect((await goals()).find((goal) => goal.id === id)?.state).toBe('active')

    issue.state = 'closed'
    const offered = async () => (await questions()).map(({ choices }) => choices.map((choice) => choice.id))
    await expect.poll(offered, eventually).toEqual([['keep', 'cancel']])
    issue.state = 'open'
    await expect.poll(offered, eventually).toEqual([['keep', 'restart', 'cancel']])
    expect(await cli('answer', (await questions())[0]?.id ?? '', 'restart')).toMatchObject({ exitCode: 0 })
    await expect
      .poll(async () => (await goals()).filter((goal) => goal.state === 'active').map((goal) => goal.id), eventually)
      .toEqual([expect.not.stringMatching(id)])
    const [again] = (await goals()).filter((goal) => goal.state === 'active')
    expect(again?.tasks[0]?.instructions).toContain('in blue')
    expect((await goals()).find((goal) => goal.id === id)?.state).toBe('cancelled')
    writeFileSync(join(top, 'go'), '')
  },
)
