/**
 * Leases ranges of TCP ports to runs on this machine, so that the servers of parallel runs do not collide. A lease is a file named
 * after its first port and created exclusively; all engines of a user share the folder. A lease ends when it is released, or when its
 * engine is dead and no process carries the run's marker.
 */
import { createHash } from 'node:crypto'
import { linkSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:net'
import { z } from 'zod'
import { readRegularTextSync } from '../platform/regular-file.ts'
import { ephemeralPorts } from '../platform/tcp-ports.ts'
import { identityOf, livenessOf, processesWithEnvironment } from '../platform/process.ts'
import { markerName } from './find.ts'
import { defined } from '../domain/defined.ts'

export const portsPerLease = 10

export interface PortLease {
  first: number
  last: number
}

const leaseShape = z.object({
  id: z.string(),
  owner: z.object({ host: z.string(), bootId: z.string(), pid: z.number(), startTime: z.string() }),
})

const folderOf = (dir: string): string => join(dir, `ports-${hostname()}`)

const rangeOf = (first: number): PortLease => ({ first, last: first + portsPerLease - 1 })

const textOf = (path: string): string => {
  try {
    return readRegularTextSync(path)
  } catch {
    return '' // released meanwhile
  }
}

const readLease = (text: string): z.infer<typeof leaseShape> | undefined => {
  try {
    return leaseShape.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** An unreadable lease is being written right now, or a crash left it; after this time it is the latter. */
const unreadableMs = 60_000

const isAbandoned = (path: string, text: string): boolean => {
  const lease = readLease(text)
  if (lease === undefined) {
    const found = statSync(path, { throwIfNoEntry: false })
    return found !== undefined && Date.now() - found.mtimeMs > unreadableMs
  }
  if (livenessOf(lease.owner) !== 'dead') return false
  const markers = [lease.id, `${lease.id}-check`]
  return markers.every((marker) => processesWithEnvironment(markerName, marker).length === 0)
}

/** Renames the file first: of two engines only one succeeds, and a lease that was granted again meanwhile is restored. */
const dropAbandoned = (path: string): void => {
  const text = textOf(path)
  if (!isAbandoned(path, text)) return
  const aside = `${path}.${process.pid}.old`
  try {
    renameSync(path, aside)
    if (textOf(aside) !== text) linkSync(aside, path)
  } catch {
    // another engine was faster
  }
  rmSync(aside, { force: true })
}

const claim = (path: string, id: string): boolean => {
  const owner = identityOf(process.pid)
  try {
    writeFileSync(path, JSON.stringify({ id, owner }), { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

const canListen = (port: number, host: string | undefined): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, exclusive: true, ...defined({ host }) }, () => server.close(() => resolve(true)))
  })

/** Tests all addresses and loopback: on some systems a listener on all addresses does not conflict with one on a single address. */
const isFree = async ({ first, last }: PortLease): Promise<boolean> => {
  for (let port = first; port <= last; port += 1)
    if (!(await canListen(port, undefined)) || !(await canListen(port, '127.0.0.1'))) return false
  return true
}

const lowest = 20_000
const highest = 65_000

/** First ports of all ranges that do not overlap the ports of outgoing connections. */
const firstPorts = (): number[] => {
  const { low, high } = ephemeralPorts()
  const all = Array.from(
    { length: Math.floor((highest - lowest) / portsPerLease) },
    (_value, n) => lowest + n * portsPerLease,
  )
  const outside = all.filter((first) => first + portsPerLease <= low || first > high)
  return outside.length > 0 ? outside : all
}

/** Each run starts its search at another range, so that a range that was just released is not leased again at once. */
const startFor = (id: string, count: number): number => createHash('sha256').update(id).digest().readUInt32BE(0) % count

const heldBy = (folder: string, id: string): string[] =>
  readdirSync(folder).filter((name) => /^\d+$/.test(name) && readLease(textOf(join(folder, name)))?.id === id)

/** The range of this run, held until `releasePorts`; undefined when none is free. */
export const leasePorts = async (dir: string, id: string): Promise<PortLease | undefined> => {
  const folder = folderOf(dir)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const [held] = heldBy(folder, id)
  if (held !== undefined) {
    // The lease may be of an engine that was killed; this engine owns it from now on.
    writeFileSync(join(folder, held), JSON.stringify({ id, owner: identityOf(process.pid) }), { mode: 0o600 })
    return rangeOf(Number(held))
  }
  const firsts = firstPorts()
  const start = startFor(id, firsts.length)
  for (const first of [...firsts.slice(start), ...firsts.slice(0, start)]) {
    const path = join(folder, String(first))
    dropAbandoned(path)
    if (!claim(path, id)) continue
    if (await isFree(rangeOf(first))) return rangeOf(first)
    rmSync(path, { force: true })
  }
  return undefined
}

export const releasePorts = (dir: string, id: string): void => {
  const folder = folderOf(dir)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const name of heldBy(folder, id)) rmSync(join(folder, name), { force: true })
}
