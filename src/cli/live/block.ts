/**
 * Lines at the bottom of the terminal that are redrawn in place, and lines that scroll away above them. The cursor is
 * never hidden and always waits below the block, so nothing has to be restored however this process ends.
 */
import { widthOf } from '../width.ts'
import type { Terminal } from './terminal.ts'

const up = (rows: number): string => (rows === 0 ? '' : `\u001b[${rows}A`)
const clearLine = '\u001b[2K'
const clearBelow = '\u001b[J'

export interface Block {
  /** Shows these lines instead of the last ones. The same lines again cost nothing. */
  draw(lines: readonly string[]): void
  /** Writes finished text above the block. */
  print(text: string): void
  /** Removes the block. */
  clear(): void
}

/** Rows that lines take now: a terminal that became narrower has wrapped them. */
const rowsOf = (lines: readonly string[], columns: number): number =>
  lines.reduce((rows, line) => rows + Math.max(1, Math.ceil(widthOf(line) / columns)), 0)

const textOf = (lines: readonly string[]): string => lines.map((line) => `${clearLine}${line}\n`).join('')

/** Each change is one write, so that a terminal never shows half of it. */
export const createBlock = (terminal: Terminal): Block => {
  let shown: readonly string[] = []
  /** The beginning of a line whose end has not come yet. */
  let open = ''
  const top = (): string => `${up(rowsOf(shown, terminal.columns()))}\r`
  return {
    draw: (lines) => {
      if (lines.length === shown.length && lines.every((line, at) => line === shown[at])) return
      terminal.write(`${top()}${textOf(lines)}${clearBelow}`)
      shown = lines
    },
    print: (text) => {
      const end = text.lastIndexOf('\n') + 1
      const whole = open + text.slice(0, end)
      open = end === 0 ? open + text : text.slice(end)
      if (end > 0) terminal.write(`${top()}${clearBelow}${whole}${textOf(shown)}`)
    },
    clear: () => {
      if (shown.length > 0) terminal.write(`${top()}${clearBelow}`)
      shown = []
      if (open !== '') terminal.write(open)
      open = ''
    },
  }
}
