/** Parses a git patch into files with lines. An agent wrote its content, so every text goes through `visible`. Pure. */
import { visible } from './text.ts'

export interface DiffLine {
  kind: 'added' | 'removed' | 'same' | 'hunk' | 'note'
  text: string
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

const lineOf = (raw: string): DiffLine => {
  const kind = kinds[raw[0] ?? ' '] ?? 'note'
  const text = kind === 'hunk' || kind === 'note' ? raw : raw.slice(1)
  return { kind, text: visible(text.replace(/\r$/, '')) }
}

/** A change that has no lines: a new mode, an empty file, or binary content. */
const isNote = (raw: string): boolean => /^(?:new|deleted|old) (?:file )?mode |^Binary files /.test(raw)

export const parseDiff = (diff: string): DiffFile[] => {
  const files: DiffFile[] = []
  let inHunk = false
  for (const raw of diff.replace(/\n$/, '').split('\n')) {
    if (raw.startsWith('diff --git ')) {
      files.push({ path: visible(pathOf(raw)), lines: [], added: 0, removed: 0 })
      inHunk = false
    }
    const file = files.at(-1)
    if (file === undefined) continue
    if (raw.startsWith('@@ ')) inHunk = true
    if (!inHunk && !isNote(raw)) continue
    const line = inHunk ? lineOf(raw) : { kind: 'note' as const, text: visible(raw) }
    file.lines.push(line)
    if (line.kind === 'added') file.added += 1
    if (line.kind === 'removed') file.removed += 1
  }
  return files
}

/** Above this the files are closed at first, so that a page with a large change stays responsive. */
export const mostOpenLines = 400

export const lineCount = (files: readonly DiffFile[]): number => files.reduce((sum, { lines }) => sum + lines.length, 0)
