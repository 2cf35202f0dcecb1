/** Measures and cuts text in terminal columns. Node measures widths too, but does not export the function. */

let segmenter: Intl.Segmenter | undefined

/** Created on first use: every command loads this file, and creating a segmenter is slow. */
const graphemesOf = (text: string): Intl.Segments => {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  return segmenter.segment(text)
}

/** East Asian wide and full-width characters (UAX #11), and the emoji that are wide without a variation selector. */
const wide = new RegExp(
  '[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6' +
    '\\u{17000}-\\u{18cff}\\u{1b000}-\\u{1b2ff}\\u{20000}-\\u{3fffd}]|\\p{Emoji_Presentation}',
  'u',
)
const emojiByMark = /^\p{Emoji}.*(\ufe0f|\p{Emoji_Modifier})/u
const nothing = /^[\p{Mark}\p{Cc}\p{Cf}]+$/u

/** A colour sequence of `Paint`, which takes no columns. */
// oxlint-disable-next-line no-control-regex -- the pattern matches ESC
const colour = /(\u001b\[[\d;]*m)/g

const widthOfGrapheme = (grapheme: string): number => {
  if (nothing.test(grapheme)) return 0
  return wide.test(grapheme) || emojiByMark.test(grapheme) ? 2 : 1
}

/** Columns that a text takes; colour sequences take none. */
export const widthOf = (text: string): number => {
  let width = 0
  for (const { segment } of graphemesOf(text.replace(colour, ''))) width += widthOfGrapheme(segment)
  return width
}

/** Shortens a text to `columns`, with an ellipsis at the end. For text without colours: cut before painting. */
export const cutToWidth = (text: string, columns: number): string => {
  if (widthOf(text) <= columns) return text
  let [kept, width] = ['', 0]
  for (const { segment } of graphemesOf(text)) {
    width += widthOfGrapheme(segment)
    if (width > columns - 1) break
    kept += segment
  }
  return columns < 1 ? '' : `${kept.trimEnd()}…`
}

/** Shortens a text with colours to `columns`, and resets the colours at the end. */
export const cutPainted = (text: string, columns: number): string => {
  if (widthOf(text) <= columns) return text
  let [kept, left] = ['', Math.max(0, columns - 1)]
  for (const part of text.split(colour)) {
    if (part.startsWith('\u001b')) kept += part
    else if (left > 0) {
      const fits = widthOf(part) <= left
      kept += fits ? part : cutToWidth(part, left + 1).slice(0, -1)
      left = fits ? left - widthOf(part) : 0
    }
  }
  return columns < 1 ? '' : `${kept}…${kept.includes('\u001b') ? '\u001b[0m' : ''}`
}

/** Wraps a text with colours into rows of at most `columns`; a colour continues in the next row. */
export const wrapPainted = (text: string, columns: number): string[] => {
  const rows = ['']
  let width = 0
  for (const part of text.split(colour)) {
    const pieces = part.startsWith('\u001b') ? [part] : Array.from(graphemesOf(part), ({ segment }) => segment)
    for (const piece of pieces) {
      const more = widthOf(piece)
      if (width > 0 && width + more > columns) {
        rows.push('')
        width = 0
      }
      rows[rows.length - 1] += piece
      width += more
    }
  }
  return rows
}
