import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readIfFile, realFiles } from './files.ts'

test('what is no plain file is not read, so that a pipe stops nothing', () => {
  const top = mkdtempSync(join(tmpdir(), 'unstuck-files-'))
  onTestFinished(() => rmSync(top, { recursive: true }))
  execFileSync('mkfifo', [join(top, 'pipe')])
  writeFileSync(join(top, 'text'), 'x')
  const read = (name: string): string | undefined => readIfFile(realFiles, join(top, name))
  expect(['pipe', 'text', '.', 'absent'].map(read)).toEqual([undefined, 'x', undefined, undefined])
  // Also where the code asks for a file that it has just seen: another program can put a pipe there in between.
  expect(() => realFiles.readFileSync(join(top, 'pipe'), 'utf8')).toThrow('pipe')
})
