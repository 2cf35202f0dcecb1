/**
 * Adds an entry to a list in the text of a configuration file. The rest of the file stays as its owner wrote it,
 * byte by byte, as far as the place allows: indentation, order, line ends. Pure.
 */
import { applyEdits, findNodeAtLocation, modify, parseTree } from 'jsonc-parser'

/** The lists that an answer of a person makes longer. */
export type ListKey = 'recovery.auto_approve' | 'workspace.copy' | 'workspace.filters'

export interface ListEntry {
  key: ListKey
  value: string
}

/** Section and name of a list. */
export const listPath = (key: ListKey): [section: string, name: string] => key.split('.') as [string, string]

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
const behindLast = (text: string, { key, value }: ListEntry): string | undefined => {
  const root = parseTree(text)
  const list = root && findNodeAtLocation(root, listPath(key))
  const last = list?.type === 'array' ? list.children?.at(-1) : undefined
  if (last === undefined) return undefined
  const space = /\s*$/.exec(text.slice(0, last.offset))?.[0] ?? ''
  const end = last.offset + last.length
  return `${text.slice(0, end)},${space === '' ? ' ' : space}${JSON.stringify(value)}${text.slice(end)}`
}

/** `before`: undefined = there is no file. The caller checks what the result means. */
export const withEntry = (before: string | undefined, entry: ListEntry): string => {
  const given = before ?? '{}\n'
  const start = given.startsWith(bom) ? bom : ''
  const text = given.slice(start.length)
  const longer = behindLast(text, entry)
  if (longer !== undefined) return start + longer
  const formattingOptions = formatOf(text)
  return start + applyEdits(text, modify(text, listPath(entry.key), [entry.value], { formattingOptions }))
}
