/**
 * Colours that a program printed for a terminal, as spans of text. Only what cannot hide or move text is kept: the eight hues, bold, dim,
 * italic and underline. Backgrounds and concealment are left out, so that everything stays readable; commands that move the cursor have no
 * place in a page and are dropped; all other control characters are made visible. Pure.
 */
import { visible } from './text.ts'

export interface Span {
  text: string
  /** Names of CSS classes; empty = plain. */
  look: string
}

interface Look {
  hue: number | undefined
  bold: boolean
  dim: boolean
  italic: boolean
  underline: boolean
}

const plain: Look = { hue: undefined, bold: false, dim: false, italic: false, underline: false }

/** A control sequence (`ESC [ … letter`); its parameters and final letter are captured. */
// oxlint-disable-next-line eslint/no-control-regex -- this is the character in question
const sequence = /\u001b\[([0-9;:?]*)([A-Za-z])/g

/** Of the 256 colours and of true colour: the nearest hue, or none for greys. */
const hueOfRgb = (red: number, green: number, blue: number): number | undefined => {
  const most = Math.max(red, green, blue)
  if (most - Math.min(red, green, blue) < 40) return undefined
  const on = (part: number): number => (part > most * 0.6 ? 1 : 0)
  return on(red) + 2 * on(green) + 4 * on(blue)
}

const hueOfIndex = (index: number): number | undefined => {
  if (index < 16) return index % 8
  if (index > 231) return undefined
  const level = (part: number): number => (part === 0 ? 0 : 55 + part * 40)
  const at = index - 16
  return hueOfRgb(level(Math.floor(at / 36)), level(Math.floor(at / 6) % 6), level(at % 6))
}

const switches: Record<number, Partial<Look>> = {
  1: { bold: true },
  2: { dim: true },
  3: { italic: true },
  4: { underline: true },
  22: { bold: false, dim: false },
  23: { italic: false },
  24: { underline: false },
  39: { hue: undefined },
}

/** The colour behind 38 or 48, and how many of the codes it takes. */
const extended = (codes: readonly number[]): { hue: number | undefined; taken: number } => {
  const [, kind, first = 0, second = 0, third = 0] = codes
  if (kind === 5) return { hue: hueOfIndex(first), taken: 3 }
  return kind === 2 ? { hue: hueOfRgb(first, second, third), taken: 5 } : { hue: undefined, taken: 1 }
}

const lookAfter = (look: Look, parameters: string): Look => {
  const codes = parameters.split(/[;:]/).map(Number)
  let next = look
  for (let at = 0; at < codes.length;) {
    const code = codes[at] ?? 0
    const isExtended = code === 38 || code === 48
    const { hue, taken } = isExtended ? extended(codes.slice(at)) : { hue: code % 10, taken: 1 }
    if (code === 0) next = plain
    else if (code === 38 || (code >= 30 && code <= 37) || (code >= 90 && code <= 97)) next = { ...next, hue }
    else next = { ...next, ...switches[code] }
    at += taken
  }
  return next
}

const classesOf = ({ hue, bold, dim, italic, underline }: Look): string =>
  [
    hue === undefined ? '' : `hue-${hue}`,
    bold ? 'ansi-bold' : '',
    dim ? 'ansi-dim' : '',
    italic ? 'ansi-italic' : '',
    underline ? 'ansi-underline' : '',
  ]
    .filter(Boolean)
    .join(' ')

/** The text as spans; together they are `withoutAnsi` of it. */
export const ansiSpans = (raw: string): Span[] => {
  const spans: Span[] = []
  let look = plain
  let from = 0
  const add = (text: string): void => {
    if (text !== '') spans.push({ text: visible(text), look: classesOf(look) })
  }
  for (const found of raw.matchAll(sequence)) {
    add(raw.slice(from, found.index))
    from = found.index + found[0].length
    if (found[2] === 'm') look = lookAfter(look, found[1] ?? '')
  }
  add(raw.slice(from))
  return spans
}

/** The text without its colours, safe to show. */
export const withoutAnsi = (raw: string): string => visible(raw.includes('\u001b') ? raw.replaceAll(sequence, '') : raw)

/** The part of the spans between two positions of the whole text. */
export const sliceSpans = (spans: readonly Span[], from: number, to: number): Span[] => {
  let at = 0
  return spans.flatMap(({ text, look }) => {
    const begin = at
    at += text.length
    const part = text.slice(Math.max(0, from - begin), Math.max(0, to - begin))
    return part === '' ? [] : [{ text: part, look }]
  })
}
