/** `unstuck completion` in a real bash; zsh and fish only where they are installed. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const entry = fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))
const script = (shell: string): string =>
  spawnSync(process.execPath, [entry, 'completion', shell], { encoding: 'utf8' }).stdout

test('bash completes commands, and the options of a command', () => {
  const completed = (script: string, ...words: string[]): string[] =>
    spawnSync(
      'bash',
      [
        '-c',
        `${script}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _unstuck; printf '%s\\n' "\${COMPREPLY[@]}"`,
        ...['bash', 'unstuck', ...words],
      ],
      { encoding: 'utf8' },
    )
      .stdout.split('\n')
      .filter((word) => word !== '')
  const bash = script('bash')
  expect(completed(bash, 'ru')).toEqual(['run', 'runs'])
  expect(completed(bash, 'eng')).toEqual([])
  expect(completed(bash, 'run', '--d')).toEqual(['--direct', '--dry-run', '--detach', '--database-url'])
  expect(completed(bash, 'completion', 'z')).toEqual(['zsh'])
  expect(completed(bash, 'runs', '--s')).toEqual(['--state'])
  expect(completed(bash, 'logs', 'r-x', '--l')).toEqual(['--last'])
})

test.each([
  ['zsh', ['-n']],
  ['fish', ['--no-execute']],
] as const)('%s reads its script', (name, flags) => {
  const text = script(name)
  expect(text).toContain('unstuck')
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-completion-'))
  writeFileSync(join(folder, name), text)
  const read = spawnSync(name, [...flags, join(folder, name)], { encoding: 'utf8' })
  rmSync(folder, { recursive: true })
  // A machine without this shell shows only that there is a script.
  if (read.error === undefined) expect([read.status, read.stderr]).toEqual([0, ''])
})
