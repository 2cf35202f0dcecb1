import { describe, expect, test } from 'vitest'
import { checksText } from './first-checks.ts'

const worker = { role: 'worker' as const }

describe('the checks of a task in one line', () => {
  test('name where each comes from', () => {
    const inferred = { ...worker, commands: ['npm test'], commandSource: 'inferred' as const }
    expect(checksText(inferred, undefined)).toBe('Checks: npm test (inferred from the repository)')
    const named = { ...worker, commands: ['make a'], commandSource: 'task' as const }
    expect(checksText(named, { commands: ['make a', 'make b'] })).toBe(
      'Checks: make a (named by the task); make b (contract, .unstuck/verify.contract.json)',
    )
  })

  test('leave out what was inferred where a contract asks for checks', () => {
    const inferred = { ...worker, commands: ['npm test'], commandSource: 'inferred' as const }
    expect(checksText(inferred, { commands: ['make b'] })).not.toContain('npm test')
  })

  test('count the rules of a contract, which depend on what is changed', () => {
    const none = { ...worker, commands: [], commandSource: 'inferred' as const }
    const rules = [{ whenChangedAny: ['docs/**'], commands: ['make docs'] }]
    expect(checksText(none, { rules })).toBe('Checks: 1 more rule of the contract, by changed path')
  })

  test('say what to do where there are none', () => {
    const none = { ...worker, commands: [], commandSource: 'inferred' as const }
    expect(checksText(none, undefined)).toMatch(/^No check was found.* "verify": \{"commands"/)
  })
})
