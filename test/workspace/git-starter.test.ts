/** Git through the small process: the same results as without it, and an end of that process that loses nothing in silence. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { processTable } from '../../src/platform/process.ts'
import { git, type GitOptions } from '../../src/workspace/git.ts'

let top = ''
let options: GitOptions

/** Stands in front of git on PATH: says who started it, waits or fails, else is git. */
const program = `#!/bin/sh
case "$1" in
  parent) echo $PPID ;;
  hold) touch "$2"; exec sleep 600 ;;
  ask) cat; printf 'caf\\303\\251'; echo said >&2; exit 3 ;;
  *) exec "${execFileSync('which', ['git'], { encoding: 'utf8' }).trim()}" "$@" ;;
esac
`

beforeAll(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-git-')))
  writeFileSync(join(top, 'git'), program)
  chmodSync(join(top, 'git'), 0o755)
  options = { cwd: top, environment: { PATH: `${top}:${process.env.PATH}` } }
})
afterAll(() => rmSync(top, { recursive: true, force: true }))

const starterOf = async (): Promise<number> => Number((await git(['parent'], options)).stdout)

/** Until the pid is that of another process, which it is after some commands. */
const throughProcess = async (): Promise<number> => {
  for (let tries = 0; tries < 50; tries += 1) {
    const pid = await starterOf()
    if (pid !== process.pid) return pid
  }
  throw new Error('git is never started by another process')
}

const until = async (what: () => boolean): Promise<void> => {
  while (!what()) await new Promise((next) => setTimeout(next, 10))
}

/** A command that waits until it is ended; gives its end as soon as it runs. */
const holding = async (mark: string, more: Partial<GitOptions> = {}): Promise<{ failure: Promise<unknown> }> => {
  const path = join(top, mark)
  const failure = git(['hold', path], { ...options, ...more }).catch((error: unknown) => error)
  await until(() => existsSync(path))
  return { failure }
}

it('starts git directly at first, then through one small process', async () => {
  expect(await starterOf()).toBe(process.pid)
  const pid = await throughProcess()
  const many = await Promise.all(Array.from({ length: 8 }, starterOf))
  expect(new Set(many)).toEqual(new Set([pid]))
})

it('gives what git printed and its exit code in the same form, byte for byte', async () => {
  const ask = (encoding?: 'latin1') =>
    git(['ask'], { ...options, input: 'x\0\u00e9 ', okCodes: [3], ...(encoding === undefined ? {} : { encoding }) })
  await throughProcess()
  expect(await ask()).toEqual({ code: 3, stdout: 'x\0\u00e9 caf\u00e9', stderr: 'said\n' })
  expect((await ask('latin1')).stdout).toBe('x\0\u00c3\u00a9 caf\u00c3\u00a9')
  await expect(git(['ask'], options)).rejects.toThrow(/git ask in .* failed with exit code 3: said/)
  const nowhere = { ...options, cwd: join(top, 'missing') }
  await expect(git(['parent'], nowhere)).rejects.toThrow(/could not be run: .*; git 2\.39 or newer must be on PATH/)
})

it.each([
  ['a folder that is a file', () => ({ ...options, cwd: join(top, 'git') }), ['parent']],
  ['an argument that is too long', () => options, ['parent', 'x'.repeat(1_000_000)]],
])('says why git could not be started, and others go on: %s', async (_name, at, args) => {
  const before = await throughProcess()
  const [failed, other] = await Promise.allSettled([git(args, at()), git(['parent'], options)])
  expect(failed).toMatchObject({ status: 'rejected', reason: { code: 'GIT_FAILED' } })
  expect(String((failed as PromiseRejectedResult).reason)).toMatch(/spawn (?:ENOTDIR|E2BIG)/)
  expect([other.status, await throughProcess()]).toEqual(['fulfilled', before])
})

it('ends a command that is cancelled or takes too long', async () => {
  await throughProcess()
  const cancel = new AbortController()
  const { failure } = await holding('cancelled', { signal: cancel.signal })
  cancel.abort()
  expect(String(await failure)).toContain('was cancelled')
  const late = await holding('late', { timeoutMs: 1_000 })
  expect(String(await late.failure)).toContain('timed out; check whether a file there blocks')
})

it('says so when the small process is ended, and starts another one', async () => {
  const before = await throughProcess()
  const { failure } = await holding('lost')
  process.kill(before, 'SIGKILL')
  expect(String(await failure)).toMatch(/git hold .* was ended by SIGKILL/)
  const after = await throughProcess()
  expect(after).not.toBe(before)
})

it('does not end with a signal for its parent, which still needs git, but with its parent, and keeps no parent from ending', async () => {
  const module = fileURLToPath(new URL('../../src/workspace/git.ts', import.meta.url))
  const use = `
    import { git } from ${JSON.stringify(module)}
    const options = ${JSON.stringify(options)}
    let pid = process.pid
    while (pid === process.pid) pid = Number((await git(['parent'], options)).stdout)
    process.kill(pid, 'SIGTERM')
    process.kill(pid, 'SIGINT')
    const again = Number((await git(['parent'], options)).stdout)
    console.log(pid, again)
    if (process.argv[1] === 'stay') setInterval(() => undefined, 1000)`
  for (const how of ['end', 'stay']) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', use, how], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(child, 'exit')
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    const [pid, again] = String(line).trim().split(' ').map(Number)
    expect(again).toBe(pid)
    if (how === 'stay') child.kill('SIGKILL')
    expect(await ended).toEqual(how === 'stay' ? [null, 'SIGKILL'] : [0, null])
    await until(() => !processTable().some((row) => row.pid === pid))
  }
})
