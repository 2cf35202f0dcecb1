import { expect, test } from 'vitest'
import type { DiffView } from '../api/contract.ts'
import { diffLines } from './diff-lines.ts'
import { createPaint } from './render.ts'

const view = (diff: string, more: Partial<DiffView> = {}): DiffView => ({
  ...{ run: 'r-1', source: 'workspace', files: [{ path: 'a.sql', kind: 'modified' }], fileCount: 1, diff },
  ...{ commit: null, leftOut: [], cut: false, decisions: [], ...more },
})

const patch = `diff --git a/a.sql b/a.sql
--- a/a.sql
+++ b/a.sql
@@ -1,3 +1,2 @@
 \tselect 1;
--- a comment
+++counter
`

test('removed and added lines are distinguished from file headers, which start with the same characters', () => {
  const paint = { ...createPaint(false), good: (text: string) => `G${text}`, bad: (text: string) => `R${text}` }
  expect(diffLines(paint, view(patch)).slice(1)).toEqual([
    ...patch.split('\n').slice(0, 4),
    ' \tselect 1;',
    'R--- a comment',
    'G+++counter',
  ])
})

test('control characters and right-to-left marks of an agent are spelled out', () => {
  const hostile = '@@ -0,0 +1 @@\n+\u001b[2Jred\u001b[0m if (\u202euser\u2066) \u200bx\u2028\r'
  expect(diffLines(createPaint(false), view(hostile)).at(-1)).toBe(
    '+<U+001B>[2Jred<U+001B>[0m if (<U+202E>user<U+2066>) <U+200B>x<U+2028>',
  )
})

test('names the commit, and how to decide about exactly that', () => {
  const [approve, reject] = [
    'unstuck approve t-1 --commit abcdef123456',
    'unstuck reject t-1 --commit abcdef123456 --note "…"',
  ]
  const decisions = [
    { label: 'Approve the work as it is', command: approve },
    { label: 'Reject the work', command: reject },
  ]
  const commit = 'abcdef1234567890'
  const lines = diffLines(createPaint(false), view(patch, { source: 'commit', commit, decisions }))
  expect(lines[0]).toBe('Run r-1 changed 1 file, committed as abcdef123456.')
  expect(lines.slice(-2)).toEqual([`Approve the work as it is: ${approve}`, `Reject the work: ${reject}`])
})

test('reports an empty change, a shortened diff, and files that are not shown', () => {
  const none = diffLines(createPaint(false), view('', { files: [], fileCount: 0, source: 'none' }))
  expect(none).toEqual(['Run r-1 changed no files.'])
  const paths = Array.from({ length: 22 }, (_, index) => `big-${index}.bin`)
  const cut = diffLines(createPaint(false), view(patch, { cut: true, leftOut: paths, fileCount: 23 }))
  expect(cut[0]).toBe('Run r-1 changed 23 files, in its workspace, not committed.')
  expect(cut.slice(-2)).toEqual([
    'The rest is not shown, because the diff is larger than 1 MiB.',
    `Files not shown, because they are too large or too many: ${paths.slice(0, 20).join(', ')} and 2 more`,
  ])
})
