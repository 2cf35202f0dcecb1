/** Unticked boxes of a Markdown checklist outside of code, by which a plan says what is left to do. */
import { plainLines } from './plain-lines.ts'

export interface OpenBox {
  line: number
  title: string
}

const box = /^\s*(?:[-*+]|\d{1,9}[.)])\s+\[( |x|X)\](?:\s+(.*))?$/

export const boxesIn = (text: string): { open: OpenBox[]; count: number } => {
  const boxes = plainLines(text).flatMap(({ line, text: whole }) => {
    const [found, tick = '', title = ''] = box.exec(whole) ?? []
    return found === undefined ? [] : [{ line, title: title.trim(), ticked: tick !== ' ' }]
  })
  return {
    open: boxes.filter(({ ticked }) => !ticked).map(({ line, title }) => ({ line, title })),
    count: boxes.length,
  }
}
