import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { openAnswerLinks, parsePublicUrl } from './answer-link.ts'

const stateDir = mkdtempSync(join(tmpdir(), 'unstuck-link-'))
const other = mkdtempSync(join(tmpdir(), 'unstuck-link-'))
afterAll(() => [stateDir, other].forEach((folder) => rmSync(folder, { recursive: true })))

const at = (url: string) => openAnswerLinks(stateDir, parsePublicUrl(url))
const links = at('https://unstuck.example.com')
const link = { question: 'q-abc234', choices: ['retry', 'cancel'], expiresAt: new Date('2026-03-02T10:00:00Z') }
const tokenOf = (url: string): string => url.split('/').at(-1) ?? ''
const token = tokenOf(links.urlOf(link))

test('a link says what it was made for, also after a restart of the engine', () => {
  expect(links.read(token)).toEqual(link)
  expect(at('https://unstuck.example.com').read(token)).toEqual(link)
  expect(statSync(join(stateDir, 'link-key')).mode & 0o777).toBe(0o600)
})

test.each([
  ['https://unstuck.example.com', 'https://unstuck.example.com/answer/'],
  ['https://Example.com:8443/', 'https://example.com:8443/answer/'],
  ['https://example.com/teams/unstuck//', 'https://example.com/teams/unstuck/answer/'],
  ['http://127.0.0.1:8080/x', 'http://127.0.0.1:8080/x/answer/'],
])('%s begins the links with %s', (url, start) => {
  expect(at(url).urlOf(link)).toBe(`${start}${token}`)
})

test.each([
  ['http://example.com', 'not encrypted'],
  ['https://user:pass@example.com', 'a user or a password'],
  ['https://example.com/?a=b', '"?" or "#"'],
  ['https://example.com/#a', '"?" or "#"'],
  ['https://example.com/a|b', 'its path'],
  ['https://example.com/a>b', 'its path'],
  ['https://169.254.169.254/', 'link-local'],
  ['ftp://example.com', 'neither https://'],
  ['javascript:alert(1)', 'neither https://'],
  ['example.com', 'not a URL'],
  ['', 'not a URL'],
])('%s is refused as the public URL', (url, why) => {
  expect(() => parsePublicUrl(url)).toThrow(new RegExp(`--public-url is not usable: .*${why.replace('?', '\\?')}`))
})

test('a link with one other character anywhere is none', () => {
  const characters = ['.', '-', '_', '~', '0', '9', 'a', 'x', 'A', 'Z', '%', '/', '+', '=', ' ']
  fc.assert(
    fc.property(fc.integer({ min: 0, max: token.length - 1 }), fc.constantFrom(...characters), (place, character) => {
      const changed = token.slice(0, place) + character + token.slice(place + 1)
      if (changed !== token) expect(links.read(changed)).toBeUndefined()
    }),
  )
})

test.each([
  ['a later end', token.replace(/\.\d+\./, '.9999999999.')],
  ['one more choice', token.replace('.cancel.', '.cancel.approve.')],
  ['one choice less', token.replace('.cancel.', '.')],
  ['the choices in another order', token.replace('.retry.cancel.', '.cancel.retry.')],
  ['another question', token.replace('q-abc234', 'q-abc235')],
  ['no signature', token.slice(0, -44)],
  ['an empty signature', token.slice(0, -43)],
  ['a shorter signature', token.slice(0, -1)],
  ['something after it', `${token}.`],
  ['a line break after it', `${token}\n`],
  ['something before it', `x${token}`],
  ['nothing at all', ''],
  ['a very long text', 'q-'.repeat(100_000)],
  [
    'the signature of another repository',
    tokenOf(openAnswerLinks(other, parsePublicUrl('https://a.example')).urlOf(link)),
  ],
])('%s is not accepted', (_what, changed) => {
  expect(links.read(changed)).toBeUndefined()
})
