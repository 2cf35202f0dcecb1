import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { inspectPeer, peerOf, searchPeer, type End } from './peer.ts'

let server: Server
let port: number
const closing: (() => void)[] = []

beforeEach(async () => {
  server = createServer({ allowHalfOpen: true })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
afterEach(() => {
  for (const close of closing.splice(0)) close()
  server.close()
})

const accepted = async (): Promise<{ socket: Socket; ours: End; theirs: End }> => {
  const [socket] = (await once(server, 'connection')) as [Socket]
  closing.push(() => socket.destroy())
  return {
    socket,
    ours: { address: socket.localAddress ?? '', port: socket.localPort ?? 0 },
    theirs: { address: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 },
  }
}

const dial = (options: { host?: string; localAddress?: string; localPort?: number } = {}): Socket => {
  const socket = connect({ host: '127.0.0.1', port, ...options })
  socket.on('error', () => undefined) // the server is closed first at the end of a test
  closing.push(() => socket.destroy())
  return socket
}

const otherProgram = `require('node:net').connect(Number(process.argv[1]), '127.0.0.1').on('error', () => process.exit())`

describe.runIf(process.platform === 'linux')('the process at the other end of a connection', () => {
  test('is found, also when it uses the other form of the address', async () => {
    for (const host of ['127.0.0.1', '::ffff:127.0.0.1']) {
      const waits = accepted()
      dial({ host })
      const { ours, theirs } = await waits
      expect(peerOf(ours, theirs)).toEqual({ kind: 'processes', pids: [process.pid] })
    }
  })

  test('is not taken for one that has the same port at another address', async () => {
    const first = accepted()
    const child = spawn(process.execPath, ['-e', otherProgram, String(port)], { stdio: 'ignore' })
    closing.push(() => child.kill('SIGKILL'))
    const owner = await first
    const second = accepted()
    dial({ localAddress: '127.0.0.2', localPort: owner.theirs.port })
    const mine = await second
    expect(mine.theirs).toEqual({ address: '127.0.0.2', port: owner.theirs.port })
    expect(peerOf(owner.ours, owner.theirs)).toEqual({ kind: 'processes', pids: [child.pid] })
    expect(peerOf(mine.ours, mine.theirs)).toEqual({ kind: 'processes', pids: [process.pid] })
  })

  test('is gone once it has hung up, although its request can still be read', async () => {
    const waits = accepted()
    const socket = dial()
    const { socket: here, ours, theirs } = await waits
    socket.end('a request')
    const ended = once(here, 'end')
    here.resume()
    await ended
    socket.destroy()
    await once(socket, 'close')
    expect(peerOf(ours, theirs)).toEqual({ kind: 'gone' })
  })

  test('is gone when it hangs up while it is looked at, and shows nothing', async () => {
    const waits = accepted()
    const socket = dial()
    const ends = await waits
    expect(inspectPeer(ends, (pids) => pids)).toEqual([process.pid])
    expect(inspectPeer(ends, () => undefined)).toBeUndefined()
    expect(inspectPeer(ends, () => void socket.destroy())).toBe('gone')
    expect(inspectPeer(ends, (pids) => pids)).toBe('gone')
  })

  test('is unknown where the address has another form', () => {
    expect(peerOf({ address: '::1', port: 1 }, { address: '::1', port: 2 })).toEqual({ kind: 'unknown' })
  })
})

describe('the search for the process that holds a socket', () => {
  const row = { inode: '7', user: 1000 }
  const free = { pid: 1, holds: false }
  const search = (rows: (typeof row | undefined)[], searches: { pid: number; holds: boolean | undefined }[][]) =>
    searchPeer(
      () => rows.shift(),
      () => searches.shift() ?? [free],
      (pid) => (pid === 9 ? 1000 : 0),
    )

  test('a caller that hung up during the search is gone, and not hidden', () => {
    expect(search([row, undefined], [[free]])).toEqual({ kind: 'gone' })
    expect(search([row, { inode: '0', user: 1000 }], [[free]])).toEqual({ kind: 'gone' })
    expect(search([row, { inode: '8', user: 1000 }], [[free]])).toEqual({ kind: 'gone' })
  })

  test('a socket that was handed on during the first search is found by the second one', () => {
    expect(search([row, row, row], [[free], [{ pid: 3, holds: true }]])).toEqual({ kind: 'processes', pids: [3] })
  })

  test('a socket without a visible holder is hidden, and the suspects are processes of its user that cannot be inspected', () => {
    const closed = [free, { pid: 8, holds: undefined }, { pid: 9, holds: undefined }]
    expect(search([row, row, row], [closed, closed])).toEqual({ kind: 'hidden', suspects: [9] })
  })
})
