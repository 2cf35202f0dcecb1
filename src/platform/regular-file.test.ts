import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { readRegular, readRegularSync, readRegularText, readRegularTextSync, type ReadOptions } from './regular-file.ts'

let top = ''
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'unstuck-regular-'))
  return () => rmSync(top, { recursive: true })
})

const codeOf = (read: () => unknown): unknown => {
  try {
    return read()
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  }
}

/** What both readers say about the file: its text, or the code of the error. */
const both = async (name: string, options?: ReadOptions): Promise<unknown[]> => {
  const path = join(top, name)
  const later = await readRegular(path, options).then(String, (error: NodeJS.ErrnoException) => error.code)
  return [codeOf(() => String(readRegularSync(path, options))), later]
}

test('only a regular file is read, and nothing is waited for', async () => {
  execFileSync('mkfifo', [join(top, 'pipe')])
  mkdirSync(join(top, 'folder'))
  symlinkSync('/dev/zero', join(top, 'device'))
  writeFileSync(join(top, 'text'), 'größer')
  symlinkSync('text', join(top, 'link'))
  const server = createServer().listen(join(top, 'socket'))
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  for (const name of ['pipe', 'folder', 'device', 'socket'])
    expect([name, await both(name)]).toEqual([name, ['ENOTREGULAR', 'ENOTREGULAR']])
  expect(await both('absent')).toEqual(['ENOENT', 'ENOENT'])
  expect(await both('link')).toEqual(['größer', 'größer'])
  expect(await both('link', { noLink: true })).toEqual(['ELOOP', 'ELOOP'])
  expect([readRegularTextSync(join(top, 'text')), await readRegularText(join(top, 'text'))]).toEqual([
    'größer',
    'größer',
  ])
})

test('a file above the limit is not read', async () => {
  writeFileSync(join(top, 'text'), 'x'.repeat(2048))
  expect(await both('text', { most: 2047 })).toEqual(['EFBIG', 'EFBIG'])
  expect(await both('text', { most: 2048 })).toEqual(['x'.repeat(2048), 'x'.repeat(2048)])
})
