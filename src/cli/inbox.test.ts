import { expect, test } from 'vitest'
import type { InboxQuestion, InboxView } from '../api/contract.ts'
import type { Client } from './engine/client.ts'
import { sitThrough } from './inbox.ts'
import type { Io } from './io.ts'

const retry = { id: 'retry', kind: 'retry', label: 'Retry', effect: 'Again.', command: '', input: null } as const
const hint: InboxQuestion['choices'][number] = {
  ...{ id: 'hint', kind: 'hint', label: 'Hint', effect: 'Again.', command: '' },
  input: { name: 'hint', label: 'Hint', required: true, suggested: null },
}
const question = (number: number): InboxQuestion => ({
  ...{
    id: `q-${number}`,
    goalId: 'g-1',
    taskId: `t-${number}`,
    runId: null,
    kind: 'exhausted',
    happened: `It failed ${number}.`,
  },
  ...{ tried: [], question: '', details: '', choices: [retry, hint], state: 'pending', answer: null, version: 1 },
  ...{ createdAt: new Date(0).toISOString(), decidedAt: null, number, goal: { id: 'g-1', title: 'Goal' } },
  ...{ task: { id: `t-${number}`, number, title: 'Do it' }, run: null, failure: null, proposal: null },
})

/** Simulates a person who presses these keys; a key of several characters is a line. */
const play = async (groups: InboxQuestion[][], keys: string[]) => {
  let open = groups
  const posted: unknown[] = []
  const printed: string[] = []
  const without = (ids: string[]): void => {
    open = open.map((each) => each.filter(({ id }) => !ids.includes(id))).filter((each) => each.length > 0)
  }
  const client = {
    get: async (): Promise<InboxView> => ({
      ...{ at: '', count: open.flat().length },
      groups: open.map((questions) => ({ id: 'x', kind: 'exhausted', cause: 'the same', questions })),
    }),
    post: async (
      path: string,
      body: { choice?: string; input?: string; answers?: { id: string; choice: string }[] },
    ) => {
      const ids = body.answers?.map(({ id }) => id) ?? [path.split('/')[2] ?? '']
      posted.push(body.answers ?? [ids[0], body.choice, body.input])
      const refused = ids.includes('q-3') ? ['q-3'] : []
      without(ids)
      return {
        state: 'approved',
        results: ids.map((id) => ({
          ...{ id, answered: null },
          error: refused.includes(id) ? { code: 'STALE', message: `question ${id} is already decided: hint` } : null,
        })),
      }
    },
  } as unknown as Client
  const next = async (): Promise<string | undefined> => keys.shift()
  const io = {
    ...{ colours: false, signal: new AbortController().signal, out: (text: string) => void printed.push(text) },
  } as unknown as Io
  const end = await sitThrough({ io, keys: { key: next, line: next }, client })
  return { posted, text: printed.join(''), left: end.count }
}

test('answers by number, one question after the other; n leaves one for later', async () => {
  const { posted, text, left } = await play([[question(1)], [question(2)]], ['n', '2', 'look at b', 'q'])
  expect(posted).toEqual([['q-2', 'hint', 'look at b']])
  expect(text).toMatch(/1 #1 Do it[\s\S]*\(2 left\)[\s\S]*It failed 1\.[\s\S]*n next[\s\S]*2 #2 Do it[\s\S]*\(1 left\)/)
  expect(left).toBe(1)
})

test('offers the same answer for the others with the cause, and tells which was already decided', async () => {
  const { posted, text, left } = await play([[question(1), question(2), question(3)]], ['1', 'y'])
  expect(posted).toEqual([
    ['q-1', 'retry', undefined],
    [
      { id: 'q-2', choice: 'retry' },
      { id: 'q-3', choice: 'retry' },
    ],
  ])
  expect(text).toContain('The same answer for the 2 other questions with this cause?')
  expect(text).toMatch(/2 answered\n3 question q-3 is already decided: hint\n/)
  expect(left).toBe(0)
})

test('any other key than y answers only the one', async () => {
  const { posted, left } = await play([[question(1), question(2)]], ['1', 'x', 'q'])
  expect([posted, left]).toEqual([[['q-1', 'retry', undefined]], 1])
})
