/** `unstuck classify` with a log: what it says of the cause, and of a file that it cannot read. */
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { classifyCommand, type ClassifyOptions } from '../../src/cli/classify.ts'
import type { Io } from '../../src/cli/io.ts'

let cwd: string

beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'classify-'))
})

afterAll(() => rmSync(cwd, { recursive: true, force: true }))

/** The text that the command prints. */
const said = async (log: string | Buffer, options: ClassifyOptions = {}): Promise<string> => {
  writeFileSync(join(cwd, 'a.log'), log)
  let text = ''
  const print = (more: string): void => {
    text += more
  }
  const io: Io = {
    ...{ cwd, environment: {}, out: print, error: print, colours: false, json: false, version: '0', self: [] },
    signal: new AbortController().signal,
  }
  await classifyCommand(io, 'a.log', options)
  return text
}

it('says the cause, the line that shows it and what Unstuck would do', async () => {
  expect(await said('npm warn old lockfile\n\n> a@1.0.0 test\n> jst\n\nsh: 1: jst: not found\n')).toBe(
    [
      'A program is not on the machine or not on the PATH.',
      '  shown by  sh: 1: jst: not found',
      '  label     command_not_found (setup_or_bootstrap_issue); caused by the environment',
      '  next      Install what is missing, then run the same command again.',
      '  in a run  Unstuck installs the project’s dependencies and repeats the check.',
      '',
    ].join('\n'),
  )
})

it.each<[string, string | Buffer, ClassifyOptions, string]>([
  ['nothing', '', {}, 'No failure found. The log is empty.'],
  ['tests that passed', 'Tests:       3 passed, 3 total\n', {}, 'No failure found. A test runner counted'],
  ['no error', 'added 59 packages in 3s\n', {}, 'No failure found. No line reports an error.'],
  ['an unknown failure', 'it failed somehow\n', {}, 'The output does not show what is wrong.'],
  ['a given status', 'waiting\n', { exitCode: 124 }, 'The command timed out.'],
  ['a given command', 'x\n', { command: 'a | b', exitCode: 1 }, 'The command line needs a shell'],
  ['UTF-16', Buffer.from('\uFEFFsh: 1: jst: not found\r\n', 'utf16le'), {}, 'A program is not on the machine'],
])('reads %s', async (_name, log, options, wanted) => {
  expect(await said(log, options)).toContain(wanted)
})

it('reads the two ends of a log of any length', async () => {
  const end = "\nError: Cannot find module 'left-pad'\n"
  const text = await said(`${'a line\n'.repeat(6_000_000)}${end}`)
  expect(text).toContain('only the first 8 MB and the last 24 MB were read')
  expect(text).toContain("  shown by  Error: Cannot find module 'left-pad'")
})

const entry = fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))

it('names what is wrong with a file, and exits with 2', async () => {
  mkdirSync(join(cwd, 'folder'))
  writeFileSync(join(cwd, 'binary'), '')
  truncateSync(join(cwd, 'binary'), 100)
  const run = (...words: string[]) =>
    execa(process.execPath, [entry, 'classify', ...words], { cwd, reject: false, input: '' })
  const results = await Promise.all([
    run('absent.log'),
    run('folder'),
    run('binary'),
    run('a.log', '--exit-code', 'x'),
    run('-'),
  ])
  expect(results.map(({ exitCode, stderr, stdout }) => [exitCode, `${stderr}${stdout}`.split('\n')[0]])).toEqual([
    [2, 'unstuck: absent.log does not exist; give the path of a log file, or "-" for standard input'],
    [2, 'unstuck: folder is a folder; give the path of a log file, or "-" for standard input'],
    [2, 'unstuck: binary is not a text file; give the path of a log file, or "-" for standard input'],
    [2, expect.stringContaining('Give an exit status from 0 to 255')],
    [0, 'No failure found. The log is empty.'],
  ])
})
