import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { simHelp, stepExamples } from './help.ts'
import { nextMove, pickConversation, fillIn } from './next-move.ts'
import type { Conversation } from './script.ts'
import { parseScript, readScript, stepWords } from './script.ts'

const script = (...steps: unknown[]): unknown => ({ conversations: [{ name: 'only', default: true, steps }] })
const conversation = (...steps: unknown[]): Conversation => parseScript(script(...steps), 'test').conversations[0]!
const never = (): number => 0

test.each([
  ['a missing field', script({ write: { path: 'a' } }), 'conversations[0].steps[0].write.content: '],
  [
    'an unknown field',
    script({ text: 'a' }, { edit: { path: 'a', find: 'b', replace: 'c', all: true } }),
    'steps[1].edit: ',
  ],
  ['an unknown step', script({ dance: true }), 'steps[0]: unknown step "dance"; the steps are: write, edit'],
  ['two steps in one', script({ text: 'a', shell: 'b' }), 'steps[0]: a step is an object with exactly one of'],
  ['a step that is no object', script('text'), 'steps[0]: a step is an object with exactly one of'],
  ['a bad status', script({ error: { status: 200 } }), 'steps[0].error.status: '],
  ['a bad times', script({ cut: { times: 0 } }), 'steps[0].cut.times: '],
  [
    'an unreachable step',
    script({ error: { status: 503, times: 'always' } }, { text: 'a' }),
    'steps[1]: can never be reached',
  ],
  ['a number of circles that is none', script({ again: { shell: 'ls', times: 1 } }), 'steps[0].again.times: '],
  ['circles of nothing', script({ text: 'a' }, { again: { times: 3 } }), 'steps[1].again.shell: '],
  ['no steps', script(), 'conversations[0].steps: '],
  ['no marker', { conversations: [{ name: 'a', steps: [{ text: 'a' }] }] }, 'conversations[0].match: needs either'],
  ['no conversations', {}, 'conversations: '],
  ['not an object', 7, 'the script: '],
])('a script with %s is refused by naming the field', (_, value, message) => {
  expect(() => parseScript(value, 'x.json')).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }))
  expect(() => parseScript(value, 'x.json')).toThrow(message)
  expect(() => parseScript(value, 'x.json')).toThrow('x.json')
})

test('a repeated call stands for that many steps', () => {
  const shell = { kind: 'shell', command: 'ls' }
  const { steps } = conversation({ again: { shell: 'ls', times: 3 } }, { text: 'a' })
  expect(steps).toEqual([shell, shell, shell, { kind: 'text', text: 'a' }])
})

test('names must differ and only one conversation may be the default', () => {
  const one = { name: 'a', default: true, steps: [{ text: 'a' }] }
  expect(() => parseScript({ conversations: [one, one] }, 'x')).toThrow(/conversations\[1\]\.name: "a" is used twice/)
  expect(() => parseScript({ conversations: [one, one] }, 'x')).toThrow(/conversations\[1\]\.default: only one/)
})

test('a file that is missing or not JSON is refused by its name', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sim-script-'))
  try {
    const path = join(folder, 'broken.json')
    writeFileSync(path, '{')
    expect(() => readScript(path)).toThrow(`${path} is not JSON (`)
    expect(() => readScript(join(folder, 'absent.json'))).toThrow('absent.json (ENOENT')
    writeFileSync(path, JSON.stringify(script({ cut: true })))
    expect(readScript(path).conversations[0]!.steps).toEqual([{ kind: 'cut', times: 1 }])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('the first conversation whose match occurs is played, or else the default one, or else none', () => {
  const steps = [{ text: 'a' }]
  const parsed = parseScript(
    {
      conversations: [
        { name: 'd', default: true, steps },
        { name: 'red', match: 'red [x]', steps },
        { name: 'r', match: 'r', steps },
      ],
    },
    'x',
  )
  expect(pickConversation(parsed, 'paint it red [x]')?.name).toBe('red')
  expect(pickConversation(parsed, 'paint it red')?.name).toBe('r')
  expect(pickConversation(parsed, 'PAINT')?.name).toBe('d')
  expect(pickConversation({ conversations: parsed.conversations.slice(1) }, 'PAINT')).toBeUndefined()
})

test('the step depends only on the turns in the request, not on earlier requests', () => {
  const steps = conversation({ write: { path: 'a', content: '' } }, { wait: 2 }, { shell: 'x' }, { text: 'end' })
  expect(nextMove(steps, 0, never)).toMatchObject({ step: 0, waitSeconds: 0 })
  expect(nextMove(steps, 1, never)).toMatchObject({ step: 2, waitSeconds: 2, turn: { command: 'x' } })
  expect(nextMove(steps, 1, never)).toMatchObject({ step: 2 })
  expect(nextMove(steps, 2, never)).toMatchObject({ step: 3 })
  expect(nextMove(steps, 3, never)).toMatchObject({ step: undefined, turn: { kind: 'text' } })
  expect(nextMove(steps, 99, never)).toMatchObject({ step: undefined })
})

test('a fault happens as many times as it says before its answer is played', () => {
  const steps = conversation(
    { text: 'a' },
    { wait: 1 },
    { error: { status: 503, times: 2 } },
    { cut: true },
    { text: 'b' },
  )
  const counts = new Map<number, number>()
  const dealt = (step: number): number => counts.get(step) ?? 0
  const play = (turns: number): string => {
    const move = nextMove(steps, turns, dealt)
    if (move.fault !== undefined) counts.set(move.step!, dealt(move.step!) + 1)
    return `${move.fault?.kind ?? move.turn.kind}+${move.waitSeconds}`
  }
  expect(play(0)).toBe('text+0')
  expect([play(1), play(1), play(1), play(1)]).toEqual(['error+1', 'error+1', 'cut+0', 'text+0'])
  expect(play(0)).toBe('text+0')
})

test('an "always" fault never ends, and a fault after the last answer precedes the closing text', () => {
  const endless = conversation({ text: 'a' }, { error: { status: 401, times: 'always' } })
  expect(nextMove(endless, 1, () => 1000).fault).toMatchObject({ status: 401 })
  expect(nextMove(endless, 2, never).fault).toBeUndefined()
})

test('paths and commands are filled with the working directory of the agent', () => {
  expect(fillIn({ kind: 'read', path: 'a/../b' }, '/r')).toEqual({ kind: 'read', path: '/r/b' })
  expect(fillIn({ kind: 'write', path: '{cwd}/a', content: '{cwd}' }, '/r')).toEqual({
    kind: 'write',
    path: '/r/a',
    content: '{cwd}',
  })
  expect(fillIn({ kind: 'shell', command: 'ls {cwd}' }, '/r')).toEqual({ kind: 'shell', command: 'ls /r' })
  expect(fillIn({ kind: 'hold', until: "it's", mark: undefined }, '/r')).toEqual({
    kind: 'shell',
    command: "until [ -e '/r/it'\\''s' ] || [ ! -d '/r' ]; do sleep 0.1; done",
  })
  expect(() => fillIn({ kind: 'shell', command: 'ls {cwd}' }, undefined)).toThrow('names no working directory')
})

test('the help has a valid line for every step', () => {
  const words = stepExamples.map(([step]) => {
    expect(simHelp).toContain(step)
    const value: unknown = JSON.parse(step)
    expect(() => conversation(value)).not.toThrow()
    return Object.keys(value as object)[0]
  })
  expect(new Set(words)).toEqual(new Set(stepWords))
})

test('an answer to a question is its JSON as text, and a list of matches has to occur completely', () => {
  const steps = [{ answer: { decision: 'allow', paths: ['a'] } }]
  const parsed = parseScript({ conversations: [{ name: 'ask', match: ['Question: policy', 'Make it'], steps }] }, 'x')
  const [turn] = parsed.conversations[0]!.steps
  expect(turn).toEqual({ kind: 'answer', text: '{"decision":"allow","paths":["a"]}' })
  expect(fillIn(nextMove(parsed.conversations[0]!, 0, never).turn, undefined)).toEqual({
    kind: 'text',
    text: '{"decision":"allow","paths":["a"]}',
  })
  expect(pickConversation(parsed, 'Question: policy\n\nMake it')?.name).toBe('ask')
  expect(pickConversation(parsed, 'Make it')).toBeUndefined()
  expect(() => parseScript(script({ answer: 'yes' }), 'x')).toThrow('steps[0].answer: ')
})
