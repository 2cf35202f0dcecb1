/** Servers that never come to an end: git's helpers keep nothing waiting, and what they print is bounded. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { AppError } from '../../src/errors.ts'
import { parseRemote } from '../../src/workspace/remote-url.ts'
import { openRemote } from '../../src/workspace/remote.ts'
import { removeFolder } from '../../src/workspace/remove-folder.ts'

/** A packet of git's protocol: its length in four hexadecimal digits, then its content. */
const packet = (content: Buffer | string): Buffer => {
  const bytes = Buffer.from(content)
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, '0')), bytes])
}

const id = '1'.repeat(40)
const service = [packet('# service=git-upload-pack\n'), Buffer.from('0000')]
const refs = [
  packet(`${id} HEAD\0symref=HEAD:refs/heads/main side-band-64k agent=x\n`),
  packet(`${id} refs/heads/main\n`),
]

/** A packet of the channel for progress, with an escape of a terminal. */
const noise = packet(Buffer.concat([Buffer.from([2]), Buffer.from(`\u001b[31mhostile ${'z'.repeat(900)}\n`)]))

const forEver = (response: ServerResponse): void => {
  const go = (): void => {
    while (response.write(Buffer.concat(Array.from({ length: 60 }, () => noise)))) continue
    response.once('drain', go)
  }
  go()
}

type Mode = 'advertisement' | 'pack' | 'progress'

let server: Server
let folder = ''
afterEach(async () => {
  server.closeAllConnections()
  server.close()
  await removeFolder(folder)
})

const serve = async (mode: Mode): Promise<string> => {
  server = createServer((request, response) => {
    const asksForRefs = request.url?.includes('info/refs') === true
    const kind = asksForRefs ? 'advertisement' : 'result'
    response.setHeader('content-type', `application/x-git-upload-pack-${kind}`)
    if (asksForRefs) {
      response.write(Buffer.concat([...service, ...refs.slice(0, mode === 'advertisement' ? 1 : 2)]))
      if (mode !== 'advertisement') response.end('0000')
      return
    }
    response.write(packet('NAK\n'))
    if (mode === 'progress') forEver(response)
    else response.write(packet(Buffer.from('\u0001PACK\0\0\0\u0002\0\0\0\u0001')))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/p.git`
}

test.each<[Mode, RegExp]>([
  ['advertisement', /timed out/],
  ['pack', /timed out/],
  ['progress', /printed too much/],
])('one that stays in the %s for ever is an error in time, and nothing of git is left', async (mode, said) => {
  const url = await serve(mode)
  folder = mkdtempSync(join(tmpdir(), 'unstuck-hostile-remote-'))
  const opened = openRemote({
    ...{ address: parseRemote(url, '/'), stateDir: folder, environment: { ...process.env }, timeoutMs: 1_000 },
  })
  const error: unknown = await opened.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(AppError)
  expect((error as AppError).message).toMatch(said)
  expect((error as AppError).message.length).toBeLessThan(5_000)
  // eslint-disable-next-line no-control-regex
  expect((error as AppError).message).not.toMatch(/[\u0000-\u0008\u001b]/)
  const left = (): string[] =>
    execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
      .split('\n')
      .filter((line) => line.includes(url))
  await expect.poll(left, { timeout: 20_000 }).toEqual([])
  expect(process.memoryUsage().rss).toBeLessThan(1024 ** 3)
})
