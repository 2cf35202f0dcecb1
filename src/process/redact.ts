/**
 * Removes secrets from output before it is stored. It works on whole lines as latin1 text (one character per byte), so that bytes
 * of any encoding are preserved. Every pattern is linear on hostile input, because a run of characters is matched from its
 * start only. A replacement keeps a JSON line valid.
 */
import { existsSync } from 'node:fs'
import { keyBegin, keyEnd, secretName, tokenPattern, tokenShapes } from '../domain/token-shapes.ts'

const replacement = '[redacted]'
const minimumLength = 8

const tokens = tokenShapes.map(({ body }) => tokenPattern(body))
const bearer = /([Bb]earer[ \t]{1,4})(?=[A-Za-z._~+/=-]{0,64}\d)[A-Za-z0-9._~+/=-]{16,}/g
const urlPassword = /(:\/\/[^\s/:@"']{0,256}:)[^\s/@"']{1,256}(?=@)/g
// A cheap test that lets clean blocks, which are nearly all, pass without a copy.
const suspicious = new RegExp(
  `${tokenShapes.map(({ hint }) => hint).join('|')}|[Bb]earer|PRIVATE KEY|://[^\\s/:@"']{0,256}:[^\\s/@"']{1,256}@`,
)

const keyBlock = new RegExp(`${keyBegin}(?:(?!-----END)[^"\\n])*(${keyEnd})?`, 'g')
const keyEndLine = new RegExp(keyEnd)
const keyBody = /^[ \t>|+-]{0,8}(?:[A-Za-z0-9+/=]*|(?:Proc-Type|DEK-Info|Comment):.*)[ \t\r]*$/
const keyMaximumLines = 500

const asLatin1 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

/** The value as it appears in plain, JSON and URL text; a multi-line value is searched line by line. */
const spellings = (value: string): string[] => {
  const escaped = JSON.stringify(value).slice(1, -1)
  return [...value.split(/\r?\n/), escaped, encodeURIComponent(Buffer.from(value).toString('utf8'))]
}

/** Values to redact: those of variables with a secret-looking name. An existing path is not a secret. */
export const secretValues = (environment: Record<string, string | undefined>): string[] => {
  const found = new Set<string>()
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || value.length < minimumLength || !secretName.test(name)) continue
    if (value.startsWith('/') && existsSync(value)) continue
    for (const spelling of spellings(value)) if (spelling.length >= minimumLength) found.add(asLatin1(spelling))
  }
  // Longest first: if a shorter value inside a longer one were replaced first, the rest of the longer one would stay.
  return [...found].toSorted((a, b) => b.length - a.length)
}

const redactShapes = (text: string): string => {
  let clean = text.replace(bearer, `$1${replacement}`).replace(urlPassword, `$1${replacement}`)
  for (const pattern of tokens) clean = clean.replace(pattern, replacement)
  return clean
}

/** Recognizes a private key across lines, from its begin line to its end line or to the first line that cannot be part of a key. */
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

/** Redacts whole lines (the last one may lack its newline). Stateful, so use one redactor per stream. */
export const createRedactor = (secrets: string[]): Redact => {
  const keys = createKeyFilter()
  return (lines) => {
    const text = lines.toString('latin1')
    const named = secrets.filter((secret) => text.includes(secret))
    if (named.length === 0 && !keys.open() && !suspicious.test(text)) return lines
    let clean = text
    for (const secret of named) clean = clean.replaceAll(secret, replacement)
    if (keys.open() || clean.includes('PRIVATE KEY')) {
      // The final newline must not count as an empty line, which would end a key that continues in the next block.
      const whole = clean.endsWith('\n')
      clean = keys.filter(whole ? clean.slice(0, -1) : clean) + (whole ? '\n' : '')
    }
    return Buffer.from(redactShapes(clean), 'latin1')
  }
}

/** The text without secrets of this environment and without tokens of a known shape. */
export const redactText = (text: string, environment: Record<string, string | undefined>): string =>
  createRedactor(secretValues(environment))(Buffer.from(text)).toString('utf8')
