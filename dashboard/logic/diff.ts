/** Parses a git patch into files with lines. An agent wrote its content, so every text goes through `visible`. Pure. */
import { visible } from './text.ts'

export interface DiffLine {
  kind: 'added' | 'removed' | 'same' | 'hunk' | 'note'
  text: string
  /** Its number in the file before the change, and after it. */
  before?: number
  after?: number
}

export interface DiffFile {
  path: string
  lines: DiffLine[]
  added: number
  removed: number
}

const kinds: Record<string, DiffLine['kind']> = { '+': 'added', '-': 'removed', ' ': 'same', '@': 'hunk' }

/** Git quotes a path with special characters as in C; the page shows the quoted form. */
const pathOf = (head: string): string => {
  const rest = head.slice('diff --git '.length)
  const quoted = /^"a\/((?:[^"\\]|\\.)*)"/.exec(rest)
  if (quoted !== null) return quoted[1] ?? rest
  // Both names are the same, because the patch is made without rename detection: `a/<path> b/<path>`.
  return rest.slice(2, 2 + Math.floor((rest.length - 5) / 2))
}

/** Of a longer line, such as a file that a program packed into one. */
const maxChars = 4_000

const bounded = (text: string): string =>
  text.length <= maxChars ? text : `${text.slice(0, maxChars)} … and ${text.length - maxChars} more characters`

const lineOf = (raw: string): DiffLine => {
  const kind = kinds[raw[0] ?? ' '] ?? 'note'
  const text = kind === 'hunk' || kind === 'note' ? raw : raw.slice(1)
  return { kind, text: visible(bounded(text.replace(/\r$/, ''))) }
}

/** The numbers that follow the head of a hunk: `@@ -3,7 +3,8 @@`. */
const numbersOf = (head: string): { before: number; after: number } => {
  const [, before = '1', after = '1'] = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(head) ?? []
  return { before: Number(before), after: Number(after) }
}

/** The line with its numbers; `next` counts on. */
const numbered = (line: DiffLine, next: { before: number; after: number }): DiffLine => {
  switch (line.kind) {
    case 'added':
      return { ...line, after: next.after++ }
    case 'removed':
      return { ...line, before: next.before++ }
    case 'same':
      return { ...line, before: next.before++, after: next.after++ }
    case 'hunk':
      Object.assign(next, numbersOf(line.text))
      return line
    case 'note':
      return line
  }
}

/** A change that has no lines: a new mode, an empty file, or binary content. */
const isNote = (raw: string): boolean => /^(?:new|deleted|old) (?:file )?mode |^Binary files /.test(raw)

export const parseDiff = (diff: string): DiffFile[] => {
  const files: DiffFile[] = []
  let inHunk = false
  const next = { before: 1, after: 1 }
  for (const raw of diff.replace(/\n$/, '').split('\n')) {
    if (raw.startsWith('diff --git ')) {
      files.push({ path: visible(pathOf(raw)), lines: [], added: 0, removed: 0 })
      inHunk = false
    }
    const file = files.at(-1)
    if (file === undefined) continue
    if (raw.startsWith('@@ ')) inHunk = true
    if (!inHunk && !isNote(raw)) continue
    const line = inHunk ? numbered(lineOf(raw), next) : { kind: 'note' as const, text: visible(raw) }
    file.lines.push(line)
    if (line.kind === 'added') file.added += 1
    if (line.kind === 'removed') file.removed += 1
  }
  return files
}

export const lineCount = (files: readonly DiffFile[]): number => files.reduce((sum, { lines }) => sum + lines.length, 0)

/** A larger file is folded at first, and so is every file behind so many lines: the page stays quick. */
const mostOpenLines = 300
const mostOpenAltogether = 1000

/** The paths of the files that are open at first. */
export const openAtFirst = (files: readonly DiffFile[]): ReadonlySet<string> => {
  const open = new Set<string>()
  let sum = 0
  for (const { path, lines } of files) {
    if (lines.length > mostOpenLines || sum + lines.length > mostOpenAltogether) continue
    open.add(path)
    sum += lines.length
  }
  return open
}

/** One row of a diff side by side: the line of each side, by its index among the lines of the file. */
export interface SplitRow {
  left: number | undefined
  right: number | undefined
  /** A line that has no side. */
  whole: number | undefined
}

/** Removed lines stand beside the added ones that follow them. */
export const splitRows = (lines: readonly DiffLine[]): SplitRow[] => {
  const rows: SplitRow[] = []
  let [removed, added]: [number[], number[]] = [[], []]
  const flush = (): void => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1)
      rows.push({ left: removed[at], right: added[at], whole: undefined })
    ;[removed, added] = [[], []]
  }
  for (const [index, { kind }] of lines.entries()) {
    if (kind === 'removed' && added.length > 0) flush()
    if (kind === 'removed') removed.push(index)
    else if (kind === 'added') added.push(index)
    else {
      flush()
      rows.push(
        kind === 'same'
          ? { left: index, right: index, whole: undefined }
          : { left: undefined, right: undefined, whole: index },
      )
    }
  }
  flush()
  return rows
}
