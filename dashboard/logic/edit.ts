/** The form that edits a task, as data: its fields, and a request with only the changed ones. Pure. */
import type { EditRequest } from '../../src/api/contract.ts'
import type { BoardTask } from './board.ts'

/** The task as its next attempt will see it. */
export const editable = (task: BoardTask): BoardTask => ({ ...task, ...task.pendingEdit })

export const editFields = [
  { name: 'title', label: 'Title', rows: 1 },
  { name: 'instructions', label: 'Instructions', rows: 6 },
  { name: 'allowedPaths', label: 'Allowed paths (one per line)', rows: 3 },
  { name: 'deniedPaths', label: 'Denied paths (one per line)', rows: 2 },
  { name: 'commands', label: 'Checks (one per line)', rows: 3 },
  { name: 'harness', label: 'Harness', rows: 1 },
  { name: 'model', label: 'Model (empty = default of the harness)', rows: 1 },
] as const
export type EditField = (typeof editFields)[number]['name']

export const fieldText = (task: BoardTask, name: EditField): string => {
  const value = task[name]
  return Array.isArray(value) ? value.join('\n') : (value ?? '')
}

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

const valueOf = (task: BoardTask, name: EditField, text: string): string | string[] | null => {
  if (Array.isArray(task[name])) return linesOf(text)
  return name === 'model' && text.trim() === '' ? null : text
}

/** What differs from the task as the form showed it; undefined if nothing does. */
export const editOf = (
  task: BoardTask,
  read: (name: EditField) => string,
  why: string,
): (EditRequest & { by: string }) | undefined => {
  const fields = editFields.flatMap(({ name }) => {
    // A browser submits line breaks of a form as CRLF.
    const text = read(name).replaceAll('\r\n', '\n')
    return text === fieldText(task, name) ? [] : [[name, valueOf(task, name, text)] as const]
  })
  if (fields.length === 0) return undefined
  return { ...Object.fromEntries(fields), ...(why.trim() === '' ? {} : { why }), by: 'dashboard' }
}
