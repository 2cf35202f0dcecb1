/** Ranges of ports as real files and sockets, lent by real processes. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ephemeralPorts } from '../../src/platform/tcp-ports.ts'
import { markerName } from '../../src/process/find.ts'
import { leasePorts, portsPerLease, releasePorts, type PortLease } from '../../src/process/port-lease.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'unstuck-ports-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const leased = (): string[] => readdirSync(join(dir, `ports-${hostname()}`))

/** Leases in an engine of its own, and ends with exit 0 without giving back. */
const leaseElsewhere = async (id: string): Promise<PortLease> => {
  const file = fileURLToPath(new URL('../../src/process/port-lease.ts', import.meta.url))
  const script = `const { leasePorts } = await import(${JSON.stringify(file)}); console.log(JSON.stringify(await leasePorts(${JSON.stringify(dir)}, ${JSON.stringify(id)})))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.on('data', (data: Buffer) => (text += String(data)))
  await once(child, 'close')
  return JSON.parse(text) as PortLease
}

test('runs beside each other get different ranges, each keeps its own, and one that is given back is free', async () => {
  const leases = await Promise.all(Array.from({ length: 8 }, (_value, n) => leasePorts(dir, `r-${n}`)))
  expect(new Set(leases.map((lease) => lease?.first)).size).toBe(8)
  const { low, high } = ephemeralPorts()
  for (const lease of leases) {
    expect((lease?.last ?? 0) - (lease?.first ?? 0)).toBe(portsPerLease - 1)
    expect((lease?.last ?? 0) < low || (lease?.first ?? 0) > high).toBe(true)
  }
  expect(await leasePorts(dir, 'r-3')).toEqual(leases[3])
  releasePorts(dir, 'r-3')
  releasePorts(dir, 'r-3')
  expect(leased()).toHaveLength(7)
})

test('a range in which something listens is passed over', async () => {
  const wanted = await leasePorts(dir, 'r-x')
  releasePorts(dir, 'r-x')
  const server = createServer().listen((wanted?.first ?? 0) + 4, '127.0.0.1')
  await once(server, 'listening')
  try {
    const other = await leasePorts(dir, 'r-x')
    expect(other).toBeDefined()
    expect(other).not.toEqual(wanted)
  } finally {
    server.close()
  }
})

test('of a dead engine it is kept while a process of its run lives; its own run finds it again, then anybody', async () => {
  const wanted = await leasePorts(dir, 'r-x')
  releasePorts(dir, 'r-x')
  const lease = await leaseElsewhere('r-dead')
  const folder = join(dir, `ports-${hostname()}`)
  // Where the other run looks first.
  renameSync(join(folder, String(lease.first)), join(folder, String(wanted?.first)))
  const environment = { PATH: process.env.PATH, [markerName]: 'r-dead' }
  const alive = spawn('tail', ['-f', '/dev/null'], { env: environment, stdio: 'ignore' })
  await once(alive, 'spawn')
  expect(await leasePorts(dir, 'r-x')).not.toEqual(wanted)
  releasePorts(dir, 'r-x')
  alive.kill('SIGKILL')
  await once(alive, 'exit')
  expect(await leasePorts(dir, 'r-x')).toEqual(wanted)
  const again = await leaseElsewhere('r-again')
  expect(await leasePorts(dir, 'r-again')).toEqual(again)
})
