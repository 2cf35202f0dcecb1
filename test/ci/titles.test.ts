/** Which commits `scripts/check-titles.ts` refuses, and which it looks at. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { afterAll, expect, test } from 'vitest'

const script = fileURLToPath(new URL('../../scripts/check-titles.ts', import.meta.url))
const top = mkdtempSync(join(tmpdir(), 'unstuck-titles-'))
afterAll(() => rmSync(top, { recursive: true, force: true }))

const git = (folder: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.invalid', '-C', folder, ...args], {
    encoding: 'utf8',
    env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()

const commit = (folder: string, ...titles: string[]): void => {
  for (const title of titles) git(folder, 'commit', '--quiet', '--allow-empty', '--message', title)
}

const repository = (name: string, ...titles: string[]): string => {
  const folder = join(top, name)
  git(top, 'init', '--quiet', '--initial-branch=main', folder)
  commit(folder, ...titles)
  return folder
}

const clone = (name: string, from: string, ...options: string[]): string => {
  const folder = join(top, name)
  git(top, 'clone', '--quiet', ...options, `file://${from}`, folder)
  return folder
}

/** The titles that it names. */
const refused = async (folder: string, titles: string[]): Promise<string[]> => {
  const { exitCode, stderr } = await execa(process.execPath, [script, folder], { reject: false })
  const named = titles.filter((title) => stderr.split('\n').some((line) => line.endsWith(`: ${title}`)))
  expect(exitCode).toBe(named.length === 0 ? 0 : 1)
  return named
}

const long = 'x'.repeat(73)
const longest = 'é'.repeat(72)

test('a title of more than 72 characters and one with a period are refused', async () => {
  const titles = [long, longest, 'Ends with a period.', 'Speak of e.g. this']
  expect(await refused(repository('plain', ...titles), titles)).toEqual([long, 'Ends with a period.'])
})

test('a branch is checked from where it left the default branch of the remote on', async () => {
  const folder = clone('branch', repository('origin', 'Begin', long))
  commit(folder, 'Add a file', 'Ends.')
  expect(await refused(folder, [long, 'Ends.'])).toEqual(['Ends.'])
})

test('the default branch itself is checked over its last 20 commits', async () => {
  const more = Array.from({ length: 19 }, (_, index) => `Commit ${index}`)
  const origin = repository('default', 'Old.', 'Newer.', ...more)
  expect(await refused(clone('same', origin), ['Old.', 'Newer.'])).toEqual(['Newer.'])
})

test('a shallow clone and a folder without git do not fail', async () => {
  const origin = repository('deep', 'Begin', 'Add a file', 'Add another file')
  expect(await refused(clone('shallow', origin, '--depth=1'), [])).toEqual([])
  expect(await refused(top, [])).toEqual([])
})
