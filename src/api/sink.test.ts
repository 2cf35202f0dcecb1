import { once } from 'node:events'
import { createServer, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { sinkOf } from './sink.ts'

test('a follower that left before its stream began is gone, and nothing waits for it', async () => {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = request({ host: '127.0.0.1', port: (server.address() as AddressInfo).port })
  client.on('error', () => undefined) // it is aborted below
  client.end()
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse]
  client.destroy()
  await once(response, 'close')
  const sink = sinkOf(response, { maxBehind: 1, stallMs: 1, now: () => 0 })
  let left = false
  sink.onClose(() => (left = true))
  expect([sink.closed(), left]).toEqual([true, true])
  await sink.end(Buffer.from('bye'))
  server.close()
})
