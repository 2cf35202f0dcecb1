/** Signatures by real key programs, and by some that never end or want a person. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { readCommit } from '../../src/workspace/commit.ts'
import { readSigning, signCommits, trySigning, type Signing } from '../../src/workspace/signing.ts'
import { commitAll, put, setScene, user, type Scene } from './scene.ts'

let scene: Scene
const folders: string[] = []
afterEach(async () => {
  await scene.clear()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** Short, because gpg's agent has a socket in it. */
const folder = (): string => {
  const made = realpathSync(mkdtempSync(join(tmpdir(), 'sign-')))
  folders.push(made)
  return made
}

const script = (text: string): string => {
  const path = join(folder(), 'program.sh')
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  return path
}

const committer = { name: 'Owner', email: 'owner@example.invalid' }

const by = (program: string, more: Partial<Signing> = {}): Signing => ({
  config: [
    ['gpg.format', 'openpgp'],
    ['gpg.program', program],
    ['user.signingkey', 'owner@example.invalid'],
  ],
  ...{ committer, untrusted: undefined, timeoutMs: 20_000, ...more },
})

const place = (signing: Signing) => ({ repository: scene.repository, shadow: scene.shadow, signing })

const grow = (name: string): string => {
  put(scene.repository.root, { [name]: name })
  return commitAll(scene.repository.root, `Add ${name}\n\nWith a body.\n\nUnstuck-Task: ${name}`)
}

test('gpg signs every commit above the base; signed ones stay until one below is made anew', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  const home = folder()
  const environment = { ...process.env, GNUPGHOME: home }
  const quiet = { env: environment, stdio: 'ignore' } as const
  const make = ['--batch', '--passphrase', '', '--quick-gen-key', 'owner@example.invalid', 'ed25519', 'sign', 'never']
  execFileSync('gpg', make, quiet)
  try {
    const program = script(`GNUPGHOME='${home}' exec gpg "$@"`)
    const verify = (commit: string): string =>
      user(scene.shadow.gitDir, '-c', `gpg.program=${program}`, 'log', '-1', '--format=%G?', commit)
    const [one, two] = [grow('one'), grow('two')]
    const signed = await signCommits(place(by(program)), { base: scene.head, head: two })
    expect(signed.ok).toBe(true)
    const head = signed.ok ? signed.head : ''
    const [now, before] = [await readCommit(scene.shadow, head), await readCommit(scene.shadow, two)]
    expect({ ...now, parents: [], committer: '' }).toEqual({ ...before, parents: [], committer: '', isSigned: true })
    expect(now.committer).toContain('Owner <owner@example.invalid>')
    const below = now.parents[0] ?? ''
    expect([verify(head), verify(below), verify(two), verify(one)]).toEqual(['G', 'G', 'N', 'N'])
    expect((await readCommit(scene.shadow, below)).parents).toEqual([scene.head])
    expect(await signCommits(place(by(program)), { base: scene.head, head })).toEqual({ ok: true, head })
    const half = await signCommits(place(by(program)), { base: below, head })
    expect(half).toEqual({ ok: true, head })
  } finally {
    execFileSync('gpgconf', ['--kill', 'gpg-agent'], quiet)
  }
})

test('a program that never ends is ended, with what it started', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  const trace = join(folder(), 'ended')
  const program = script(`trap 'echo x >${trace}; exit 1' TERM\nsleep 600 & wait`)
  const tried = await trySigning(place(by(program, { timeoutMs: 1_500 })), scene.head)
  expect(tried).toMatchObject({ ok: false, detail: expect.stringContaining('1.5 seconds') })
  await expect.poll(() => existsSync(trace), { timeout: 20_000 }).toBe(true)
})

test('a program that asks on the terminal finds none', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  const tried = await trySigning(place(by(script('exec 3</dev/tty && read answer <&3'))), scene.head)
  expect(tried).toMatchObject({ ok: false })
  expect(tried.ok ? '' : tried.detail).not.toContain('seconds')
})

test('a missing program and a missing key are said', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  const tried = await trySigning(place(by('/no/such/program')), scene.head)
  expect(tried).toMatchObject({ ok: false, detail: expect.stringContaining('/no/such/program') })
  const ssh: [string, string][] = [
    ['gpg.format', 'ssh'],
    ['gpg.ssh.program', 'ssh-keygen'],
    ['user.signingkey', '/no/such/key.pub'],
  ]
  const other = await trySigning(place({ ...by(''), config: ssh }), scene.head)
  expect(other).toMatchObject({ ok: false, detail: expect.stringContaining('/no/such/key.pub') })
})

test.each([
  [{}, undefined],
  [{ 'commit.gpgsign': 'false', 'user.signingkey': 'k' }, undefined],
  [
    { 'commit.gpgsign': 'yes', 'user.signingkey': 'k' },
    {
      config: [
        ['gpg.format', 'openpgp'],
        ['gpg.program', 'gpg'],
        ['user.signingkey', 'k'],
      ],
      untrusted: undefined,
    },
  ],
  [
    { 'commit.gpgsign': 'true', 'gpg.format': 'ssh', 'user.signingkey': 'k', 'gpg.program': '/mine' },
    {
      config: [
        ['gpg.format', 'ssh'],
        ['gpg.ssh.program', 'ssh-keygen'],
        ['user.signingkey', 'k'],
      ],
      untrusted: undefined,
    },
  ],
  [{ 'commit.gpgsign': '1', 'gpg.program': '/mine' }, { untrusted: 'gpg.program' }],
  [{ 'commit.gpgsign': 'on', 'gpg.openpgp.program': '/mine' }, { untrusted: 'gpg.openpgp.program' }],
  [{ 'commit.gpgsign': 'true', 'gpg.format': 'x509', 'gpg.x509.program': '/mine' }, { untrusted: 'gpg.x509.program' }],
  [
    { 'commit.gpgsign': 'true', 'gpg.format': 'ssh', 'gpg.ssh.defaultKeyCommand': 'mine' },
    { untrusted: 'gpg.ssh.defaultkeycommand' },
  ],
])(
  'the configuration %j of the repository is read as git reads it, and names no program to run',
  async (settings, expected) => {
    scene = await setScene({ 'a.txt': 'a' })
    for (const [key, value] of Object.entries(settings)) user(scene.repository.root, 'config', key, value)
    const read = await readSigning(scene.repository)
    if (expected === undefined) expect(read).toBeUndefined()
    else expect(read).toMatchObject(expected)
    if (read?.untrusted === undefined) return
    expect(await trySigning(place(read), scene.head)).toMatchObject({
      ok: false,
      detail: expect.stringContaining(read.untrusted),
    })
  },
)
