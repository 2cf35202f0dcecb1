/** Plain requests to the engine that served this page, with the session of this page; errors keep their code. */
import { call, renewSession, session } from './session.ts'

export interface Failure extends Error {
  /** 0 = no answer at all. */
  status: number
  code: string
}

const failure = (status: number, code: string, message: string): Failure =>
  Object.assign(new Error(message), { status, code })

export const isFailure = (error: unknown): error is Failure => error instanceof Error && 'status' in error

const errorOf = (status: number, value: unknown): Failure => {
  const { error } = (value ?? {}) as { error?: { code?: string; message?: string } }
  return failure(status, error?.code ?? 'UNKNOWN', error?.message ?? `the engine answered with status ${status}`)
}

/** A session that is refused is renewed where that is possible; a request that was refused has changed nothing. */
export const ask = async (path: string, init: RequestInit): Promise<Response> => {
  const given = session()
  const answer = await call(path, init, given)
  if (answer.status !== 401) return answer
  const next = await renewSession(given)
  return next === undefined ? answer : call(path, init, next)
}

const answerTo = async <T>(path: string, init: RequestInit): Promise<T> => {
  let response: Response
  try {
    response = await ask(path, init)
  } catch (error) {
    if (init.signal?.aborted === true) throw error
    throw failure(0, 'GONE', 'the engine does not answer')
  }
  // An answer that is cut off or no JSON is like none: the engine ended while it was being sent.
  const value: unknown = await response.json().catch(() => undefined)
  if (!response.ok) throw errorOf(response.status, value)
  if (value === undefined) throw failure(0, 'GONE', 'the engine broke off its answer')
  return value as T
}

export const get = <T>(path: string, signal?: AbortSignal): Promise<T> =>
  answerTo<T>(path, { headers: { accept: 'application/json' }, ...(signal === undefined ? {} : { signal }) })

export const send = <T>(method: 'POST' | 'PATCH', path: string, body: object = {}): Promise<T> =>
  answerTo<T>(path, {
    method,
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body),
  })
