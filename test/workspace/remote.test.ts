/** The mirror and the wire, with real git on both sides: a bare repository on this disk, and one behind git's own daemon. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { connect, createServer as createTcp } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AppError } from '../../src/errors.ts'
import { removeFolder } from '../../src/workspace/remove-folder.ts'
import { parseRemote } from '../../src/workspace/remote-url.ts'
import { openRemote, type Remote } from '../../src/workspace/remote.ts'
import type { Repository } from '../../src/workspace/repository-types.ts'
import { commitAll, makeRepository, put, temporaryFolder, user } from './scene.ts'

let top: string
let bare: string
let work: string
let first: string
const children: ChildProcess[] = []
const servers: Server[] = []

beforeEach(() => {
  top = temporaryFolder()
  work = join(top, 'work')
  bare = join(top, 'origin.git')
  first = makeRepository(work)
  user(top, 'clone', '--quiet', '--bare', work, bare)
})

afterEach(async () => {
  for (const server of servers.splice(0)) server.close()
  for (const child of children.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
  await removeFolder(top)
})

const open = async (
  text: string,
  more: { timeoutMs?: number; environment?: Record<string, string> } = {},
): Promise<{ repository: Repository; remote: Remote }> =>
  openRemote({
    address: parseRemote(text, top),
    stateDir: join(top, 'state'),
    environment: { PATH: process.env.PATH, HOME: top, ...more.environment },
    timeoutMs: more.timeoutMs ?? 30_000,
  })

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no error',
    (error: unknown) => (error instanceof AppError ? error.code : String(error)),
  )

const newCommit = (name: string): string => {
  put(work, { [name]: `${name}\n` })
  return commitAll(work, name)
}

/** A commit of `work`, brought into the mirror as the runtime does it: by objects alone. */
const bring = ({ root }: Repository, commit: string): void => {
  user(root, 'fetch', '--quiet', '--no-write-fetch-head', work, commit)
}

describe('a mirror', () => {
  it('holds the commit of HEAD and no branch of the remote as a branch', async () => {
    const { repository, remote } = await open(bare)
    expect(await remote.head()).toEqual({ branch: 'main', commit: first })
    expect(user(repository.root, 'cat-file', '-t', first)).toBe('commit')
    expect(user(repository.root, 'for-each-ref', 'refs/heads')).toBe('')
    expect(user(repository.root, 'config', '--get', 'core.bare')).toBe('true')
  })

  it('reads the values of branches and fetches their commits', async () => {
    const { repository, remote } = await open(`file://${bare}`)
    const next = newCommit('b.txt')
    user(work, 'push', '--quiet', bare, 'HEAD:refs/heads/topic')
    expect(await remote.fetchRefs(['refs/heads/topic', 'refs/heads/absent'])).toEqual({ 'refs/heads/topic': next })
    expect(user(repository.root, 'cat-file', '-t', next)).toBe('commit')
  })

  it('is found again, and a half-made one is made anew', async () => {
    mkdirSync(join(top, 'state', 'repository', '.git.making'), { recursive: true })
    writeFileSync(join(top, 'state', 'repository', '.git.making', 'HEAD'), 'broken')
    await open(bare)
    const { remote } = await open(bare)
    expect((await remote.head()).commit).toBe(first)
  })

  it('takes the hash function of the remote', async () => {
    const other = join(top, 'sha256')
    mkdirSync(other)
    user(other, 'init', '--quiet', '--object-format=sha256', '--initial-branch=main')
    put(other, { 'a.txt': 'a' })
    const commit = commitAll(other)
    const { repository, remote } = await open(other)
    expect((await remote.head()).commit).toBe(commit)
    expect(user(repository.root, 'rev-parse', '--show-object-format')).toBe('sha256')
  })
})

describe('a remote that is not as one wishes', () => {
  it('whose HEAD names no branch is reported, with the remedy', async () => {
    user(bare, 'symbolic-ref', 'HEAD', 'refs/heads/nowhere')
    await expect(open(bare)).rejects.toThrow(/HEAD names a branch that does not exist.*git symbolic-ref/)
  })

  it('that is empty is reported', async () => {
    const empty = join(top, 'empty.git')
    user(top, 'init', '--quiet', '--bare', empty)
    expect(await codeOf(open(empty))).toBe('REPOSITORY_STATE')
  })

  it('with branches of any name harms nothing', async () => {
    const odd = [
      'refs/heads/--upload-pack=x',
      'refs/heads/$(touch${IFS}canary)',
      'refs/heads/a\'b"c;d',
      'refs/heads/ä/é',
      'refs/heads/main/x',
    ]
    const packed = odd.map((ref) => `${first} ${ref}\n`).join('')
    writeFileSync(
      join(bare, 'packed-refs'),
      `# pack-refs with: peeled fully-peeled \n${packed}${first} refs/heads/main\n`,
    )
    const { repository, remote } = await open(bare)
    expect(await remote.fetchRefs(['refs/heads/main'])).toEqual({ 'refs/heads/main': first })
    expect(await remote.fetchRefs([odd[1]!, odd[3]!])).toEqual({ [odd[1]!]: first, [odd[3]!]: first })
    expect(user(repository.root, 'for-each-ref', '--format=%(refname)')).toMatch(
      /^(refs\/unstuck\/remote\/[0-9a-f]{24}\n?)+$/,
    )
    expect(existsSync(join(top, 'canary'))).toBe(false)
  })

  it('whose HEAD names a branch like an option is read, and pushed to, as a branch', async () => {
    writeFileSync(join(bare, 'packed-refs'), `# pack-refs with: peeled fully-peeled \n${first} refs/heads/--mirror\n`)
    writeFileSync(join(bare, 'HEAD'), 'ref: refs/heads/--mirror\n')
    const { repository, remote } = await open(bare)
    expect((await remote.head()).branch).toBe('--mirror')
    const next = newCommit('b.txt')
    bring(repository, next)
    const pushed = await remote.push([{ ref: 'refs/heads/--mirror', to: next, expected: undefined }])
    expect(pushed).toEqual({ kind: 'done' })
    expect(user(bare, 'rev-parse', 'HEAD')).toBe(next)
  })

  it('that is not a repository is an error at the first contact, and an outage later', async () => {
    expect(await codeOf(open(join(top, 'nothing.git')))).toBe('REMOTE_REFUSED')
    const { remote } = await open(bare)
    renameSync(bare, `${bare}.away`)
    expect(await codeOf(remote.head())).toBe('REMOTE_UNAVAILABLE')
    expect(await codeOf(remote.push([{ ref: 'refs/heads/x', to: first, expected: null }]))).toBe('REMOTE_UNAVAILABLE')
    renameSync(`${bare}.away`, bare)
    expect((await remote.head()).commit).toBe(first)
  })
})

describe('a push', () => {
  it('repeated is done again', async () => {
    const { remote } = await open(bare)
    const update = { ref: 'refs/unstuck/runs/r-1', to: first, expected: null }
    expect(await remote.push([update])).toEqual({ kind: 'done' })
    expect(await remote.push([update])).toEqual({ kind: 'done' })
    expect(await remote.list('refs/unstuck/runs')).toEqual({ 'refs/unstuck/runs/r-1': first })
    expect(await remote.push([{ ...update, to: null, expected: first }])).toEqual({ kind: 'done' })
    expect(await remote.list('refs/unstuck/runs')).toEqual({})
  })

  it('whose expectation does not hold changes nothing', async () => {
    const { repository, remote } = await open(bare)
    const mine = newCommit('mine.txt')
    bring(repository, mine)
    user(work, 'reset', '--quiet', '--hard', first)
    const theirs = newCommit('theirs.txt')
    user(work, 'push', '--quiet', bare, 'HEAD:refs/heads/main', 'HEAD:refs/heads/goal')
    const cases = [
      { ref: 'refs/heads/main', to: mine, expected: first },
      { ref: 'refs/heads/main', to: mine, expected: undefined },
      { ref: 'refs/heads/goal', to: mine, expected: null },
      { ref: 'refs/heads/goal', to: null, expected: first },
    ]
    for (const update of cases) expect(await remote.push([update])).toMatchObject({ kind: 'moved' })
    const both = [
      { ref: 'refs/heads/new', to: mine, expected: null },
      { ref: 'refs/heads/goal', to: mine, expected: first },
    ]
    expect(await remote.push(both)).toMatchObject({ kind: 'moved' })
    expect(user(bare, 'for-each-ref', '--format=%(refname) %(objectname)')).toBe(
      `refs/heads/goal ${theirs}\nrefs/heads/main ${theirs}`,
    )
  })

  it('that a hook refuses returns its message, sanitised and truncated', async () => {
    const { remote } = await open(bare)
    const hook = join(bare, 'hooks', 'pre-receive')
    mkdirSync(join(bare, 'hooks'), { recursive: true })
    const noise = 'x'.repeat(2000)
    writeFileSync(
      hook,
      `#!/bin/sh\nprintf 'Only signed\\033[31m work\\033]0;title\\007, see https://bot:geheim@host/x\\n' >&2\necho ${noise} >&2\nenv > ${top}/seen\nexit 1\n`,
    )
    chmodSync(hook, 0o755)
    const pushed = await remote.push([{ ref: 'refs/heads/x', to: first, expected: null }])
    expect(pushed).toMatchObject({ kind: 'refused', detail: expect.stringContaining('Only signed work') })
    const { detail } = pushed as { detail: string }
    expect(detail).toContain('pre-receive hook declined')
    expect(detail).not.toMatch(/[\x00-\x1f\x7f]|geheim/)
    expect(detail.length).toBeLessThanOrEqual(600)
  })

  it('passes no secret to the hooks of a local repository, and starts no hook of the mirror', async () => {
    const { repository, remote } = await open(bare, {
      environment: { API_KEY: 'geheim-1234', UNSTUCK_DATABASE_URL: 'geheim' },
    })
    mkdirSync(join(bare, 'hooks'), { recursive: true })
    writeFileSync(join(bare, 'hooks', 'pre-receive'), `#!/bin/sh\nenv > ${top}/seen\n`)
    chmodSync(join(bare, 'hooks', 'pre-receive'), 0o755)
    for (const name of ['pre-push', 'reference-transaction']) {
      mkdirSync(join(repository.commonDir!, 'hooks'), { recursive: true })
      writeFileSync(join(repository.commonDir!, 'hooks', name), `#!/bin/sh\ntouch ${top}/canary\n`)
      chmodSync(join(repository.commonDir!, 'hooks', name), 0o755)
    }
    await remote.push([{ ref: 'refs/heads/x', to: first, expected: null }])
    expect(readFileSync(join(top, 'seen'), 'utf8')).not.toContain('geheim')
    expect(existsSync(join(top, 'canary'))).toBe(false)
  })
})

const freePort = async (): Promise<number> => {
  const probe = createTcp()
  probe.listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  await once(probe, 'close')
  return port
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => (socket.destroy(), resolve(true)))
    socket.once('error', () => resolve(false))
  })

const startDaemon = async (port: number): Promise<ChildProcess> => {
  const args = [
    'daemon',
    '--reuseaddr',
    '--export-all',
    '--enable=receive-pack',
    '--listen=127.0.0.1',
    `--port=${port}`,
  ]
  const child = spawn('git', [...args, `--base-path=${top}`], { stdio: 'ignore', detached: false })
  children.push(child)
  while (!(await answers(port))) await delay(20)
  return child
}

describe('over a network', () => {
  it("git's own daemon serves fetches and pushes; while it is away that is an outage", async () => {
    const port = await freePort()
    const daemon = await startDaemon(port)
    const { repository, remote } = await open(`git://127.0.0.1:${port}/origin.git`)
    const next = newCommit('b.txt')
    bring(repository, next)
    expect(await remote.push([{ ref: 'refs/heads/goal', to: next, expected: null }])).toEqual({ kind: 'done' })
    expect(await remote.fetchRefs(['refs/heads/goal'])).toEqual({ 'refs/heads/goal': next })
    daemon.kill('SIGTERM')
    await once(daemon, 'exit')
    while (await answers(port)) await delay(20)
    expect(await codeOf(remote.fetchRefs(['refs/heads/goal']))).toBe('REMOTE_UNAVAILABLE')
    await startDaemon(port)
    expect(await remote.fetchRefs(['refs/heads/goal'])).toEqual({ 'refs/heads/goal': next })
  })

  it('a login from the address is given when asked for, and is on no command line and in no file', async () => {
    const asked: (string | undefined)[] = []
    const server = createServer((request, response) => {
      asked.push(request.headers.authorization)
      response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' })
      response.end()
    })
    servers.push(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    writeFileSync(join(top, '.gitconfig'), '[credential]\n\thelper = store\n')
    const failure = open(`http://ada:ge%40heim@127.0.0.1:${port}/origin.git`)
    await expect(failure).rejects.toMatchObject({ code: 'REMOTE_REFUSED' })
    expect(String(await failure.catch((error: unknown) => error))).not.toMatch(/heim/)
    expect(asked[0]).toBeUndefined()
    expect(asked).toContain(`Basic ${Buffer.from('ada:ge@heim').toString('base64')}`)
    const files = readdirSync(top, { recursive: true, withFileTypes: true }).filter((found) => found.isFile())
    for (const found of files) expect(readFileSync(join(found.parentPath, found.name)).includes('heim')).toBe(false)
  })

  it('a server that says nothing is left after the time allowed', async () => {
    const silent = createTcp()
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as { port: number }
    const begun = performance.now()
    expect(await codeOf(open(`git://127.0.0.1:${port}/p.git`, { timeoutMs: 500 }))).toBe('REMOTE_UNAVAILABLE')
    expect(performance.now() - begun).toBeLessThan(20_000)
    silent.close()
  })
})
