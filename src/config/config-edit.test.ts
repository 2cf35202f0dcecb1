import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { withEntry } from './config-edit.ts'

const npmCi = { key: 'recovery.auto_approve', value: 'npm ci' } as const

describe('a command is added to recovery.auto_approve', () => {
  test.each<[what: string, before: string | undefined, after: string]>([
    ['no file', undefined, '{\n  "recovery": {\n    "auto_approve": [\n      "npm ci"\n    ]\n  }\n}\n'],
    [
      'a list on one line',
      '{ "recovery": { "auto_approve": ["a", "b"] } }',
      '{ "recovery": { "auto_approve": ["a", "b", "npm ci"] } }',
    ],
    ['one entry on one line', '{"recovery":{"auto_approve":["a"]}}', '{"recovery":{"auto_approve":["a", "npm ci"]}}'],
    [
      'a list of lines',
      '{\n    "recovery": {\n        "auto_approve": [\n            "a"\n        ],\n        "cooldown_seconds": 5\n    }\n}\n',
      '{\n    "recovery": {\n        "auto_approve": [\n            "a",\n            "npm ci"\n        ],\n        "cooldown_seconds": 5\n    }\n}\n',
    ],
    [
      'tabs and the line ends of Windows',
      '{\r\n\t"recovery": {\r\n\t\t"auto_approve": [\r\n\t\t\t"a"\r\n\t\t]\r\n\t}\r\n}\r\n',
      '{\r\n\t"recovery": {\r\n\t\t"auto_approve": [\r\n\t\t\t"a",\r\n\t\t\t"npm ci"\r\n\t\t]\r\n\t}\r\n}\r\n',
    ],
    [
      'no list yet',
      '{\n  "maxParallel":   3,\n  "recovery": {}\n}\n',
      '{\n  "maxParallel":   3,\n  "recovery": {\n    "auto_approve": [\n      "npm ci"\n    ]\n  }\n}\n',
    ],
    [
      'a byte order mark',
      '\uFEFF{"recovery":{"auto_approve":["a"]}}',
      '\uFEFF{"recovery":{"auto_approve":["a", "npm ci"]}}',
    ],
  ])('%s', (_what, before, after) => {
    expect(withEntry(before, npmCi)).toBe(after)
  })

  test('another list', () => {
    expect(withEntry('{"workspace":{"copy":[".a"]}}', { key: 'workspace.copy', value: '.env' })).toBe(
      '{"workspace":{"copy":[".a", ".env"]}}',
    )
  })

  test('whatever the command and the file say, only the list is longer', () => {
    const texts = fc.string({ unit: 'grapheme', maxLength: 30 })
    fc.assert(
      fc.property(
        fc.array(texts),
        texts,
        fc.jsonValue(),
        fc.constantFrom(undefined, 2, '\t'),
        (list, command, other, indent) => {
          const config = { other, recovery: { first: other, auto_approve: list, last: 1 } }
          const after = withEntry(JSON.stringify(config, null, indent), { ...npmCi, value: command })
          expect(JSON.parse(after)).toEqual(
            JSON.parse(
              JSON.stringify({ ...config, recovery: { ...config.recovery, auto_approve: [...list, command] } }),
            ),
          )
        },
      ),
    )
  })
})
