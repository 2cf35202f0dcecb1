/** A PostgreSQL server that tests may stop, on loopback and on a Unix socket. Tests that stop none share one (global-setup.ts). */
import { appendFileSync, existsSync, readdirSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Client } from 'pg'
import { startScratchServer, type ScratchServer } from '../../scripts/scratch-server.ts'

export interface Server {
  /** By loopback, as people configure it; holds the password. */
  url: string
  password: string
  stop(): Promise<boolean>
  start(): Promise<void>
  /** Ends the server and removes its folder. */
  clear(): Promise<void>
}

/** Of a person's server; the characters are those that have to be encoded in a URL. */
const password = 'geheim/mit:zeichen@'

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })

const dataOf = ({ home }: ScratchServer): string => {
  const top = join(home, 'postgres')
  const major = readdirSync(top).find((name) => existsSync(join(top, name, 'data'))) ?? ''
  return join(top, major, 'data')
}

/** `network` may log in besides loopback, for servers that others reach over one. */
export const startServer = async ({ address = '127.0.0.1', network = '' } = {}): Promise<Server> => {
  const port = await freePort()
  const scratch = await startScratchServer({ listen_addresses: address, port: String(port) })
  const client = new Client({ connectionString: scratch.url })
  await client.connect()
  await client.query(`create role person superuser login password '${password}'`)
  if (network !== '') {
    appendFileSync(join(dataOf(scratch), 'pg_hba.conf'), `host all all ${network} scram-sha-256\n`)
    await client.query('select pg_reload_conf()')
  }
  await client.end()
  return {
    url: `postgresql://person:${encodeURIComponent(password)}@${address}:${port}/postgres`,
    password,
    start: () => scratch.server.start(),
    stop: () => scratch.server.stop(),
    clear: () => scratch.clear(),
  }
}
