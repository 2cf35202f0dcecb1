/**
 * The reviewer's promise: a line of its own, the last one of the final message, with the exact text. Prose that mentions the promise,
 * quotes it or refuses it contains the same characters, so nothing else counts.
 */
import { plainLines } from './plain-lines.ts'

const open = '<promise>'
const close = '</promise>'

/** The text of the promise that ends this message; undefined = there is none. */
export const promiseIn = (message: string): string | undefined => {
  const last = plainLines(message).findLast(({ text }) => text.trim() !== '')
  const whole = message.trimEnd().split(/\r?\n/).at(-1)
  // The last line is inside of a code block.
  if (last === undefined || last.text !== whole) return undefined
  const line = last.text.trimEnd()
  if (!line.startsWith(open) || !line.endsWith(close)) return undefined
  const text = line.slice(open.length, -close.length)
  return /[<>]/.test(text) ? undefined : text
}
