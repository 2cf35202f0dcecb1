/**
 * Text of agents, tools and files as text: nothing in it may move, hide or turn round what stands on the page. Markup is
 * harmless already, since only text nodes are made of it; what is left are control characters. Pure.
 */

/** By the names that people know; fonts have no pictures of them. */
const known: Record<number, string> = { 0: 'NUL', 7: 'BEL', 8: 'BS', 13: 'CR', 27: 'ESC', 127: 'DEL' }

const shown = (char: string): string => {
  const code = char.codePointAt(0) ?? 0
  return `⟨${known[code] ?? code.toString(16).toUpperCase().padStart(4, '0')}⟩`
}

/** Controls, the marks that turn the direction of text, invisible tags, and halves of characters. */
const unseen =
  // oxlint-disable-next-line eslint/no-control-regex -- these are the characters that must be seen
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e007f}]|\p{Surrogate}/gu

/** With each control character in a form that can be seen; new lines and tabs stay. */
export const visible = (text: string): string => text.replaceAll('\r\n', '\n').replaceAll(unseen, shown)

export interface Folded {
  head: string
  /** Lines that are not in it. */
  hidden: number
}

const shownLines = 12

/** The first lines of a long text. */
export const foldText = (text: string): Folded => {
  const lines = text.split('\n')
  if (lines.length <= shownLines + 2) return { head: text, hidden: 0 }
  return { head: lines.slice(0, shownLines).join('\n'), hidden: lines.length - shownLines }
}

const inThousands = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

export const tokensText = (tokens: number): string => `${inThousands.format(tokens)} token${tokens === 1 ? '' : 's'}`

export const moneyText = (dollars: number): string => `$${dollars.toFixed(2)}`

/** `awaiting_human` → `awaiting human`. */
export const words = (name: string): string => name.replaceAll('_', ' ')

export const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`
