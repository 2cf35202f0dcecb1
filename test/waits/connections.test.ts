/** What one client may hold of the engine, with real sockets: connections that say nothing, half requests, streams of events. */
import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { LoginUrl, SessionView } from '../../src/api/contract.ts'
import { connectionLimit, mostStreams } from '../../src/api/limits.ts'
import { until } from '../hostile/scene.ts'
import { openApiScene, type ApiScene } from '../api/scene.ts'

let scene: ApiScene
let sockets: Socket[] = []
let streams: ClientRequest[] = []

beforeAll(async () => {
  scene = await openApiScene(['honest'])
})
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  for (const stream of streams) stream.destroy()
  sockets = []
  streams = []
})
afterAll(async () => scene.clear())

const open = (first = ''): Promise<Socket> =>
  new Promise((resolve) => {
    const socket = connect(Number(scene.url.port), '127.0.0.1', () => {
      if (first !== '') socket.write(first)
      resolve(socket)
    })
    socket.on('error', () => undefined) // cut by the engine, which is what is looked for
    socket.resume()
    sockets.push(socket)
  })

const closed = (): number => sockets.filter(({ destroyed }) => destroyed).length
/** Over TCP, whose connections are counted apart from those of the Unix socket. */
const answers = async (): Promise<true | undefined> =>
  fetch(new URL('/health', scene.url), {
    headers: { authorization: `Bearer ${scene.token}`, connection: 'close' },
  }).then(
    ({ status }) => (status === 200 ? true : undefined),
    () => undefined,
  )

test('more idle connections than there may be are refused, and none harms the engine', async () => {
  const many = connectionLimit() + 100
  for (let count = 0; count < many; count += 1) await open()
  // Our own call held none of them, so that all beyond the limit are cut at once.
  await until(async () => (closed() >= 100 ? true : undefined), 'the refusals')
  expect(await answers()).toBeUndefined()
  sockets[many - 101]?.destroy()
  // Those that say nothing are cut in time, without anybody asking.
  await until(async () => (closed() === many ? true : undefined), 'the end of the silent ones')
  await until(answers, 'an answer')
})

test('a request whose headers or whose body never come to their end is cut', async () => {
  const login = `Host: ${scene.url.host}\r\nAuthorization: Bearer ${scene.token}\r\n`
  await open(`GET /goals HTTP/1.1\r\n${login}X-Slow: `)
  await open(`POST /goals HTTP/1.1\r\n${login}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`)
  await until(async () => (closed() === 2 ? true : undefined), 'the cut of both')
  expect(await answers()).toBe(true)
})

const follow = (token: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = scene.url
    const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
    const asked = request({ agent: false, hostname, port, path: '/events', headers }, resolve)
    asked.on('error', reject)
    streams.push(asked)
    asked.end()
  })

test('a login has a bounded number of streams, gets one back for each that ends, and others have theirs', async () => {
  const { url } = await scene.api<LoginUrl>('/login-codes', {})
  const body = JSON.stringify({ code: new URL(url).hash.replace('#login=', '') })
  const { token } = JSON.parse((await scene.call({ method: 'POST', path: '/sessions', body })).text) as SessionView
  const got: number[] = []
  for (let count = 0; count < 33; count += 1) got.push((await follow(token)).statusCode ?? 0)
  expect(got).toEqual([...Array.from({ length: 32 }, () => 200), 429])
  expect((await follow(scene.token)).statusCode).toBe(200)
  streams[0]?.destroy()
  await until(async () => ((await follow(token)).statusCode === 200 ? true : undefined), 'a free one')
})

test('a flood of streams ends at the bound, and the engine works on', async () => {
  const found = await Promise.all(Array.from({ length: 400 }, () => follow(scene.token).catch(() => undefined)))
  const statuses = found.map((answer) => answer?.statusCode)
  expect(statuses.filter((status) => status === 200)).toHaveLength(mostStreams.owner)
  expect((await follow(scene.token)).statusCode).toBe(429)
  expect(await answers()).toBe(true)
  const { state } = await scene.work([{ title: 'Work meanwhile' }])
  expect(state).toBe('ready')
})
