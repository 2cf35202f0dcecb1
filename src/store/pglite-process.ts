/**
 * Runs PGlite in a separate process. PGlite computes on the thread that calls it: a two-second query in the engine
 * would delay keep-alives and every timer. Its memory must not be in the engine either: starting a program copies the
 * page tables of the parent, which made each git call take 15 ms of the engine's thread instead of 3.
 *
 * The process opens the folder on the first message and ends with the channel, because then its engine is gone.
 */
import { PGlite } from '@electric-sql/pglite'
import { createStatements, type Statements } from './prepared-statements.ts'

export interface PgliteOpening {
  /** Null = in memory. */
  dataDir: string | null
  template: Uint8Array | null
}

export interface PgliteRequest {
  id: number
  kind: 'query' | 'script' | 'dump' | 'close'
  text: string
  values: unknown[]
}

export interface PgliteReply {
  /** Absent in the reply to the opening. */
  id?: number
  result?: unknown
  error?: { message: string; code: string | undefined }
}

const open = ({ dataDir, template }: PgliteOpening): Promise<PGlite> =>
  PGlite.create({
    ...(dataDir === null ? {} : { dataDir }),
    ...(template === null ? {} : { loadDataDir: new Blob([template as Uint8Array<ArrayBuffer>]) }),
    parsers: { 20: Number },
  })

const handle = async (db: PGlite, statements: Statements, request: PgliteRequest): Promise<unknown> => {
  switch (request.kind) {
    case 'query':
      return statements.query(request.text, request.values)
    case 'script':
      await statements.script(request.text)
      return null
    case 'dump':
      return new Uint8Array(await (await db.dumpDataDir('gzip')).arrayBuffer())
    case 'close':
      await db.close()
      return null
  }
}

/** Only what survives the channel: the error class is lost, and callers check the SQLSTATE in `code`. */
const portable = (error: unknown): NonNullable<PgliteReply['error']> => ({
  message: error instanceof Error ? error.message : String(error),
  code: (error as { code?: string }).code,
})

const reply = (message: PgliteReply): void => void process.send?.(message)

const serve = async (opening: PgliteOpening): Promise<void> => {
  const db = await open(opening)
  const statements = createStatements(db)
  process.on('message', (request: PgliteRequest) => {
    handle(db, statements, request).then(
      (result) => reply({ id: request.id, result }),
      (error: unknown) => reply({ id: request.id, error: portable(error) }),
    )
  })
  reply({})
}

if (process.send === undefined) throw new Error('pglite-process.ts is started by pglite.ts only')
// At once: after its engine is gone this process must not write, since another engine may own the folder.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
// A key press in a terminal signals the whole process group, but the engine uses the store until it has stopped.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.once('message', (opening: PgliteOpening) => {
  serve(opening).catch((error: unknown) => reply({ error: portable(error) }))
})
