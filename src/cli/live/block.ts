/**
 * A block of lines at the bottom of the terminal, redrawn in place, below lines that scroll away. The cursor is never
 * hidden and always stays below the block, so the terminal needs no clean-up even if this process is killed.
 */
import { widthOf } from '../width.ts'
import type { Terminal } from './terminal.ts'

const up = (rows: number): string => (rows === 0 ? '' : `\u001b[${rows}A`)
const clearLine = '\u001b[2K'
const clearBelow = '\u001b[J'

export interface TerminalBlock {
  /** Replaces the lines of the block. Writes nothing if they have not changed. */
  draw(lines: readonly string[]): void
  /** Writes finished text above the block. */
  print(text: string): void
  /** Removes the block. */
  clear(): void
}

/** Rows that the lines take now: a terminal that became narrower has wrapped them. */
const rowsOf = (lines: readonly string[], columns: number): number =>
  lines.reduce((rows, line) => rows + Math.max(1, Math.ceil(widthOf(line) / columns)), 0)

const textOf = (lines: readonly string[]): string => lines.map((line) => `${clearLine}${line}\n`).join('')

/** Each change is a single write, so that the terminal never shows half of a change. */
export const createBlock = (terminal: Terminal): TerminalBlock => {
  let shown: readonly string[] = []
  /** The start of a line that is not complete yet. */
  let partial = ''
  const top = (): string => `${up(rowsOf(shown, terminal.columns()))}\r`
  return {
    draw: (lines) => {
      if (lines.length === shown.length && lines.every((line, at) => line === shown[at])) return
      terminal.write(`${top()}${textOf(lines)}${clearBelow}`)
      shown = lines
    },
    print: (text) => {
      const end = text.lastIndexOf('\n') + 1
      const whole = partial + text.slice(0, end)
      partial = end === 0 ? partial + text : text.slice(end)
      if (end > 0) terminal.write(`${top()}${clearBelow}${whole}${textOf(shown)}`)
    },
    clear: () => {
      if (shown.length > 0) terminal.write(`${top()}${clearBelow}`)
      shown = []
      if (partial !== '') terminal.write(partial)
      partial = ''
    },
  }
}
