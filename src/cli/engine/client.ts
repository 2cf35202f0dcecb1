/** The HTTP client for the engine: requests, paged lists and the event stream. Errors become AppErrors with the code that the engine sent. */
import type { EventView } from '../../api/contract.ts'
import { AppError, errorTable, messageOf, type ErrorCode } from '../../errors.ts'

// Parses the wire format of the event stream: chunks of bytes in, complete events out.

/** The events of a stream, in batches as they arrive; an empty batch is a heartbeat. An incomplete event at the end is dropped. */
export const readEventStream = async function* (
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<EventView[], void, undefined> {
  const decoder = new TextDecoder()
  let incomplete = ''
  for await (const chunk of chunks) {
    const blocks = (incomplete + decoder.decode(chunk, { stream: true })).split('\n\n')
    incomplete = blocks.pop() ?? ''
    yield blocks.flatMap((block) => {
      const data = block.split('\n').find((line) => line.startsWith('data: '))
      return data === undefined ? [] : [JSON.parse(data.slice('data: '.length)) as EventView]
    })
  }
}

export interface Client {
  get<T>(path: string): Promise<T>
  /** All rows of a list, fetched page by page. */
  all<T>(path: string): Promise<T[]>
  /** Events after the given number in batches, until the signal aborts or the connection ends. */
  events(path: string, after: number, signal: AbortSignal): AsyncGenerator<EventView[], void, undefined>
  post<T>(path: string, body?: unknown): Promise<T>
  patch<T>(path: string, body: unknown): Promise<T>
}

const isErrorBody = (value: unknown): value is { error: { code: string; message: string } } =>
  typeof value === 'object' && value !== null && 'error' in value

const toError = (status: number, value: unknown): AppError => {
  if (!isErrorBody(value))
    return new AppError(
      'ENGINE_UNAVAILABLE',
      `the engine responded with status ${status} and no error message; try again`,
    )
  const { code, message } = value.error
  return new AppError(errorCodeOf(code), message)
}

/** One of another version may send a code that is unknown here. */
export const errorCodeOf = (code: string): ErrorCode =>
  code in errorTable ? (code as ErrorCode) : 'ENGINE_UNAVAILABLE'

type Call = (path: string, init: RequestInit) => Promise<Response>

/** Carries a request to its handler: over HTTP, or within this process. */
export type Send = (url: string, init: RequestInit) => Promise<Response>

const callerOf =
  (url: string, token: string, send: Send): Call =>
  async (path, init) => {
    let response: Response
    try {
      response = await send(`${url}${path}`, {
        ...init,
        headers: {
          accept: 'application/json',
          authorization: `Bearer ${token}`,
          ...(init.headers as Record<string, string> | undefined),
        },
      })
    } catch (error) {
      if (error instanceof AppError) throw error
      throw new AppError(
        'ENGINE_UNAVAILABLE',
        `the engine at ${url} is not responding (${messageOf(error)}); try again, or start it with "unstuck up"`,
      )
    }
    if (response.ok) return response
    const value: unknown = await response.json().catch(() => undefined) // a response that is not JSON is reported with its status
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
  const closed = new AbortController()
  const { body } = await call(path, { headers, signal: AbortSignal.any([signal, closed.signal]) })
  if (body === null) return
  const batches = readEventStream(body)
  try {
    for (;;) {
      // A lost connection ends this stream like a closed one; the caller reconnects.
      const next = await batches.next().catch(() => undefined)
      if (next === undefined || next.done === true) return
      yield next.value
    }
  } finally {
    // An open connection would keep the process alive after the caller has stopped reading.
    closed.abort()
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

/** Parses a response. An incomplete one means that the engine stopped while sending it. */
const readerOf =
  (url: string) =>
  async <T>(response: Response): Promise<T> =>
    (await response.json().catch((error: unknown) => {
      throw new AppError(
        'ENGINE_UNAVAILABLE',
        `the engine at ${url} stopped in the middle of a response (${messageOf(error)}); try again`,
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
