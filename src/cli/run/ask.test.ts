import { expect, test } from 'vitest'
import type { Escalation } from '../../api/contract.ts'
import { AppError } from '../../errors.ts'
import type { Client } from '../engine/client.ts'
import type { Io } from '../io.ts'
import { askAtEnd, promptText } from './ask.ts'

type Choice = Escalation['choices'][number]

const plain = { command: '', input: null }
const hint: Choice = {
  ...{ id: 'hint', kind: 'hint', label: 'Give a hint', effect: 'It is tried again.', command: '' },
  input: { name: 'hint', label: 'Hint', required: true, suggested: null },
}
const choices: Choice[] = [
  { id: 'retry', kind: 'retry', label: 'Retry \u001b[31mit', effect: 'It is tried again.', ...plain },
  hint,
  { id: 'take', kind: 'take_over', runId: 'r-1', label: 'Take over', effect: '', command: 'cd x', input: null },
  { id: 'cancel', kind: 'cancel', label: 'Cancel the task', effect: 'It ends.', ...plain },
]

const question: Escalation = {
  ...{ id: 'q-1', goalId: 'g-1', taskId: 't-1', runId: 'r-1', kind: 'exhausted', happened: 'It failed.', tried: [] },
  ...{ question: '', details: '', choices, state: 'pending', answer: null, version: 1 },
  ...{ createdAt: new Date(0).toISOString(), decidedAt: null },
}

/** Simulates a person who presses these keys; a key of several characters is a line. */
const play = async (keys: string[] | undefined, refuse = false) => {
  let open = [question]
  const posted: unknown[] = []
  const printed: string[] = []
  const answers: Record<string, () => unknown> = {
    '/escalations?goal=g-1&state=pending': () => open,
    '/runs/r-1/diff': () => ({
      ...{ run: 'r-1', source: 'workspace', files: [], fileCount: 1, leftOut: [], cut: false },
      ...{ commit: null, decisions: [] },
      diff: '@@ -0,0 +1 @@\n+new line\n',
    }),
    '/runs/r-1/log?launch=0&stdout=0&stderr=0': () => ({
      ...{ launch: 1, next: { launch: 1, stdout: 9, stderr: 0 }, ended: true },
      lines: Array.from({ length: 30 }, (_, index) => ({ stream: 'stdout', kind: 'text', text: `line ${index}` })),
    }),
  }
  const client = {
    get: async (path: string) => answers[path]?.(),
    post: async (path: string, body: { choice: string; input?: string }) => {
      posted.push([path, body.choice, body.input])
      if (refuse) throw new AppError('STALE', 'question q-1 is already decided')
      if (body.choice === 'take') return question
      open = []
      return { ...question, state: 'approved' }
    },
  } as unknown as Client
  const next = async (): Promise<string | undefined> => keys?.shift()
  const io = {
    ...{ colours: false, signal: new AbortController().signal, out: (text: string) => void printed.push(text) },
    ...(keys === undefined ? {} : { prompt: { key: next, line: next } }),
  } as unknown as Io
  await askAtEnd(io, client, 'g-1')
  return { posted, text: printed.join('') }
}

test('the prompt is one line with every key, and a label cannot control the terminal', () => {
  expect(promptText(question)).toBe(
    'd diff  l log  1 Retry it  2 Give a hint  3 Take over  4 Cancel the task  Enter quit',
  )
  expect(promptText({ ...question, runId: null, choices: [] })).toBe('Enter quit')
})

test('asks nothing without a person at a terminal', async () => {
  expect(await play(undefined)).toEqual({ posted: [], text: '' })
})

test.each([['\r'], ['q'], ['\u0003'], ['\u001b']])('%j quits without an answer', async (key) => {
  const { posted, text } = await play([key, '1'])
  expect([posted, text.split('\n').length]).toEqual([[], 2])
})

test('d shows the diff, l the last lines of the log, and the question stays open', async () => {
  const { posted, text } = await play(['d', 'l', 'x', 'q'])
  expect(posted).toEqual([])
  expect(text).toContain('+new line\n')
  expect(text).toMatch(/d diff[\s\S]*text {7}line 10\n[\s\S]*line 29\n/)
  expect(text).not.toContain('line 9\n')
  expect(text.match(/Enter quit/g)).toHaveLength(4)
})

test('a digit selects a choice; a choice with input asks for it, and an empty input backs out', async () => {
  expect((await play(['1'])).posted).toEqual([['/escalations/q-1/answer', 'retry', undefined]])
  expect((await play(['2', ' look at b ', 'q'])).posted).toEqual([['/escalations/q-1/answer', 'hint', 'look at b']])
  expect((await play(['2', ' ', 'q'])).posted).toEqual([])
})

test('cancelling asks for confirmation, and a take-over shows its command', async () => {
  expect((await play(['4', 'n', 'q'])).posted).toEqual([])
  expect((await play(['4', 'y'])).posted).toEqual([['/escalations/q-1/answer', 'cancel', undefined]])
  expect((await play(['3', 'q'])).text).toContain('Run this command yourself: cd x\n')
})

test('a refused answer is reported, and the question is asked again', async () => {
  const { text } = await play(['1', 'q'], true)
  expect(text).toMatch(/already decided\n.*Enter quit/)
})
