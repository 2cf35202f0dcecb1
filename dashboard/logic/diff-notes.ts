/** Notes on lines of a diff, and the text that they become for an agent. Pure. */
import type { DiffFile, DiffLine } from './diff.ts'

/** By the line that they are about; see `noteKey`. */
export type Notes = Readonly<Record<string, string>>

/** A line has the same key in every view of the same change. */
export const noteKey = ({ path }: Pick<DiffFile, 'path'>, { before, after }: DiffLine): string =>
  after === undefined ? `${path}:-${before}` : `${path}:${after}`

const longestQuote = 80

const quoteOf = (text: string): string => {
  const plain = text.trim()
  return plain.length > longestQuote ? `${plain.slice(0, longestQuote)}…` : plain
}

const whereOf = (file: DiffFile, line: DiffLine): string =>
  line.after === undefined ? `${file.path}, removed line ${line.before}` : `${file.path}:${line.after}`

/** One paragraph for each note, in the order of the diff: where, what the line says, and the note. */
export const notesText = (files: readonly DiffFile[], notes: Notes): string =>
  files
    .flatMap((file) =>
      file.lines.flatMap((line) => {
        const note = line.before === undefined && line.after === undefined ? undefined : notes[noteKey(file, line)]
        return note === undefined || note.trim() === ''
          ? []
          : [`${whereOf(file, line)} (${quoteOf(line.text)}): ${note.trim()}`]
      }),
    )
    .join('\n')

export const noteCount = (notes: Notes): number => Object.values(notes).filter((note) => note.trim() !== '').length
