import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sendTo } from './send-over-socket.ts'

test('an engine that closes a kept connection under the next request loses no request', async () => {
  const top = mkdtempSync(join(tmpdir(), 'unstuck-send-'))
  const used = new WeakSet<object>()
  const server = createServer((request, response) => {
    // As if it had closed the connection just before the request came.
    if (used.has(request.socket)) return void request.socket.destroy()
    used.add(request.socket)
    response.end('{}')
  })
  try {
    const socket = join(top, 's')
    server.listen(socket)
    await once(server, 'listening')
    const send = sendTo(socket)
    for (const _ of [1, 2, 3]) {
      const response = await send('http://localhost/x', { method: 'POST', body: '{}' })
      expect([response.status, await response.json()]).toEqual([200, {}])
    }
  } finally {
    server.close()
    rmSync(top, { recursive: true })
  }
})
