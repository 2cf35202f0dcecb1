/** HTTP to the engine: requests with its token, lists page after page, and its stream of events. Errors are those of the error table. */
import type { EventView } from '../../api/contract.ts'
import { AppError, errorTable, messageOf, type ErrorCode } from '../../errors.ts'
import { readEventStream } from './event-stream.ts'

export interface Client {
  get<T>(path: string): Promise<T>
  /** Every row of a list, page after page. */
  all<T>(path: string): Promise<T[]>
  /** The events after a number, as they come, until either side ends the stream. */
  events(path: string, after: number, signal: AbortSignal): AsyncGenerator<EventView[], void, undefined>
  post<T>(path: string, body?: unknown): Promise<T>
  patch<T>(path: string, body: unknown): Promise<T>
}

const isErrorBody = (value: unknown): value is { error: { code: string; message: string } } =>
  typeof value === 'object' && value !== null && 'error' in value

const toError = (status: number, value: unknown): AppError => {
  if (!isErrorBody(value)) return new AppError('ENGINE_UNAVAILABLE', `the engine answered with status ${status}`)
  const { code, message } = value.error
  return new AppError(code in errorTable ? (code as ErrorCode) : 'ENGINE_UNAVAILABLE', message)
}

type Call = (path: string, init: RequestInit) => Promise<Response>

/** How a request gets to its handler: over HTTP, or within this process. */
export type Send = (url: string, init: RequestInit) => Promise<Response>

const callerOf =
  (url: string, token: string, send: Send): Call =>
  async (path, init) => {
    let response: Response
    try {
      response = await send(`${url}${path}`, {
        ...init,
        headers: { authorization: `Bearer ${token}`, ...(init.headers as Record<string, string> | undefined) },
      })
    } catch (error) {
      if (error instanceof AppError) throw error
      throw new AppError(
        'ENGINE_UNAVAILABLE',
        `the engine at ${url} does not answer (${messageOf(error)}); try again, or start it with "unstuck up"`,
      )
    }
    if (response.ok) return response
    const value: unknown = await response.json().catch(() => undefined) // an answer that is no JSON is reported by its status
    throw toError(response.status, value)
  }

const nextPage = (response: Response): string | undefined =>
  /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]

const streamOf = async function* (
  call: Call,
  path: string,
  { after, signal }: { after: number; signal: AbortSignal },
): AsyncGenerator<EventView[], void, undefined> {
  const headers = { accept: 'text/event-stream', 'last-event-id': String(after) }
  const left = new AbortController()
  const { body } = await call(path, { headers, signal: AbortSignal.any([signal, left.signal]) })
  if (body === null) return
  const batches = readEventStream(body)
  try {
    for (;;) {
      // A connection that breaks off is the end of this stream, like one that was ended in order.
      const next = await batches.next().catch(() => undefined)
      if (next === undefined || next.done === true) return
      yield next.value
    }
  } finally {
    // A reader that stops closes the connection as well; an open one would keep the process alive.
    left.abort()
  }
}

const everyRow = async <T>(call: Call, first: string, value: ReturnType<typeof readerOf>): Promise<T[]> => {
  const found: T[] = []
  for (let next: string | undefined = first; next !== undefined;) {
    const response = await call(next, {})
    found.push(...(await value<T[]>(response)))
    next = nextPage(response)
  }
  return found
}

/** An answer that is cut off has no value: the engine ended while it was being sent. */
const readerOf =
  (url: string) =>
  async <T>(response: Response): Promise<T> =>
    (await response.json().catch((error: unknown) => {
      throw new AppError(
        'ENGINE_UNAVAILABLE',
        `the engine at ${url} broke off its answer (${messageOf(error)}); try again`,
      )
    })) as T

const asJson = (method: 'POST' | 'PATCH', body: unknown): RequestInit => ({
  method,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

export const createClient = (url: string, token: string, send: Send = fetch): Client => {
  const call = callerOf(url, token, send)
  const value = readerOf(url)
  return {
    get: async (path) => value(await call(path, {})),
    all: (path) => everyRow(call, path, value),
    events: (path, after, signal) => streamOf(call, path, { after, signal }),
    post: async (path, body = {}) => value(await call(path, asJson('POST', body))),
    patch: async (path, body) => value(await call(path, asJson('PATCH', body))),
  }
}
