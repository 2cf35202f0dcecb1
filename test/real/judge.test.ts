/**
 * Work of the real Claude that the real Codex reviews, read-only: it objects once, Claude corrects the work in a task of its own, and
 * Codex approves that. What Codex would write is not part of it.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { ScriptInput } from '../../sim/script.ts'
import { openUser, type Printed, type User } from './user.ts'

let user: User | undefined
afterEach(async () => {
  await user?.close()
  user = undefined
})

const moduleOf = (value: number): string => `module.exports = ${value}\n`
const title = 'Write the answer'
const what = 'The answer is one too small'

/** The newest first: what corrects the work names the task as well, and its review both. */
const conversations: ScriptInput['conversations'] = [
  {
    ...{ name: 'approve', match: ['Question: finished work', '+module.exports = 42'] },
    steps: [
      { read: 'answer.js' },
      { answer: { verdict: 'approve', risk: 'low', points: [], summary: 'It is right now.' } },
    ],
  },
  {
    ...{ name: 'object', match: ['Question: finished work', '+module.exports = 41'] },
    steps: [
      { read: 'answer.js' },
      { shell: 'echo x > by-reviewer.txt' },
      {
        answer: {
          ...{ verdict: 'request_changes', risk: 'low', summary: 'Not yet.' },
          points: [{ path: 'answer.js', line: 1, severity: 'error', what, why: 'the task asks for the answer' }],
        },
      },
    ],
  },
  {
    ...{ name: 'correct', match: [title, what] },
    steps: [
      { read: 'answer.js' },
      { edit: { path: 'answer.js', find: '41', replace: '42' } },
      { text: 'It is one more now.' },
    ],
  },
  {
    ...{ name: 'write', match: title },
    steps: [{ write: { path: 'answer.js', content: moduleOf(41) } }, { text: 'Written.' }],
  },
]

test('Codex objects to the work of Claude, which corrects it, and approves the correction', async () => {
  user = await openUser(() => conversations)
  const { root, project, git, unstuck } = user
  user.configure({ judge: { harness: 'codex' }, requeue: { inPlaceLimit: 0, reworkDepth: 1 } })
  writeFileSync(join(project, 'check.js'), "require('./answer.js')\n")
  git('init', '-q', '-b', 'main')
  git('add', '-A')
  git('commit', '-qm', 'Start')
  const tasks = [
    {
      ...{ title, instructions: `${title} to answer.js.`, harness: 'claude', judge: 'llm' },
      ...{ allowedPaths: ['answer.js'], commands: ['node check.js'] },
    },
  ]
  writeFileSync(join(root, 'tasks.json'), JSON.stringify({ version: 1, goal: 'Find the answer', tasks }))
  const ended = await unstuck('run', join(root, 'tasks.json'), '--merge', '--json')
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  const { goal } = JSON.parse(ended.stdout.trim().split('\n').at(-1) ?? '') as Printed
  const storyOf = async (index: number): Promise<string> => (await unstuck('explain', goal.tasks[index].id)).stdout
  const [story, corrected] = [await storyOf(0), await storyOf(1)]

  expect(goal).toMatchObject({ state: 'done', tasks: [{ status: 'cancelled' }, { status: 'done' }] })
  expect(git('show', 'main:answer.js')).toBe(moduleOf(42).trim())
  expect(git('ls-tree', '--name-only', 'main', 'by-reviewer.txt')).toBe('')
  expect(git('status', '--porcelain')).toBe('')
  const played = user.sim.requests().filter(({ conversation }) => conversation !== undefined)
  expect(played.map(({ protocol, conversation, kind }) => `${protocol} ${conversation} ${kind}`)).toEqual([
    ...['anthropic write write', 'anthropic write text'],
    ...['openai object read', 'openai object shell', 'openai object answer'],
    ...['anthropic correct read', 'anthropic correct edit', 'anthropic correct text'],
    ...['openai approve read', 'openai approve answer'],
  ])
  expect(story).toMatch(
    new RegExp(`review \\(llm\\): changes requested, .*: answer\\.js:1: ${what} .*\\(codex, [\\d,]+ tokens\\)`),
  )
  expect(story).toMatch(
    /task 2 "Correct: Write the answer" was made to correct the work\n.*task 2 corrected the work, and it was merged/,
  )
  expect(corrected).toMatch(
    /review \(llm\): approved, the reviewer found no error[^]*the work was merged as [0-9a-f]{12}/,
  )
  expect(await user.leave()).toEqual([])
})
