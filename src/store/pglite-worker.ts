/**
 * PGlite in a thread of its own: it computes on the thread that calls it, and a two-second query on the main thread would
 * stall keep-alives, event streams and every other timer for two seconds.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite } from '@electric-sql/pglite'

interface Request {
  id: number
  kind: 'query' | 'script' | 'dump' | 'close'
  text: string
  values: unknown[]
}

const port = parentPort
if (port === null) throw new Error('pglite-worker.ts runs as a worker thread only')

const { dataDir, template } = workerData as { dataDir: string | null; template: Uint8Array | null }

const open = (): Promise<PGlite> =>
  PGlite.create({
    ...(dataDir === null ? {} : { dataDir }),
    ...(template === null ? {} : { loadDataDir: new Blob([template as Uint8Array<ArrayBuffer>]) }),
    parsers: { 20: Number },
  })

const handle = async (db: PGlite, request: Request): Promise<unknown> => {
  switch (request.kind) {
    case 'query':
      return (await db.query(request.text, request.values)).rows
    case 'script':
      await db.exec(request.text)
      return null
    case 'dump':
      return new Uint8Array(await (await db.dumpDataDir('gzip')).arrayBuffer())
    case 'close':
      await db.close()
      return null
  }
}

/** Only what survives the port: the class is lost, the SQLSTATE in `code` is what callers look at. */
const portable = (error: unknown): { message: string; code: string | undefined } => ({
  message: error instanceof Error ? error.message : String(error),
  code: (error as { code?: string }).code,
})

const start = async (): Promise<void> => {
  try {
    const db = await open()
    port.on('message', (request: Request) => {
      handle(db, request).then(
        (result) => port.postMessage({ id: request.id, result }),
        (error: unknown) => port.postMessage({ id: request.id, error: portable(error) }),
      )
    })
    port.postMessage({ ready: true })
  } catch (error) {
    port.postMessage({ ready: false, error: portable(error) })
  }
}

void start()
