/** A receiver of notifications on this machine: a real HTTP server that keeps what it gets. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net'

export interface Received {
  path: string
  headers: IncomingMessage['headers']
  body: string
}

export interface Receiver {
  url: string
  received: Received[]
  /** Resolves when so many requests have come. */
  count(number: number): Promise<Received[]>
  close(): Promise<void>
}

type Respond = (response: ServerResponse, request: Received, number: number) => void

const accept: Respond = (response) => response.writeHead(204).end()

export const openReceiver = async (respond: Respond = accept): Promise<Receiver> => {
  const received: Received[] = []
  const waiting = new Set<() => void>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { url: path = '', headers } = request
      const entry = { path, headers, body: Buffer.concat(chunks).toString('utf8') }
      received.push(entry)
      for (const look of waiting) look()
      respond(response, entry, received.length)
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    count: (number) =>
      new Promise((done) => {
        const look = (): void => {
          if (received.length < number) return
          waiting.delete(look)
          done(received)
        }
        waiting.add(look)
        look()
      }),
    close: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

/** A server that speaks whatever `talk` writes to a new connection. */
export const openTalker = async (talk: (socket: Socket) => void): Promise<Pick<Receiver, 'url' | 'close'>> => {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    talk(socket)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((done) => server.close(done))
    },
  }
}
