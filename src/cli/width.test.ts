import { describe, expect, test } from 'vitest'
import { cutToWidth, cutPainted, widthOf, wrapPainted } from './width.ts'

describe('columns of a text', () => {
  test.each([
    ['plain', 'abc', 3],
    ['Latin with accents', 'über', 4],
    ['combining characters', 'u\u0308ber', 4],
    ['Chinese', '修复登录', 8],
    ['Korean, composed and of jamo', '한\u1112\u1161\u11ab', 4],
    ['full width', 'Ａ！', 4],
    ['Devanagari with signs', 'नि', 1],
    ['emoji', '🚀', 2],
    ['a family in one emoji', '👨‍👩‍👧', 2],
    ['a flag', '🇨🇭', 2],
    ['an emoji by its variation selector', '✔\ufe0f', 2],
    ['a sign that is text', '✔', 1],
    ['a skin tone', '👍🏽', 2],
    ['an ideograph outside the first plane', '𠮷', 2],
    ['zero-width space and joiner', 'a\u200bb', 2],
    ['colours', '\u001b[31mred\u001b[39m', 3],
  ])('%s', (_name, text, columns) => expect(widthOf(text)).toBe(columns))
})

test('a cut text ends with an ellipsis and never splits a character', () => {
  expect(cutToWidth('abcdef', 6)).toBe('abcdef')
  expect(cutToWidth('abcdef', 5)).toBe('abcd…')
  expect(cutToWidth('修复登录', 6)).toBe('修复…')
  expect(cutToWidth('a👨‍👩‍👧bc', 3)).toBe('a…')
  expect(cutToWidth('ab cdef', 4)).toBe('ab…')
  expect(cutToWidth('abc', 1)).toBe('…')
  expect(cutToWidth('abc', 0)).toBe('')
})

test('a painted text keeps its colours and ends them', () => {
  expect(cutPainted('\u001b[31mred\u001b[39m car', 5)).toBe('\u001b[31mred\u001b[39m…\u001b[0m')
  expect(cutPainted('\u001b[31mred\u001b[39m', 3)).toBe('\u001b[31mred\u001b[39m')
  expect(widthOf(cutPainted('修复\u001b[1m登录\u001b[22m', 5))).toBeLessThanOrEqual(5)
})

test('a painted text is wrapped into rows, its colours kept', () => {
  expect(wrapPainted('\u001b[2mabcde\u001b[22mfg', 3)).toEqual(['\u001b[2mabc', 'de\u001b[22mf', 'g'])
  expect(wrapPainted('修复登录', 5)).toEqual(['修复', '登录'])
  expect(wrapPainted('', 5)).toEqual([''])
})
