/** A recorded terminal session as a static picture: text without scripts, light or dark as the reader's system. */
import { widthOf } from '../../src/cli/width.ts'
import { width, type PlayedCommand } from './play.ts'

const lineHeight = 19
const columnWidth = 7.83
const margin = 18

/** The classes for the colours of `Paint`. */
const classes: Record<string, string> = { '1': 'bold', '2': 'dim', '31': 'bad', '32': 'good', '35': 'warn' }

const style = `
    .back { fill: #ffffff; stroke: #d0d7de }
    text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #1f2328; white-space: pre }
    .bold, .prompt { font-weight: 700 }
    .dim { fill: #59636e }
    .good, .prompt { fill: #1a7f37 }
    .bad { fill: #cf222e }
    .warn { fill: #8250df }
    @media (prefers-color-scheme: dark) {
      .back { fill: #0d1117; stroke: #3d444d }
      text { fill: #e6edf3 }
      .dim { fill: #9198a1 }
      .good, .prompt { fill: #3fb950 }
      .bad { fill: #f85149 }
      .warn { fill: #d2a8ff }
    }
  `

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** One row of the terminal; `open` is the class that the row before left open. */
const spans = (row: string, open: string): { text: string; open: string } => {
  const [first = '', ...painted] = row.split('\u001b[')
  let [text, current] = ['', open]
  const add = (part: string): void => {
    if (part !== '') text += current === '' ? escaped(part) : `<tspan class="${current}">${escaped(part)}</tspan>`
  }
  add(first)
  for (const part of painted) {
    const [sequence = '', code = ''] = /^(\d+)m/.exec(part) ?? []
    current = classes[code] ?? ''
    add(part.slice(sequence.length))
  }
  return { text, open: current }
}

/** Breaks a line between words, with the rest below its text, so that a reader finds no half words. */
const folded = (line: string): string[] => {
  const indent = /^\d\d:\d\d:\d\d /.test(line) ? 9 : 4
  const rows: string[] = []
  let row = ''
  for (const word of line.split(/(?= )/)) {
    if (row !== '' && widthOf(row + word) > width) {
      rows.push(row)
      row = `${' '.repeat(indent)}${word.trimStart()}`
    } else row += word
  }
  return [...rows, row]
}

const rowsOf = ({ command, output }: PlayedCommand): string[] => {
  const rows = [`<tspan class="prompt">$</tspan> <tspan class="bold">${escaped(command)}</tspan>`]
  let open = ''
  for (const line of output
    .replaceAll(/\n{2,}/g, '\n')
    .trim()
    .split('\n'))
    for (const row of folded(line)) {
      const painted = spans(row, open)
      open = painted.open
      rows.push(painted.text)
    }
  return [...rows, '']
}

export const sessionSvg = (played: readonly PlayedCommand[]): string => {
  const rows = played.flatMap(rowsOf).slice(0, -1)
  const [wide, high] = [Math.ceil(width * columnWidth + 2 * margin), rows.length * lineHeight + 2 * margin]
  const texts = rows.map((row, at) => `  <text x="${margin}" y="${margin + 14 + at * lineHeight}">${row}</text>`)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${wide} ${high}" width="${wide}" height="${high}" role="img">
  <title>A recorded session of Unstuck</title>
  <style>${style}</style>
  <rect class="back" x="0.5" y="0.5" width="${wide - 1}" height="${high - 1}" rx="8" />
${texts.join('\n')}
</svg>
`
}
