/** Requests to the engine that served this page, with the session of this page; errors keep their code. */
import { call, renewSession, sessionToken } from './session.ts'

export interface RequestFailure extends Error {
  /** 0 = no response. */
  status: number
  code: string
}

const failure = (status: number, code: string, message: string): RequestFailure =>
  Object.assign(new Error(message), { status, code })

export const isRequestFailure = (error: unknown): error is RequestFailure => error instanceof Error && 'status' in error

const errorOf = (status: number, value: unknown): RequestFailure => {
  const { error } = (value ?? {}) as { error?: { code?: string; message?: string } }
  return failure(status, error?.code ?? 'UNKNOWN', error?.message ?? `the engine returned status ${status}`)
}

/** Sends a refused request again with a renewed session, which is safe because a refused request changes nothing. */
export const authorizedFetch = async (path: string, init: RequestInit): Promise<Response> => {
  const given = sessionToken()
  const response = await call(path, init, given)
  if (response.status !== 401) return response
  const next = await renewSession(given)
  return next === undefined ? response : call(path, init, next)
}

const requestJson = async <T>(path: string, init: RequestInit): Promise<T> => {
  let response: Response
  try {
    response = await authorizedFetch(path, init)
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

export const getJson = <T>(path: string, signal?: AbortSignal): Promise<T> =>
  requestJson<T>(path, { headers: { accept: 'application/json' }, ...(signal === undefined ? {} : { signal }) })

export const sendJson = <T>(method: 'POST' | 'PATCH', path: string, body: object = {}): Promise<T> =>
  requestJson<T>(path, {
    method,
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body),
  })
