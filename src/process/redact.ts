/**
 * Removes secrets from output before anything is stored. Works on whole lines as latin1 text (one character a byte), so
 * that bytes of any encoding pass unharmed. Every pattern is linear on hostile input: a run of characters is entered at
 * its start only. Replacements keep a JSON line valid.
 */
import { existsSync } from 'node:fs'
import { keyBegin, keyEnd, tokenPattern, tokenShapes } from '../domain/token-shapes.ts'

const replacement = '[redacted]'
const minimumLength = 8
// AUTHOR is the one common word that would otherwise blank a person's name everywhere.
const secretName = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH(?!OR(?!I))/i

const tokens = tokenShapes.map(({ body }) => tokenPattern(body))
const bearer = /([Bb]earer[ \t]{1,4})(?=[A-Za-z._~+/=-]{0,64}\d)[A-Za-z0-9._~+/=-]{16,}/g
const urlPassword = /(:\/\/[^\s/:@"']{0,256}:)[^\s/@"']{1,256}(?=@)/g
// Cheap look that lets clean blocks, nearly all of them, pass without a copy.
const suspicious = new RegExp(
  `${tokenShapes.map(({ hint }) => hint).join('|')}|[Bb]earer|PRIVATE KEY|://[^\\s/:@"']{0,256}:[^\\s/@"']{1,256}@`,
)

const keyBlock = new RegExp(`${keyBegin}(?:(?!-----END)[^"\\n])*(${keyEnd})?`, 'g')
const keyEndLine = new RegExp(keyEnd)
const keyBody = /^[ \t>|+-]{0,8}(?:[A-Za-z0-9+/=]*|(?:Proc-Type|DEK-Info|Comment):.*)[ \t\r]*$/
const keyMaximumLines = 500

const asLatin1 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

/** The same value as it stands in plain, JSON and URL text; a value of several lines is looked for line by line. */
const spellings = (value: string): string[] => {
  const escaped = JSON.stringify(value).slice(1, -1)
  return [...value.split(/\r?\n/), escaped, encodeURIComponent(Buffer.from(value).toString('utf8'))]
}

/** Values to hide: those of variables whose name looks secret. A path that exists is a place, not a secret. */
export const secretValues = (environment: Record<string, string | undefined>): string[] => {
  const found = new Set<string>()
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || value.length < minimumLength || !secretName.test(name)) continue
    if (value.startsWith('/') && existsSync(value)) continue
    for (const spelling of spellings(value)) if (spelling.length >= minimumLength) found.add(asLatin1(spelling))
  }
  // Longest first, else a value that contains another would leave its rest behind.
  return [...found].toSorted((a, b) => b.length - a.length)
}

const redactShapes = (text: string): string => {
  let clean = text.replace(bearer, `$1${replacement}`).replace(urlPassword, `$1${replacement}`)
  for (const pattern of tokens) clean = clean.replace(pattern, replacement)
  return clean
}

/** Follows a private key over lines: its begin line opens, its end line or the first line that is no key text closes. */
const createKeyFilter = (): { open(): boolean; filter(text: string): string } => {
  let linesLeft = 0
  const filterLine = (line: string): string => {
    if (linesLeft > 0) {
      linesLeft = keyBody.test(line) ? linesLeft - 1 : 0
      if (linesLeft > 0) return line === '' ? '' : replacement
      const end = keyEndLine.exec(line)
      if (end !== null) return replacement + line.slice(end.index + end[0].length)
    }
    return line.replace(keyBlock, (match: string, end: string | undefined, at: number) => {
      if (end === undefined && at + match.length === line.length) linesLeft = keyMaximumLines
      return replacement
    })
  }
  return {
    open: () => linesLeft > 0,
    filter: (text) => text.split('\n').map(filterLine).join('\n'),
  }
}

export type Redact = (lines: Buffer) => Buffer

/** Takes whole lines (the last one may lack its newline) and gives them back without secrets; one per stream, it has memory. */
export const createRedactor = (secrets: string[]): Redact => {
  const keys = createKeyFilter()
  return (lines) => {
    const text = lines.toString('latin1')
    const named = secrets.filter((secret) => text.includes(secret))
    if (named.length === 0 && !keys.open() && !suspicious.test(text)) return lines
    let clean = text
    for (const secret of named) clean = clean.replaceAll(secret, replacement)
    if (keys.open() || clean.includes('PRIVATE KEY')) {
      // The newline that ends the block is no line of its own, and would close a key that goes on in the next block.
      const whole = clean.endsWith('\n')
      clean = keys.filter(whole ? clean.slice(0, -1) : clean) + (whole ? '\n' : '')
    }
    return Buffer.from(redactShapes(clean), 'latin1')
  }
}

/** A text of a person's, without the secrets of this environment or of any known shape. */
export const redactText = (text: string, environment: Record<string, string | undefined>): string =>
  createRedactor(secretValues(environment))(Buffer.from(text)).toString('utf8')
