import { expect, test } from 'vitest'
import { changedLines } from './changed-lines.ts'

test('the lines that differ, with three around them', () => {
  const before = 'a\nb\nc\nd\ne\nf\ng\n'
  expect(changedLines(before, 'a\nb\nc\nd\ne,\nnew\nf\ng\n')).toBe(
    '@@ -2,6 +2,7 @@\n b\n c\n d\n-e\n+e,\n+new\n f\n g\n',
  )
})

test('a new text, equal texts, and lines at both ends', () => {
  expect(changedLines('', 'a\n')).toBe('@@ -1,0 +1,1 @@\n+a\n')
  expect(changedLines('a\r\nb\r\n', 'a\nb\n')).toBe('')
  expect(changedLines('a\na\n', 'a\na\na\n')).toBe('@@ -1,2 +1,3 @@\n a\n a\n+a\n')
})
