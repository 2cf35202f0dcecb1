import { expect, it } from 'vitest'
import { conflictTitle } from '../runtime/landing/conflict-auto-fix.ts'
import { autoFixTitle } from '../recovery/review/objection.ts'
import { readableTitle } from './task-title.ts'

it('names what a follow-up task is for, and leaves other titles as they are', () => {
  expect(readableTitle(autoFixTitle(2, 'Add a cache'))).toBe('Correct: Add a cache')
  expect(readableTitle(conflictTitle({ number: 3 }, { title: 'Add a cache' }))).toBe(
    'Solve the conflict of: Add a cache',
  )
  expect(readableTitle(conflictTitle({ number: 3 }, { title: autoFixTitle(2, 'x') }))).toBe(
    'Solve the conflict of: Correct: x',
  )
  for (const title of ['Add a cache', 'Explain [AutoFix] PR #1: x', '']) expect(readableTitle(title)).toBe(title)
})
