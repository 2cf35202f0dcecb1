/**
 * Text of agents, tools and repositories for people. A character that cannot be seen is spelled (`<U+202E>`) instead of removed: what
 * is shown for approval must not look like other text than the one that runs. Pure.
 */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
/** Joiners within emoji and within words of scripts that need them. */
const joined = /(?<=[^\0-\x7f])[\u200c\u200d](?=[^\0-\x7f])/gu
const spelled = (char: string): string =>
  `<U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`

/** The line or text with hidden characters spelled; tabs and line feeds stay, also a carriage return before a line feed goes. */
export const visibleText = (text: string): string => {
  const kept = new Set([...text.matchAll(joined)].map(({ index }) => index))
  return text.replace(hidden, (char: string, index: number) => {
    if (char === '\n' || char === '\t' || kept.has(index)) return char
    if (char === '\r' && (index === text.length - 1 || text[index + 1] === '\n')) return ''
    return spelled(char)
  })
}
