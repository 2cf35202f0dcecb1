/** The examples of docs/playbooks.md are valid, and each one fits the log below it and no other one. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { matchesOf } from '../../src/recovery/own/match-own.ts'
import { ownActions, readOwnPlaybook, type OwnPlaybook } from '../../src/recovery/own/own-playbook.ts'

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'playbooks.md'), 'utf8')
const examples = [...page.matchAll(/```json\n(.*?)```\n\n```text\n(.*?)```/gs)].map(([, json = '', log = '']) => ({
  json,
  log,
}))

const valid = (json: string): OwnPlaybook => {
  const read = readOwnPlaybook(json)
  if (!read.ok) throw new Error(read.problem)
  return read.playbook
}

test('each example fits its own log', () => {
  expect(examples).toHaveLength(3)
  const own = Object.fromEntries(examples.map(({ json }, at) => [`example-${at}`, valid(json)]))
  examples.forEach(({ log }, at) => {
    const { match } = own[`example-${at}`] as OwnPlaybook
    const found = matchesOf(own, {
      ...{ failure: 'check', harness: 'claude', command: 'npm test', stdout: '', stderr: `first\n${log}last\n` },
      exitCode: [match.exitCode ?? 1].flat()[0] ?? 1,
    })
    expect(found.map(({ name, line }) => [name, line])).toEqual([[`example-${at}`, log.trim()]])
  })
})

test('the page has a row for every action', () => {
  for (const action of ownActions) expect(page).toContain(`| \`${action}\``)
})
