import { expect, it } from 'vitest'
import { parseDiff } from './diff.ts'
import { noteCount, noteKey, notesText } from './diff-notes.ts'

const files = parseDiff('diff --git a/src/a.ts b/src/a.ts\n@@ -3,2 +3,2 @@\n same\n-old\n+  return new\n')
const [file] = files
const [, same, old, added] = file?.lines ?? []

it('notes become a text that names the file, the line and what it says, in the order of the diff', () => {
  if (file === undefined || same === undefined || old === undefined || added === undefined) throw new Error('no diff')
  const notes = {
    [noteKey(file, added)]: ' use the helper ',
    [noteKey(file, old)]: 'keep it',
    [noteKey(file, same)]: ' ',
  }
  expect(notesText(files, notes)).toBe(
    'src/a.ts, removed line 4 (old): keep it\nsrc/a.ts:4 (return new): use the helper',
  )
  expect(noteCount(notes)).toBe(2)
})

it('a note on a line that the change no longer has is left out', () => {
  expect(notesText(files, { 'src/a.ts:99': 'gone' })).toBe('')
})
