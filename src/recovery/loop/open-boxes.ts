/** Boxes of a Markdown checklist outside of code, by which a plan says what is left to do. */
import { plainLines } from './plain-lines.ts'

export interface OpenBox {
  line: number
  title: string
}

const box = /^\s*(?:[-*+]|\d{1,9}[.)])\s+\[( |x|X)\](?:\s+(.*))?$/

const allBoxes = (text: string): (OpenBox & { isTicked: boolean })[] =>
  plainLines(text).flatMap(({ line, text: whole }) => {
    const [found, tick = '', title = ''] = box.exec(whole) ?? []
    return found === undefined ? [] : [{ line, title: title.trim(), isTicked: tick !== ' ' }]
  })

export const boxesIn = (text: string): { open: OpenBox[]; count: number } => {
  const boxes = allBoxes(text)
  return {
    open: boxes.filter(({ isTicked }) => !isTicked).map(({ line, title }) => ({ line, title })),
    count: boxes.length,
  }
}

/** Whether every box is still there, ticked or not. A box that is removed, reworded or moved into code would count as done. */
export const keepsBoxes = (before: string, after: string): boolean => {
  const left = allBoxes(after).map(({ title }) => title)
  return allBoxes(before).every(({ title }) => {
    const at = left.indexOf(title)
    if (at !== -1) left.splice(at, 1)
    return at !== -1
  })
}
