import { expect, it } from 'vitest'
import { goal, task } from './fixture.ts'
import { entriesOf, found } from './palette.ts'

const parser = {
  ...goal('active', [
    task({ id: 't-a', number: 1, title: 'Cache the tokens', actions: ['retry', 'cancel'] }),
    task({ id: 't-b', number: 2, title: 'Write the guide', actions: ['edit'] }),
  ]),
  actions: ['pause', 'cancel'] as const,
}
const entries = entriesOf([{ ...parser, actions: [...parser.actions] }], undefined)
const texts = (typed: string): string[] => found(entries, typed).map(({ text }) => text)

it('has every page, and every action that the engine allows now', () => {
  expect(texts('')).toEqual(
    expect.arrayContaining(['Now', 'Inbox', 'Pause Speed up the parser', 'Retry #1 Cache the tokens']),
  )
  expect(texts('retry')).not.toContain('Retry #2 Write the guide')
  expect(texts('edit')).toEqual(['Edit #2 Write the guide'])
})

it('finds by words in any order, and by parts of words', () => {
  expect(texts('tokens retry')).toEqual(['Retry #1 Cache the tokens'])
  expect(texts('uide')).toContain('#2 Write the guide')
  expect(texts('no such thing')).toEqual([])
})

it('where each word begins one, it comes first', () => {
  expect(texts('in')[0]).toBe('Inbox')
})

it('what the reader looks at comes first, and nothing is there twice', () => {
  const here = entriesOf([{ ...parser, actions: [...parser.actions] }], 't-b')
  expect(here[0]?.text).toBe('#2 Write the guide')
  expect(new Set(here.map(({ id }) => id)).size).toBe(here.length)
})
