/** `unstuck init`: what it finds, what it writes, and that it never writes twice. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'

const top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-init-')))
const bin = join(top, 'bin')
mkdirSync(bin)
writeFileSync(join(bin, 'codex'), '#!/bin/sh\n')
chmodSync(join(bin, 'codex'), 0o755)
afterAll(() => rmSync(top, { recursive: true, force: true }))

const unstuck = (cwd: string, ...args: string[]): string =>
  execFileSync(process.execPath, [join(import.meta.dirname, '..', '..', 'bin', 'unstuck.js'), ...args], {
    cwd,
    env: { PATH: [bin, dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter), HOME: top },
    encoding: 'utf8',
  })

it('writes the harness and the checks that are here, says to commit it, and never overwrites it', () => {
  const repo = join(top, 'repo')
  mkdirSync(repo)
  execFileSync('git', ['init', '-q', repo])
  writeFileSync(join(repo, 'package.json'), '{"scripts":{"test":"vitest run","lint":"oxlint"}}')
  const said = unstuck(repo, 'init')
  const path = join(repo, '.unstuck', 'config.json')
  expect(said).toContain(`Wrote ${path}. Harness: codex. Checks: npm test ; npm run lint.`)
  expect(said).toContain('git add .unstuck/config.json && git commit')
  const config = loadConfig({ root: repo, environment: {} })
  expect(config.harness.default).toBe('codex')
  expect(config.verify.commands).toEqual(['npm test', 'npm run lint'])
  writeFileSync(path, '{"maxParallel":7}')
  expect(unstuck(repo, 'init')).toBe(`${path} already exists; nothing was changed.\n`)
  expect(readFileSync(path, 'utf8')).toBe('{"maxParallel":7}')
})

it('leaves out what it does not find, and says so', () => {
  const folder = join(top, 'folder')
  mkdirSync(folder)
  rmSync(join(bin, 'codex'))
  expect(unstuck(folder, 'init')).toMatch(/Harness: none found \(.*\)\. Checks: none found \(set verify\.commands\)/)
  const written = JSON.parse(readFileSync(join(folder, '.unstuck', 'config.json'), 'utf8')) as object
  expect(written).toEqual({ verify: { timeoutSeconds: 600 }, maxParallel: 2, autoMerge: false })
})
