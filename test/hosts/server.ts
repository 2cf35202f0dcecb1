/** PostgreSQL for the hosts: started inside the first host's network, restarted by SIGUSR1, ended by SIGTERM. Prints its URL. */
import { startServer } from '../support/server.ts'

const server = await startServer({ address: process.argv[2] ?? '127.0.0.1', network: process.argv[3] ?? '' })
process.on('SIGUSR1', () => void server.stop().then(() => server.start()))
process.on('SIGTERM', () => void server.clear().then(() => process.exit(0)))
process.stdout.write(`${server.url}\n`)
setInterval(() => undefined, 1_000)
