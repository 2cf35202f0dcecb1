/** What the system counts for a real process that is being answered. */
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { receivedBytes } from '../../src/process/received-bytes.ts'
import { until } from '../hostile/scene.ts'

const isKnown = receivedBytes([]) !== undefined

test.skipIf(!isKnown)('an answer that streams counts for the process that reads it', async () => {
  const server = createServer((_asked, answer) => {
    const timer = setInterval(() => answer.write('x'.repeat(1_000)), 20)
    answer.on('close', () => clearInterval(timer))
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  const reader = spawn(process.execPath, ['-e', `require('http').get('http://127.0.0.1:${port}', (r) => r.resume())`], {
    stdio: 'ignore',
  })
  try {
    const pids = [reader.pid as number]
    const first = await until(async () => receivedBytes(pids) || undefined, 'the first bytes')
    const isMore = async (): Promise<true | undefined> =>
      (receivedBytes(pids) ?? 0) > first + 5_000 ? true : undefined
    expect(await until(isMore, 'more bytes')).toBe(true)
  } finally {
    reader.kill()
    server.closeAllConnections()
    server.close()
  }
})
