/**
 * Finds secrets in text: by the token shapes that are also redacted from output, and by the rules of secretlint. Its rule that
 * obeys comments is left out, because an agent could write `secretlint-disable`. Rules that depend on the file name are not
 * used, because an agent chooses the name. A finding names rule and line; the secret itself never leaves this file.
 */
import { keyBegin, tokenPattern, tokenShapes } from '../../domain/token-shapes.ts'

export interface SecretFound {
  rule: string
  /** Lines from 1, both inclusive. */
  from: number
  to: number
}

interface Match {
  rule: string
  start: number
  end: number
}

const shapes = tokenShapes.flatMap(({ name, body, inFiles = body }) =>
  inFiles === null ? [] : [{ rule: name, pattern: tokenPattern(inFiles) }],
)

/** With the first characters of the key, because the BEGIN line alone appears in every program that reads keys. */
const keyHeaders = '(?:(?:Proc-Type|DEK-Info|Comment|Version|Hash):[^\\n]{0,200}\\s{1,8}){0,4}'
const between = '(?:\\\\[nrt]|[\\s"\'`+,>|(]){0,40}'
const privateKey = {
  rule: 'private key',
  pattern: new RegExp(`${keyBegin}${between}${keyHeaders}[A-Za-z0-9+/=]{16,}`, 'g'),
}

const tellingEnd = 16
const fewestCharacters = 6

/** Invented for documentation or tests: `xxxxxxxx`, `AKIA…EXAMPLE`, a host of a reserved domain. */
const isPlaceholder = (secret: string): boolean =>
  new Set(secret.slice(-tellingEnd)).size < fewestCharacters ||
  /x{8}|EXAMPLE$|@example\.(?:com|net|org)\b|\$\{|<[a-z]/i.test(secret)

const matchesOfShapes = (text: string): Match[] =>
  [...shapes, privateKey].flatMap(({ rule, pattern }) =>
    [...text.matchAll(pattern)].map((found) => ({ rule, start: found.index, end: found.index + found[0].length })),
  )

/** Some rules take quadratic time on hostile text, so the text is split into small chunks. */
const chunkLength = 32 * 1024
/** Longer than any token, so that a token across two chunks is complete in the first. */
const overlap = 1024

const chunksOf = (text: string): { start: number; content: string }[] => {
  const chunks: { start: number; content: string }[] = []
  for (let start = 0; start < text.length;) {
    const newline = text.lastIndexOf('\n', start + chunkLength)
    const next = newline > start && text.length > start + chunkLength ? newline + 1 : start + chunkLength
    chunks.push({ start, content: text.slice(start, next + overlap) })
    start = next
  }
  return chunks
}

type Lint = (content: string) => Promise<Match[]>

const prefix = /^.*secretlint-rule-/

/** Imported lazily, only when there is text to check. */
const loadLint = async (): Promise<Lint> => {
  const [{ lintSource }, { rules }, { secretLintProfiler }] = await Promise.all([
    import('@secretlint/core'),
    import('@secretlint/secretlint-rule-preset-recommend'),
    import('@secretlint/profiler'),
  ])
  // The profiler would record every call for the lifetime of the process.
  secretLintProfiler.setEnabled(false)
  const used = rules.filter(({ meta }) => !meta.id.endsWith('filter-comments'))
  const config = { rules: used.map((rule) => ({ id: rule.meta.id, rule })) }
  return async (content) => {
    const source = { filePath: 'text', content, ext: '', contentType: 'text' as const }
    const { messages } = await lintSource({ source, options: { config, noPhysicFilePath: true, maskSecrets: true } })
    return messages.map(({ ruleId, range: [start, end] }) => ({ rule: ruleId.replace(prefix, ''), start, end }))
  }
}

const matchesOfRules = async (text: string, pause: () => Promise<void>): Promise<Match[]> => {
  const lint = await loadLint()
  const found: Match[] = []
  for (const { start, content } of chunksOf(text)) {
    const matches = await lint(content)
    found.push(...matches.map((match) => ({ ...match, start: match.start + start, end: match.end + start })))
    await pause()
  }
  return found
}

/** Maps an offset to its line number. */
const lineFinder = (text: string): ((offset: number) => number) => {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return (offset) => {
    let [low, high] = [0, starts.length]
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if ((starts[middle] ?? 0) <= offset) low = middle
      else high = middle
    }
    return low + 1
  }
}

/** One finding for each line in which a secret begins. `pause` is called between chunks, to yield the thread. */
export const findSecrets = async (
  text: string,
  pause: () => Promise<void> = () => Promise.resolve(),
): Promise<SecretFound[]> => {
  const matches = [...matchesOfShapes(text), ...(await matchesOfRules(text, pause))]
  const lineOf = lineFinder(text)
  const found = new Map<number, SecretFound>()
  for (const { rule, start, end } of matches) {
    if (isPlaceholder(text.slice(start, end))) continue
    const from = lineOf(start)
    const to = lineOf(Math.max(start, end - 1))
    const earlier = found.get(from)
    found.set(from, { rule: earlier?.rule ?? rule, from, to: Math.max(to, earlier?.to ?? 0) })
  }
  return [...found.values()].toSorted((a, b) => a.from - b.from)
}
