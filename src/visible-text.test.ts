import { expect, test } from 'vitest'
import { visibleText } from './visible-text.ts'

test.each([
  ['npm \u202ellatsni', 'npm <U+202E>llatsni'],
  ['npm in\bstall', 'npm in<U+0008>stall'],
  ['a\u200bb\u2028c\u{e0061}', 'a<U+200B>b<U+2028>c<U+E0061>'],
  ['a\u200db', 'a<U+200D>b'],
  ['line\r\nnext\r', 'line\nnext'],
  ['50 %\r100 %', '50 %<U+000D>100 %'],
  ['a\tb', 'a\tb'],
  ['\u{1f469}\u200d\u{1f4bb} می\u200cخواهم', '\u{1f469}\u200d\u{1f4bb} می\u200cخواهم'],
])('%j is shown as %j', (text, shown) => {
  expect(visibleText(text)).toBe(shown)
})
