/**
 * A proxy before the server that loses answers: when a connection sends a chosen statement, the server's answer to what
 * follows is dropped with the connection. What the statement did stands, and its sender cannot know.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface Loss {
  /** In what the client sends. */
  statement: string
  /** In what the server answers from then on, on the same connection: the tag of a finished command. */
  answer: string
}

export interface Lossy {
  url: string
  /** Losses that have not happened yet. */
  open: Set<Loss>
  close(): void
}

const bridge = (client: Socket, server: Socket, open: Set<Loss>): void => {
  let doomed: Loss | undefined
  client.on('data', (data) => {
    const text = data.toString('latin1')
    // Another connection may have had this loss meanwhile; this one is then free for the next.
    if (doomed !== undefined && !open.has(doomed)) doomed = undefined
    doomed ??= [...open].find((loss) => text.includes(loss.statement))
    server.write(data)
  })
  server.on('data', (data) => {
    if (doomed === undefined || !open.has(doomed) || !data.toString('latin1').includes(`${doomed.answer}\0`))
      return void client.write(data)
    open.delete(doomed)
    client.destroy()
    server.destroy()
  })
  for (const [one, other] of [
    [client, server],
    [server, client],
  ] as const) {
    one.on('error', () => other.destroy())
    one.on('close', () => other.destroy())
  }
}

export const startLossy = (target: string, losses: Loss[]): Promise<Lossy> => {
  const url = new URL(target)
  const open = new Set(losses)
  const sockets = new Set<Socket>()
  const proxy = createServer((client) => {
    const server = connect(Number(url.port), url.hostname)
    for (const socket of [client, server]) sockets.add(socket)
    bridge(client, server, open)
  })
  return new Promise((resolve) => {
    proxy.listen(0, '127.0.0.1', () => {
      const through = new URL(target)
      through.port = String((proxy.address() as AddressInfo).port)
      resolve({
        url: through.href,
        open,
        close: () => {
          proxy.close()
          for (const socket of sockets) socket.destroy()
        },
      })
    })
  })
}
