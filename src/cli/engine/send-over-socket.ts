/**
 * Carries requests to the engine: over its Unix socket, where the kernel names this process to it, or over TCP under the name of its repository.
 */
import { request, type IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { Send } from './client.ts'

const withoutBody = new Set([204, 205, 304])

const responseOf = (answer: IncomingMessage): Response => {
  const { statusCode: status = 502, rawHeaders } = answer
  const headers = new Headers()
  for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '')
  const body = withoutBody.has(status) ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>)
  return new Response(body, { status, headers })
}

/**
 * Opens a new connection for each request. A busy engine may close an idle one just as the next request goes out, and the client cannot tell
 * whether that request arrived. Rejects with the system's error, such as ENOENT after the engine has removed its socket.
 */
const sendThrough =
  (way: { socketPath: string } | { hostname: string; port: string }): Send =>
  (url, { method = 'GET', headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const { host, pathname, search } = new URL(url)
      const all = { ...(headers as Record<string, string> | undefined), host }
      const options = { ...way, agent: false, path: `${pathname}${search}`, method, headers: all }
      const asked = request({ ...options, ...(signal ? { signal } : {}) }, (answer) => resolve(responseOf(answer)))
      asked.on('error', reject)
      asked.end(body as string | undefined)
    })

/** Browsers know every name below `localhost`; the resolver of the system may not. */
const sendOverTcp: Send = (url, init) => {
  const { hostname, port } = new URL(url)
  return hostname.endsWith('.localhost') ? sendThrough({ hostname: '127.0.0.1', port })(url, init) : fetch(url, init)
}

/** Over the socket where the engine has one, else over TCP. */
export const sendTo = (socket: string | undefined): Send =>
  socket === undefined ? sendOverTcp : sendThrough({ socketPath: socket })
