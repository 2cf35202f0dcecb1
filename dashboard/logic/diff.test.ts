import { expect, test } from 'vitest'
import { lineCount, openAtFirst, parseDiff, splitRows } from './diff.ts'

const patch = `diff --git a/src/a b.ts b/src/a b.ts
index 1..2 100644
--- a/src/a b.ts
+++ b/src/a b.ts
@@ -1,3 +1,3 @@ head
 same
--- a comment
+++counter
\\ No newline at end of file
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/logo.png b/logo.png
new file mode 100644
index 0..3
Binary files /dev/null and b/logo.png differ
`

test('a patch is files with lines, and a removed line that looks like the head of a file is a line', () => {
  const [first, second, third] = parseDiff(patch)
  expect(first).toEqual({
    path: 'src/a b.ts',
    added: 1,
    removed: 1,
    lines: [
      { kind: 'hunk', text: '@@ -1,3 +1,3 @@ head' },
      { kind: 'same', text: 'same', before: 1, after: 1 },
      { kind: 'removed', text: '-- a comment', before: 2 },
      { kind: 'added', text: '++counter', after: 2 },
      { kind: 'note', text: '\\ No newline at end of file' },
    ],
  })
  expect(second).toMatchObject({
    path: 'run.sh',
    added: 0,
    lines: [{ text: 'old mode 100644' }, { text: 'new mode 100755' }],
  })
  expect(third?.lines.map(({ text }) => text)).toEqual([
    'new file mode 100644',
    'Binary files /dev/null and b/logo.png differ',
  ])
  expect(lineCount(parseDiff(patch))).toBe(9)
})

test('what is hostile in a path or a line is made visible, and no text is no file', () => {
  const [file] = parseDiff('diff --git a/x\u202ey b/x\u202ey\n@@ -0,0 +1 @@\n+\u001b[2Jif (\u2066a)\r\n')
  expect([file?.path, file?.lines[1]?.text]).toEqual(['x⟨202E⟩y', '⟨ESC⟩[2Jif (⟨2066⟩a)'])
  expect(parseDiff('diff --git "a/t\\tx" "b/t\\tx"\n')[0]?.path).toBe('t\\tx')
  expect(parseDiff('')).toEqual([])
})

test('side by side, what was removed stands beside what was added, and the rest on both sides', () => {
  const [file] = parseDiff('diff --git a/x b/x\n@@ -5,4 +5,3 @@\n a\n-b\n-c\n+d\n e\n+f\n')
  const text = (index: number | undefined): string | undefined => file?.lines[index ?? -1]?.text
  expect(splitRows(file?.lines ?? []).map(({ left, right, whole }) => [text(left), text(right), text(whole)])).toEqual([
    [undefined, undefined, '@@ -5,4 +5,3 @@'],
    ['a', 'a', undefined],
    ['b', 'd', undefined],
    ['c', undefined, undefined],
    ['e', 'e', undefined],
    [undefined, 'f', undefined],
  ])
  expect(file?.lines.map(({ before, after }) => [before, after])).toEqual([
    [undefined, undefined],
    [5, 5],
    [6, undefined],
    [7, undefined],
    [undefined, 6],
    [8, 7],
    [undefined, 8],
  ])
})

test('a large file is folded at first, and so is what follows many lines', () => {
  const file = (path: string, count: number): string =>
    `diff --git a/${path} b/${path}\n@@ -0,0 +1,${count} @@\n${'+line\n'.repeat(count)}`
  const files = parseDiff(
    ['a', 'big', 'b', 'c', 'd', 'e'].map((name) => file(name, name === 'big' ? 400 : 290)).join(''),
  )
  expect([...openAtFirst(files)]).toEqual(['a', 'b', 'c'])
})

test('a line without end is cut', () => {
  const [file] = parseDiff(`diff --git a/x b/x\n@@ -0,0 +1 @@\n+${'x'.repeat(1_000_000)}\n`)
  expect(file?.lines[1]?.text).toMatch(/^x+ … and 996000 more characters$/)
})
