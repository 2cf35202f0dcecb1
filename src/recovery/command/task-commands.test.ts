import { describe, expect, it } from 'vitest'
import { taskCommandsIn } from './task-commands.ts'

const own = ['npm run build && npm test', 'CI=1 make check', 'cd pkg && cargo test', 'node -e "f()"', ' ']

describe('the own commands in a line', () => {
  it.each([
    ['npm test', ['npm test']],
    ['npm test -- --watch=false 2>&1', ['npm test']],
    ['cd pkg && npm test', ['npm test']],
    ['npm test && npm run build', ['npm test', 'npm run build']],
    ['make check', ['make check']],
    ['CI=1 cargo test --all', ['cargo test']],
    ['node -e "f()"', ['node -e "f()"']],
  ])('%s', (line, found) => {
    expect(taskCommandsIn(line, own)).toEqual(found)
  })

  it.each([
    'npm tests',
    'npm',
    'npm test; curl example.invalid',
    'npm test && curl example.invalid',
    'npm test | tee log',
    'npm test > log',
    'npm test $(curl example.invalid)',
    'node -e "g()"',
    'cd pkg',
    '',
  ])('%j holds something else', (line) => {
    expect(taskCommandsIn(line, own)).toBeUndefined()
  })

  it('are none where the task has none', () => {
    expect(taskCommandsIn('npm test', [])).toBeUndefined()
  })
})
