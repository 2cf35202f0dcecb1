/**
 * The embedded store. There is one connection, so statements and transactions take turns in a queue. The caller holds
 * the owner lock (lock.ts): two processes on one PGlite folder lose rows silently.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { extname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { AppError } from '../errors.ts'
import { identityOf, livenessOf, type ProcessIdentity } from '../platform/process.ts'
import type { Db, Queryable, Sql } from './db.ts'
import type { PgliteOpening, PgliteReply, PgliteRequest } from './pglite-process.ts'

export interface PgliteOptions {
  /** Null = in memory. */
  dataDir: string | null
  /** Gzipped dump of a migrated, empty store, with which a first start skips initdb. */
  template?: Uint8Array | null
}

export interface PgliteDb extends Db {
  dump(): Promise<Uint8Array>
}

const program = fileURLToPath(new URL(`./pglite-process${extname(import.meta.url)}`, import.meta.url))

const failure = ({ message, code }: NonNullable<PgliteReply['error']>): Error =>
  Object.assign(new Error(message), { code })

/** The file that identifies the process that uses the folder. Written before the process opens the folder. */
const recordOf = (dataDir: string): string => `${dataDir}.process`

const readRecord = (path: string): ProcessIdentity | undefined => {
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) as ProcessIdentity | null) ?? undefined
  } catch {
    return undefined // no record, or a power failure took its content together with the process
  }
}

const goneMs = 10_000
const stepMs = 5

const kill = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process ended meanwhile, or this user may not end it; the next check tells which.
  }
}

/**
 * The database process of an engine that was killed may still be executing a statement: it must end before another one
 * starts.
 */
const endEarlier = async (dataDir: string): Promise<void> => {
  const earlier = readRecord(recordOf(dataDir))
  if (earlier === undefined) return
  for (let waited = 0; livenessOf(earlier) === 'alive'; waited += stepMs) {
    if (waited === 0) kill(earlier.pid)
    if (waited > goneMs)
      throw new AppError(
        'STORE_LOCKED',
        `process ${earlier.pid} still uses ${dataDir} and does not end; stop it (kill ${earlier.pid}), then try again`,
      )
    await sleep(stepMs)
  }
}

const writeRecord = (dataDir: string, pid: number): void => {
  const path = recordOf(dataDir)
  // A process that has ended already has no identity; opening reports the failure.
  writeFileSync(`${path}.new`, JSON.stringify(identityOf(pid) ?? null), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/** One database process and the requests that wait for its replies. */
interface Wire {
  ask(kind: PgliteRequest['kind'], text?: string, values?: unknown[]): Promise<unknown>
  hasEnded(): boolean
  end(): Promise<void>
}

const opened = async (child: ChildProcess, opening: PgliteOpening): Promise<void> => {
  child.send(opening)
  const [reply] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => [
      { error: { message: 'the database process ended while it opened the store', code: undefined } },
    ]),
  ])) as [PgliteReply]
  if (reply.error !== undefined) throw failure(reply.error)
}

/**
 * Compiles WebAssembly once, without optimisations. For our many small statements that is cheaper for good: a start and 300 queries take 1.4
 * seconds of CPU instead of 2.6, 20,000 queries 8.6 instead of 11.1, and the process grows to 280 MB instead of 850. Only long scans of a
 * large store are slower (72 ms instead of 48 for 100,000 rows).
 */
const compileOnce = '--liftoff-only'

const start = async ({ dataDir, template = null }: PgliteOptions): Promise<ChildProcess> => {
  if (dataDir !== null) await endEarlier(dataDir)
  const child = fork(program, {
    execArgv: [compileOnce],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  try {
    if (child.pid === undefined) await once(child, 'spawn')
    if (dataDir !== null) writeRecord(dataDir, child.pid as number)
    await opened(child, { dataDir, template })
    return child
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
}

const connect = async (options: PgliteOptions): Promise<Wire> => {
  const child = await start(options)
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  let last = 0
  let closed = false
  let ended: Error | undefined
  const failAll = (error: Error): void => {
    // The first error is the cause; later requests fail with it instead of waiting for a reply that cannot come.
    ended ??= error
    for (const entry of waiting.values()) entry.reject(error)
    waiting.clear()
  }
  child.on('error', failAll)
  const exited = once(child, 'exit').then(([code, signal]: (string | number | null)[]) =>
    failAll(
      closed
        ? new Error('the store was closed')
        : new AppError('STORE_UNAVAILABLE', `the process of the store ended (${signal ?? `exit status ${code}`})`),
    ),
  )
  child.on('message', (reply: PgliteReply) => {
    const entry = waiting.get(reply.id ?? -1)
    waiting.delete(reply.id ?? -1)
    if (reply.error === undefined) entry?.resolve(reply.result)
    else entry?.reject(failure(reply.error))
  })
  return {
    ask: (kind, text = '', values = []) =>
      new Promise((resolve, reject) => {
        if (ended !== undefined) return reject(ended)
        const id = ++last
        waiting.set(id, { resolve, reject })
        child.send({ id, kind, text, values } satisfies PgliteRequest, (error) => error === null || failAll(error))
      }),
    hasEnded: () => ended !== undefined,
    end: async () => {
      closed = true
      if (child.connected) child.disconnect()
      await exited
      if (options.dataDir !== null) rmSync(recordOf(options.dataDir), { force: true })
    },
  }
}

/** Starts the database process on a folder or in memory. If the process ends, the next request starts another one. */
export const openPglite = async (options: PgliteOptions): Promise<PgliteDb> => {
  let wire = await connect(options)
  let isClosed = false
  let tail: Promise<unknown> = Promise.resolve()
  /**
   * Starts another process after one ended; the turn in progress failed with it. An in-memory store is lost with its
   * process.
   */
  const renew = async (): Promise<void> => {
    if (wire.hasEnded() && !isClosed && options.dataDir !== null) wire = await connect({ dataDir: options.dataDir })
  }
  /** Runs work in order; a failed turn does not stop the next one. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = tail.then(renew).then(work)
    tail = turn.catch(() => undefined) // the caller of that turn gets the error
    return turn
  }
  const direct: Queryable = {
    query: <Row>(statement: Sql) => wire.ask('query', statement.text, statement.values) as Promise<Row[]>,
  }
  const transact = async <T>(work: (tx: Queryable) => Promise<T>): Promise<T> => {
    await wire.ask('script', 'begin')
    try {
      const result = await work(direct)
      await wire.ask('script', 'commit')
      return result
    } catch (error) {
      if (!wire.hasEnded()) await wire.ask('script', 'rollback')
      throw error
    }
  }
  /** A failed script must not leave its transaction open: the next turn would run inside it and fail. */
  const runScript = async (text: string): Promise<void> => {
    try {
      await wire.ask('script', text)
    } catch (error) {
      if (!wire.hasEnded()) await wire.ask('script', 'rollback')
      throw error
    }
  }
  return {
    query: (statement) => inTurn(() => direct.query(statement)),
    transaction: (work) => inTurn(() => transact(work)),
    script: (text) => inTurn(() => runScript(text)),
    dump: () => inTurn(async () => (await wire.ask('dump')) as Uint8Array),
    close: () =>
      inTurn(async () => {
        isClosed = true
        if (!wire.hasEnded()) await wire.ask('close')
        await wire.end()
      }),
  }
}
