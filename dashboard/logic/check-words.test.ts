import { expect, it } from 'vitest'
import type { ChecksView } from '../../src/api/contract.ts'
import { outputOfCheck } from './check-words.ts'

const output = (number: number, command: string): ChecksView[number] => ({
  ...{ number, command, startedAt: null, endedAt: null, outcome: 'exit 0', lines: [] },
})
const commands = (...list: string[]) => list.map((command) => ({ command }))

it('a check has the output of its own command, whatever quotes it is written with, and the newest of several', () => {
  const outputs = [output(1, 'npm test'), output(2, 'node -e a b'), output(3, 'npm test')]
  const checks = commands('npm test', 'node -e "a b"', 'npm run lint')
  expect([0, 1, 2].map((index) => outputOfCheck(outputs, checks, index)?.number)).toEqual([3, 2, undefined])
})

it('a command that is listed twice has its outputs in order', () => {
  const outputs = [output(1, 'true'), output(2, 'true')]
  expect([0, 1].map((index) => outputOfCheck(outputs, commands('true', 'true'), index)?.number)).toEqual([1, 2])
})
