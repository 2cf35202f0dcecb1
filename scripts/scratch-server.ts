/**
 * A PostgreSQL server for a moment: of a run of the tests, a benchmark or the generator. It is the product's own embedded server without the
 * durability, in a temporary home. Servers that a killed run left behind are found by their folder's name and dead owner, and ended first.
 */
import { mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { identityOf, livenessOf, type ProcessIdentity } from '../src/platform/process.ts'
import type { Db } from '../src/store/db.ts'
import { migrate } from '../src/store/migrate.ts'
import { openPostgres } from '../src/store/postgres.ts'
import { connectionName, serverOf, type EmbeddedServer } from '../src/store/server/embedded-server.ts'

const prefix = 'unstuck-scratch-'

export interface ScratchServer {
  /** As `$UNSTUCK_HOME`. */
  home: string
  /** Holds the password. */
  url: string
  server: EmbeddedServer
  /** Ends the server and removes its folder. */
  clear(): Promise<void>
}

/**
 * Nothing here need survive the machine, the statements are short, and the tables are small: nothing is flushed, and nothing runs in the
 * background.
 */
const fast = {
  ...{ fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off', checkpoint_timeout: '1h' },
  ...{
    max_connections: '500',
    shared_buffers: '64MB',
    max_wal_size: '4GB',
    wal_level: 'minimal',
    max_wal_senders: '0',
  },
  update_process_title: 'off',
}

const at = (home: string, more: Readonly<Record<string, string>> = {}): EmbeddedServer =>
  serverOf({ home, environment: process.env, settings: { ...fast, ...more } })

const remove = (home: string): void => rmSync(home, { recursive: true, force: true, maxRetries: 5 })

const memory = '/dev/shm'
const enoughBytes = 2 ** 30

/** Each database is hundreds of new files, and to make them takes a third of the time where they are in memory. */
export const scratchFolder = (): string => {
  try {
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize > enoughBytes ? memory : tmpdir()
  } catch {
    return tmpdir() // there is no such folder
  }
}

const leftIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((entry) => entry.startsWith(prefix))
    .map((name) => join(folder, name))

const sweep = async (): Promise<void> => {
  for (const home of [...new Set([tmpdir(), scratchFolder()])].flatMap(leftIn)) {
    try {
      const owner = JSON.parse(readFileSync(join(home, 'owner.json'), 'utf8')) as ProcessIdentity
      if (livenessOf(owner) !== 'dead') continue
      await at(home).stop()
      remove(home)
    } catch {
      // Another run begins or removes it at this moment, or it belongs to another user.
    }
  }
}

/** `settings` override those of PostgreSQL. With a `port` it listens there, and its socket is named after it. */
export const startScratchServer = async (settings: Readonly<Record<string, string>> = {}): Promise<ScratchServer> => {
  await sweep()
  const home = realpathSync(mkdtempSync(join(scratchFolder(), prefix)))
  writeFileSync(join(home, 'owner.json'), JSON.stringify(identityOf(process.pid)))
  const server = at(home, settings)
  await server.start()
  const url = server.url('unstuck') ?? ''
  // While this is connected, no program that leaves the server is the last one.
  const client = new pg.Client({ connectionString: url, application_name: connectionName() })
  client.on('error', () => undefined) // a test ended the server
  await client.connect()
  return {
    home,
    url,
    server,
    clear: async () => {
      await client.end()
      await server.stop()
      remove(home)
    },
  }
}

/** Calls `work` with a migrated, empty store. */
export const withScratchStore = async <T>(work: (db: Db) => Promise<T>): Promise<T> => {
  const scratch = await startScratchServer()
  try {
    const db = await openPostgres({ location: { url: scratch.url, schema: 'public' } })
    try {
      await migrate(db)
      return await work(db)
    } finally {
      await db.close()
    }
  } finally {
    await scratch.clear()
  }
}
