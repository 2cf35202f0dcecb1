import { expect, test } from 'vitest'
import { suggestedCommands, type CommandRecord } from './suggestions.ts'

const record = (extra: Partial<CommandRecord> = {}): CommandRecord => ({
  ...{ command: 'npm ci', signature: 's1', worked: 3, failed: 0 },
  ...extra,
})

const commandsOf = (records: CommandRecord[], lists: { auto_approve?: string[]; require_human?: string[] } = {}) =>
  suggestedCommands(records, { auto_approve: [], require_human: ['*'], ...lists }).map(({ command }) => command)

test('a command that worked three times for a failure is suggested, with the line to add', () => {
  const quoted = record({ command: 'echo "a\\b"' })
  expect(suggestedCommands([quoted], { auto_approve: [], require_human: ['*'] })).toEqual([
    { command: 'echo "a\\b"', signature: 's1', worked: 3, line: '"echo \\"a\\\\b\\""' },
  ])
})

test.each<[string, CommandRecord[], object?]>([
  ['it worked twice', [record({ worked: 2 })]],
  ['it worked twice for each of two failures', [record({ worked: 2 }), record({ worked: 2, signature: 's2' })]],
  ['it failed once', [record({ failed: 1 })]],
  ['it failed once for another failure', [record(), record({ signature: 's2', worked: 0, failed: 1 })]],
  ['it is approved already', [record()], { auto_approve: ['npm ci'] }],
  ['the owner wants to be asked about exactly this text', [record()], { require_human: ['npm ci'] }],
])('nothing is suggested when %s', (_why, records, lists) => {
  expect(commandsOf(records, lists)).toEqual([])
})

test('each command is suggested once, the most proven first', () => {
  expect(
    commandsOf([record(), record({ signature: 's2', worked: 4 }), record({ command: 'bun install', worked: 9 })]),
  ).toEqual(['bun install', 'npm ci'])
})
