/** The plan against a real bash: what is planned must be what the shell would have started, argument for argument. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { planCommand } from '../../src/recovery/command/command-plan.ts'
import { samples } from '../support/samples.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'unstuck-plan-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const show = `show() { printf '%s\\0' "$#" "$A" "$@"; }\n`

/** Count, value of A and arguments of every \`show\` that bash runs. */
const runInBash = (text: string): string[] =>
  execFileSync('bash', ['--norc', '-c', show + text], {
    cwd: folder,
    env: { PATH: process.env.PATH },
    encoding: 'utf8',
    timeout: 120_000,
  })
    .split('\0')
    .slice(0, -1)

const planned = (text: string): string[] | undefined => {
  const plan = planCommand(text)
  if (!plan.ok || plan.steps.some((step) => step.argv[0] !== 'show')) return undefined
  return plan.steps.flatMap(({ argv, env }) => [String(argv.length - 1), env.A ?? '', ...argv.slice(1)])
}

const token = fc.constantFrom(
  'a',
  'b',
  ' ',
  ' ',
  '""',
  "''",
  '"',
  "'",
  '\\',
  '\\\\',
  '\\"',
  '\\ ',
  '\\\n',
  '$',
  '#',
  ' #',
  '!',
  '=',
  '-',
  '%',
  '^',
  ',',
  '.',
  'é',
  '\t',
  '&',
  '{',
  '}',
  '[',
  ']',
  '*',
  '?',
  '~',
  ':',
  '|',
  '>',
  ';',
  '(',
  ')',
  ' && show ',
  ' && A=x show ',
  '"a b"',
  "'a  b'",
  "$'a\\n'",
  '\n',
)

it('every accepted text runs in bash with exactly the planned arguments', () => {
  let compared = 0
  fc.assert(
    fc.property(fc.array(token, { maxLength: 9 }), (tokens) => {
      const text = `show ${tokens.join('')}`
      const expected = planned(text)
      if (expected === undefined) return
      compared += 1
      expect(runInBash(text)).toEqual(expected)
    }),
    { numRuns: samples(1200), seed: 20 },
  )
  expect(compared).toBeGreaterThan(samples(200))
  expect(readdirSync(folder)).toEqual([])
})
