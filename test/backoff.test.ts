/** Delays grow by one formula, `backoff` of the domain: a copy would have its own overflow and its own maximum. */
import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/** A power whose exponent is not a constant. `/** ` begins a comment, so a value has to stand before the operator. */
const growth = /[\w)] \*\* [a-z(]|Math\.pow\(/

test('no other file raises a delay to a power', () => {
  const root = new URL('..', import.meta.url).pathname
  const files = globSync('{src,dashboard}/**/*.{ts,tsx}', { cwd: root }).filter((file) => !file.endsWith('.test.ts'))
  const growing = files.filter((file) => growth.test(readFileSync(`${root}${file}`, 'utf8')))
  expect(growing).toEqual(['src/domain/backoff.ts'])
})
