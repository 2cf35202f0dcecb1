/** Requests to the engine that served this page, with the session of this page; errors keep their code. */
import { call, renewSession, session } from './session.ts'

export interface Failure extends Error {
  /** 0 = no response. */
  status: number
  code: string
}

const failure = (status: number, code: string, message: string): Failure =>
  Object.assign(new Error(message), { status, code })

export const isFailure = (error: unknown): error is Failure => error instanceof Error && 'status' in error

const errorOf = (status: number, value: unknown): Failure => {
  const { error } = (value ?? {}) as { error?: { code?: string; message?: string } }
  return failure(status, error?.code ?? 'UNKNOWN', error?.message ?? `the engine returned status ${status}`)
}

/** Sends a refused request again with a renewed session, which is safe because a refused request changes nothing. */
export const ask = async (path: string, init: RequestInit): Promise<Response> => {
  const given = session()
  const response = await call(path, init, given)
  if (response.status !== 401) return response
  const next = await renewSession(given)
  return next === undefined ? response : call(path, init, next)
}

const requestJson = async <T>(path: string, init: RequestInit): Promise<T> => {
  let response: Response
  try {
    response = await ask(path, init)
  } catch (error) {
    if (init.signal?.aborted === true) throw error
    throw failure(0, 'GONE', 'the engine is not responding')
  }
  // The engine stopped while it was sending: an incomplete response counts as none.
  const value: unknown = await response.json().catch(() => undefined)
  if (!response.ok) throw errorOf(response.status, value)
  if (value === undefined) throw failure(0, 'GONE', 'the engine stopped during its response')
  return value as T
}

export const get = <T>(path: string, signal?: AbortSignal): Promise<T> =>
  requestJson<T>(path, { headers: { accept: 'application/json' }, ...(signal === undefined ? {} : { signal }) })

export const send = <T>(method: 'POST' | 'PATCH', path: string, body: object = {}): Promise<T> =>
  requestJson<T>(path, {
    method,
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body),
  })
