/**
 * The embedded home of the store. One connection, so statements and transactions take turns in a queue. The caller holds
 * the owner lock (lock.ts): two processes on one PGlite folder lose rows silently.
 */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Db, Queryable, Sql } from './db.ts'

export interface PgliteOptions {
  /** Null = in memory. */
  dataDir: string | null
  /** Gzipped dump of a migrated, empty store: a first start from it skips initdb. */
  template?: Uint8Array | null
}

export interface PgliteDb extends Db {
  dump(): Promise<Uint8Array>
}

interface Reply {
  id?: number
  ready?: boolean
  result?: unknown
  error?: { message: string; code?: string }
}

const workerUrl = new URL(`./pglite-worker${extname(import.meta.url)}`, import.meta.url)

const failure = (error: { message: string; code?: string }): Error =>
  Object.assign(new Error(error.message), { code: error.code })

interface Wire {
  ask(kind: string, text?: string, values?: unknown[]): Promise<unknown>
  terminate(): Promise<unknown>
}

const connect = async (options: PgliteOptions): Promise<Wire> => {
  const worker = new Worker(workerUrl, { workerData: { dataDir: options.dataDir, template: options.template ?? null } })
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  let last = 0
  let ended: Error | undefined
  const failAll = (error: Error): void => {
    // The first reason is the true one; later requests fail with it instead of waiting for an answer that cannot come.
    ended ??= error
    for (const entry of waiting.values()) entry.reject(error)
    waiting.clear()
  }
  await new Promise<void>((resolve, reject) => {
    worker.once('message', (reply: Reply) => {
      if (reply.ready === true) resolve()
      else reject(failure(reply.error ?? { message: 'the store did not open' }))
    })
    worker.once('error', reject)
  })
  worker.on('error', failAll)
  worker.on('exit', () => failAll(new Error('the store was closed')))
  worker.on('message', (reply: Reply) => {
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
        worker.postMessage({ id, kind, text, values })
      }),
    terminate: () => worker.terminate(),
  }
}

export const openPglite = async (options: PgliteOptions): Promise<PgliteDb> => {
  const wire = await connect(options)
  let tail: Promise<unknown> = Promise.resolve()
  /** One after the other; a failed turn does not stop the next. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = tail.then(work, work)
    tail = turn.catch(() => undefined) // the caller of that turn sees the error
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
      await wire.ask('script', 'rollback')
      throw error
    }
  }
  /** A failed script must not leave its transaction open: the next turn would run, and fail, inside it. */
  const runScript = async (text: string): Promise<void> => {
    try {
      await wire.ask('script', text)
    } catch (error) {
      await wire.ask('script', 'rollback')
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
        await wire.ask('close')
        await wire.terminate()
      }),
  }
}
