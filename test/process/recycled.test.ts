/**
 * A pid that was recorded and belongs to another process by now, at each place where one is kept: that process is neither
 * believed nor signalled, and nothing waits for it. The other process is real and answers afterwards; the records are altered.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { engineIdentity } from '../../src/cli/engine/connect.ts'
import { bootId, identityOf, livenessOf, type ProcessIdentity } from '../../src/platform/process.ts'
import { launchState, requestStop } from '../../src/process/shim-client.ts'
import { leasePorts, releasePorts } from '../../src/process/port-lease.ts'
import { endRemaining, sweep } from '../../src/process/sweep.ts'
import { lockHolderOf, takeFileLock } from '../../src/store/server/file-lock.ts'

let stranger: ChildProcess
let recycled: ProcessIdentity
let dir = ''

beforeAll(async () => {
  stranger = spawn('cat', { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(stranger, 'spawn')
  const now = identityOf(stranger.pid as number) as ProcessIdentity
  recycled = { ...now, startTime: String(BigInt(now.startTime) - 500n) }
})
afterAll(() => stranger.kill('SIGKILL'))
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'unstuck-recycled-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const put = (name: string, value: unknown): void => writeFileSync(join(dir, name), JSON.stringify(value))

/** A signal would have come before the answer. */
const expectAlive = async (): Promise<void> => {
  stranger.stdin?.write('still here\n')
  const [said] = (await once(stranger.stdout as NonNullable<typeof stranger.stdout>, 'data', {
    signal: AbortSignal.timeout(20_000),
  })) as [Buffer]
  expect(String(said)).toBe('still here\n')
}

/** What a power failure, a full disk or a hand may leave: none of it is one live process. */
const damaged: [string, unknown][] = [
  ['every process (-1) and no start time', { host: hostname(), bootId: bootId(), pid: -1 }],
  ['our own group (0) and no start time', { host: hostname(), bootId: bootId(), pid: 0 }],
  ['no pid and no start time', { host: hostname(), bootId: bootId() }],
  ['a pid that nobody has and no start time', { host: hostname(), bootId: bootId(), pid: 2 ** 30 }],
  ['a pid that is a path', { host: hostname(), bootId: bootId(), pid: 'self', startTime: '1' }],
  ['nothing', null],
  ['text', 'x'],
  ['a list', []],
]

describe('a record', () => {
  it.each(damaged)('of %s is of nobody who lives', (_what, value) => {
    expect(livenessOf(value as ProcessIdentity)).not.toBe('alive')
  })

  it('of an earlier start of the machine is of nobody who lives', () => {
    expect(livenessOf({ ...(identityOf(process.pid) as ProcessIdentity), bootId: 'earlier' })).toBe('dead')
  })
})

describe('the pid of another process', () => {
  afterEach(expectAlive)

  it('in the record of a shim: its launch is lost, and a stop signals nobody', () => {
    put('spec.json', {})
    put('identity.json', recycled)
    put('gate', '')
    expect(launchState(dir)).toMatchObject({ state: 'lost' })
    requestStop({ dir, identity: recycled }, 'cancelled')
  })

  it.each(damaged)('or a record of %s: the launch is lost or absent as well', (_what, value) => {
    put('identity.json', value)
    expect(launchState(dir).state).toMatch(/lost|absent/)
  })

  it('among the shims of a run that is swept: nobody is ended', async () => {
    expect(await sweep('r-recycled', { shims: [recycled], folder: dir })).toBe(0)
    expect(await endRemaining('r-recycled', { shims: [recycled], folder: dir })).toEqual([])
  })

  it("in a file lock and in its heir's: both are succeeded", () => {
    put('server.lock', recycled)
    const heir = { ...recycled, startTime: `${recycled.startTime}1` }
    put(`server.lock.heir-${recycled.pid}.${recycled.startTime}`, heir)
    const lock = takeFileLock(join(dir, 'server.lock'))
    expect(lockHolderOf(join(dir, 'server.lock'))).toMatchObject({ holder: { pid: process.pid }, liveness: 'alive' })
    lock.release()
  })

  it('in a lease of ports: they are lent again', async () => {
    const lease = await leasePorts(dir, 'r-first')
    const folder = join(dir, readdirSync(dir)[0] ?? '')
    const path = join(folder, String(lease?.first))
    writeFileSync(path, JSON.stringify({ id: 'r-gone', owner: recycled }))
    expect(await leasePorts(dir, 'r-first')).toEqual(lease)
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ id: 'r-first', owner: { pid: process.pid } })
    releasePorts(dir, 'r-first')
  })

  it.each<[string, () => unknown]>([
    ['another start time', () => recycled],
    ...damaged.map(([what, value]): [string, () => unknown] => [what, () => value]),
  ])('in the address of an engine, with %s: no engine runs', (_what, identity) => {
    put('engine.json', { url: 'http://127.0.0.1:1', identity: identity() })
    expect(engineIdentity(dir)).toBeUndefined()
  })
})
