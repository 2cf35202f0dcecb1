import { expect, it } from 'vitest'
import type { BoardTask } from './board.ts'
import { editable, editOf, fieldText, type EditField } from './edit.ts'

const task = {
  ...{ title: 'Cache', instructions: 'Do\nit', allowedPaths: ['src/**'], deniedPaths: [], commands: ['npm test'] },
  ...{ harness: 'codex', model: 'big', pendingEdit: null },
} as unknown as BoardTask

const read =
  (change: Partial<Record<EditField, string>>) =>
  (name: EditField): string =>
    change[name] ?? fieldText(task, name)

it('holds only what was changed, with lists by line and no model for an empty one', () => {
  const change = { allowedPaths: ' src/** \r\n\r\ndocs', model: ' ', instructions: 'Do\r\nit' }
  expect(editOf(task, read(change), 'so')).toEqual({
    ...{ allowedPaths: ['src/**', 'docs'], model: null, why: 'so', by: 'dashboard' },
  })
})

it('is nothing where nothing was changed, whatever the reason', () => {
  expect(editOf(task, read({}), 'because')).toBeUndefined()
})

it('begins with what the next attempt will see', () => {
  expect(editable({ ...task, pendingEdit: { title: 'Later' } }).title).toBe('Later')
})
