/** How many columns a text takes on a terminal, and texts cut to columns. Node measures widths too, but does not export it. */

let segmenter: Intl.Segmenter | undefined

/** Made when it is needed: every command loads this file, and it takes its time. */
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

/** A sequence that colours and takes no column, as `Paint` makes them. */
// oxlint-disable-next-line no-control-regex -- ESC is what is looked for
const colour = /(\u001b\[[\d;]*m)/g

const widthOfGrapheme = (grapheme: string): number => {
  if (nothing.test(grapheme)) return 0
  return wide.test(grapheme) || emojiByMark.test(grapheme) ? 2 : 1
}

/** Columns of a text, colours not counted. */
export const widthOf = (text: string): number => {
  let width = 0
  for (const { segment } of graphemesOf(text.replace(colour, ''))) width += widthOfGrapheme(segment)
  return width
}

/** The text in at most so many columns, its end replaced by an ellipsis. Without colours: cut first, paint then. */
export const cut = (text: string, columns: number): string => {
  if (widthOf(text) <= columns) return text
  let [kept, width] = ['', 0]
  for (const { segment } of graphemesOf(text)) {
    width += widthOfGrapheme(segment)
    if (width > columns - 1) break
    kept += segment
  }
  return columns < 1 ? '' : `${kept.trimEnd()}…`
}

/** A text with colours, cut hard at the last column, its colours ended. */
export const cutPainted = (text: string, columns: number): string => {
  if (widthOf(text) <= columns) return text
  let [kept, left] = ['', Math.max(0, columns - 1)]
  for (const part of text.split(colour)) {
    if (part.startsWith('\u001b')) kept += part
    else if (left > 0) {
      const fits = widthOf(part) <= left
      kept += fits ? part : cut(part, left + 1).slice(0, -1)
      left = fits ? left - widthOf(part) : 0
    }
  }
  return columns < 1 ? '' : `${kept}…${kept.includes('\u001b') ? '\u001b[0m' : ''}`
}

/** A text with colours as rows of at most so many columns; a colour that is on stays on in the next row. */
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
