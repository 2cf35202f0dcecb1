import { expect, it } from 'vitest'
import { capitalised, foldText, visible } from './text.ts'

it.each([
  ['\u001b[31mred\u001b[0m', '⟨ESC⟩[31mred⟨ESC⟩[0m'],
  ['\u001b]0;title\u0007', '⟨ESC⟩]0;title⟨BEL⟩'],
  ['\u009b31m', '⟨009B⟩31m'],
  ['safe\u202egnp.exe', 'safe⟨202E⟩gnp.exe'],
  ['a\u0000b\rc\u007f', 'a⟨NUL⟩b⟨CR⟩c⟨DEL⟩'],
  ['half \ud800', 'half ⟨D800⟩'],
  ['tag\u{e0041}', 'tag⟨E0041⟩'],
  ['one\r\ntwo\tthree', 'one\ntwo\tthree'],
  ['<script>alert(1)</script>', '<script>alert(1)</script>'],
  ['👩‍👩‍👧 ä 漢', '👩‍👩‍👧 ä 漢'],
])('%j is shown as %j', (given, wanted) => {
  expect(visible(given)).toBe(wanted)
})

it('a long text is folded, one that is hardly longer is not', () => {
  const lines = (count: number): string => Array.from({ length: count }, (_, at) => at).join('\n')
  expect(foldText(lines(14))).toEqual({ head: lines(14), hidden: 0 })
  expect(foldText(lines(15))).toEqual({ head: lines(12), hidden: 3 })
})

it('a sentence begins with a capital letter', () => {
  expect([capitalised('task 2 continues its work'), capitalised('')]).toEqual(['Task 2 continues its work', ''])
})
