import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { brokenText, isSource } from './break-source.ts'

test('a broken module throws when it is loaded, after all that it does', () => {
  const seen: string[] = []
  const text = brokenText('a.js', '#!/usr/bin/env node\nseen.push("loaded")') ?? ''
  expect(() => runInNewContext(text.replace(/^#!.*/, ''), { seen, Date, Error })).toThrow(/broken on purpose/)
  expect(seen).toEqual(['loaded'])
})

test('broken at its beginning, it does nothing before', () => {
  const seen: string[] = []
  const text = brokenText('a.cjs', 'seen.push("loaded")', 'early') ?? ''
  expect(() => runInNewContext(text, { seen, Date, Error })).toThrow(/broken on purpose/)
  expect(seen).toEqual([])
})

test('lines that must come first stay first', () => {
  expect(brokenText('a.sh', '#!/bin/sh\necho hi\n')).toMatch(/^#!\/bin\/sh\nexit 97\n/)
  expect(brokenText('a.py', '# c\nfrom __future__ import annotations\nx = 1\n', 'early')).toMatch(
    /^# c\nfrom __future__ import annotations\nraise /,
  )
})

test.each(['a.ts', 'a.py', 'a.go', 'a.rs', 'a.java', 'a.rb', 'a.c', 'a.kt', 'a.vue'])(
  '%s is code and can be broken',
  (path) => {
    const text = 'class A {\n}\n'
    expect(isSource(path)).toBe(true)
    expect(brokenText(path, text)).not.toBe(text)
  },
)

test('data are emptied, types and pictures are left', () => {
  expect(brokenText('a.json', '{}')).toBe('')
  expect(brokenText('a.d.ts', 'declare const a: 1')).toBeUndefined()
  expect(brokenText('a.png', 'x')).toBeUndefined()
})
