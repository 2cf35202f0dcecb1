/**
 * Text of agents, tools and files, made safe to show: nothing in it may move, hide or reverse other text on the page. Markup
 * does no harm, because the page only makes text nodes of it; control characters are left. Pure.
 */

/** Fonts have no glyphs for these, so they are shown by name. */
const known: Record<number, string> = { 0: 'NUL', 7: 'BEL', 8: 'BS', 13: 'CR', 27: 'ESC', 127: 'DEL' }

const shown = (char: string): string => {
  const code = char.codePointAt(0) ?? 0
  return `⟨${known[code] ?? code.toString(16).toUpperCase().padStart(4, '0')}⟩`
}

/** Control characters, marks that change the direction of text, invisible tags, and unpaired surrogates. */
const unseen =
  // oxlint-disable-next-line eslint/no-control-regex -- these are the characters to make visible
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e007f}]|\p{Surrogate}/gu

/** With each control character in a visible form; line breaks and tabs stay. */
export const visible = (text: string): string => text.replaceAll('\r\n', '\n').replaceAll(unseen, shown)

export interface Folded {
  head: string
  /** How many lines the head leaves out. */
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

/** `12.3k`: for columns, where a reader compares sizes. */
export const shortTokensText = (tokens: number): string =>
  tokens < 1000
    ? `${tokens}`
    : tokens < 1_000_000
      ? `${(tokens / 1000).toFixed(1)}k`
      : `${(tokens / 1_000_000).toFixed(1)}M`

export const moneyText = (dollars: number): string => `$${dollars.toFixed(2)}`

export const capitalised = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

/** `awaiting_human` → `awaiting human`. */
export const words = (name: string): string => name.replaceAll('_', ' ')

/** The name of a role in the configuration, as people read it. */
export const roleText = (role: string): string => (role === 'docser' ? 'docs' : role)

export const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`
