/**
 * Adds a command to `recovery.auto_approve` in the text of a configuration file. The rest of the file stays as its owner wrote it,
 * byte by byte, as far as the place allows: indentation, order, line ends. Pure.
 */
import { applyEdits, findNodeAtLocation, modify, parseTree } from 'jsonc-parser'

const bom = '\uFEFF'

/** As the first indented line of the file has it. */
const formatOf = (text: string) => {
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? '  '
  return {
    ...{ insertSpaces: !indent.startsWith('\t'), tabSize: indent.startsWith('\t') ? 1 : indent.length },
    eol: text.includes('\r\n') ? '\r\n' : '\n',
  }
}

/** Behind the last entry, separated as the entry before it. Undefined = there is no entry yet. */
const behindLast = (text: string, command: string): string | undefined => {
  const root = parseTree(text)
  const list = root && findNodeAtLocation(root, ['recovery', 'auto_approve'])
  const last = list?.type === 'array' ? list.children?.at(-1) : undefined
  if (last === undefined) return undefined
  const space = /\s*$/.exec(text.slice(0, last.offset))?.[0] ?? ''
  const end = last.offset + last.length
  return `${text.slice(0, end)},${space === '' ? ' ' : space}${JSON.stringify(command)}${text.slice(end)}`
}

/** `before`: undefined = there is no file. The caller checks what the result means. */
export const withAutoApprove = (before: string | undefined, command: string): string => {
  const given = before ?? '{}\n'
  const start = given.startsWith(bom) ? bom : ''
  const text = given.slice(start.length)
  const longer = behindLast(text, command)
  if (longer !== undefined) return start + longer
  const formattingOptions = formatOf(text)
  return start + applyEdits(text, modify(text, ['recovery', 'auto_approve'], [command], { formattingOptions }))
}
