import { expect, test } from 'vitest'
import { movedRefs, payloadText } from './event-text.ts'

test('a list of texts is words, not JSON', () => {
  expect(payloadText({ weakened: ['test removed: a', 'file deleted: b'] }, 'weakened')).toBe(
    'test removed: a; file deleted: b',
  )
})

test('moved refs are shown with short hashes and the number of omitted ones', () => {
  const refs = [
    { ref: 'refs/heads/main', before: '1'.repeat(40), after: '2'.repeat(40), restored: true },
    { ref: 'refs/heads/new', before: null, after: '3'.repeat(40), restored: false },
  ]
  expect(movedRefs({ refs, more: 2 })).toBe(
    'refs/heads/main (111111111111 → 222222222222, restored); refs/heads/new (nothing → 333333333333); and 2 more',
  )
})
