import { expect, it } from 'vitest'
import { ansiSpans, sliceSpans, withoutAnsi } from './ansi.ts'

const esc = '\u001b'

it('colours become spans, and the text is what is left without them', () => {
  const raw = `a ${esc}[1;31mred${esc}[0m ${esc}[38;5;46mgreen${esc}[39m ${esc}[38;2;0;0;255mblue${esc}[m end`
  expect(ansiSpans(raw)).toEqual([
    { text: 'a ', look: '' },
    { text: 'red', look: 'hue-1 ansi-bold' },
    { text: ' ', look: '' },
    { text: 'green', look: 'hue-2' },
    { text: ' ', look: '' },
    { text: 'blue', look: 'hue-4' },
    { text: ' end', look: '' },
  ])
  expect(withoutAnsi(raw)).toBe('a red green blue end')
})

it('nothing can hide text: backgrounds, concealment and inversion change nothing, a moved cursor leaves no trace', () => {
  expect(ansiSpans(`${esc}[37;47;8;7mseen${esc}[2J${esc}[10;10H too`)).toEqual([
    { text: 'seen', look: 'hue-7' },
    { text: ' too', look: 'hue-7' },
  ])
  expect(ansiSpans(`${esc}[48;5;31mplain`)).toEqual([{ text: 'plain', look: '' }])
})

it('titles, links and marks of direction are shown as what they are', () => {
  const raw = `${esc}]8;;http://harmed.invalid\u0007link${esc}]8;;\u0007 \u202etxt`
  expect(withoutAnsi(raw)).toBe('⟨ESC⟩]8;;http://harmed.invalid⟨BEL⟩link⟨ESC⟩]8;;⟨BEL⟩ ⟨202E⟩txt')
  expect(ansiSpans(raw).map(({ text }) => text)).toEqual([withoutAnsi(raw)])
})

it('a slice keeps the colours of its part', () => {
  const spans = ansiSpans(`ab${esc}[32mcdef`)
  expect(sliceSpans(spans, 1, 4)).toEqual([
    { text: 'b', look: '' },
    { text: 'cd', look: 'hue-2' },
  ])
  expect(sliceSpans(spans, 6, 9)).toEqual([])
})
