/** The tokens of the lines of a file in a diff, as soon as the highlighter is loaded; a file of an unknown language has none. */
import { useEffect, useState } from 'react'
import type { DiffFile } from '../logic/diff.ts'
import { languageOf, type Language } from '../logic/languages.ts'
import type { Token } from './highlighter.ts'

/** By the index of a line. */
export type LineColours = ReadonlyMap<number, readonly Token[]>

const none: LineColours = new Map()

/** Colouring a larger file would make the page wait. */
const mostLines = 2_000

/** The lines of each hunk on each side: they are code that belongs together. */
const passagesOf = ({ lines }: DiffFile): number[][] => {
  const passages: number[][] = []
  let [before, after]: [number[], number[]] = [[], []]
  for (const [index, line] of lines.entries()) {
    if (line.kind === 'hunk') passages.push((before = []), (after = []))
    if (line.kind === 'removed') before.push(index)
    if (line.kind === 'same') before.push(index)
    if (line.kind === 'same' || line.kind === 'added') after.push(index)
  }
  return passages.filter(({ length }) => length > 0)
}

const colour = async (file: DiffFile, language: Language): Promise<LineColours> => {
  const { tokensOf } = await import('./highlighter.ts')
  const found = new Map<number, readonly Token[]>()
  for (const passage of passagesOf(file)) {
    const code = passage.map((index) => file.lines[index]?.text ?? '').join('\n')
    const lines = await tokensOf(code, language)
    for (const [at, index] of passage.entries()) found.set(index, lines[at] ?? [])
  }
  return found
}

export const useTokens = (file: DiffFile, open: boolean): LineColours => {
  const [tokens, setTokens] = useState(none)
  const language = languageOf(file.path)
  useEffect(() => {
    if (!open || language === undefined || file.lines.length > mostLines) return
    let left = false
    colour(file, language)
      .then((found) => (left ? undefined : setTokens(found)))
      .catch(() => undefined) // without colours the text is all there
    return () => {
      left = true
    }
  }, [file, open, language])
  return tokens
}
