/**
 * The login of this page. Requests carry a session, which the tabs of this browser share and which ends with the engine.
 * After a restart the page gets a new session by signing with a key. The key exists only in the memory of this page, is never
 * sent, and is used only after the server has proved that it knows the key and listens on this port.
 */
import type { Challenge, SessionKey, SessionView } from '../../src/api/contract.ts'

const storageKey = 'unstuck-session'

let token: string | undefined
let login: { id: string; key: CryptoKey } | undefined

/** A browser may deny storage; the login then lasts until the page is closed. */
const stored = (): string | undefined => {
  try {
    return localStorage.getItem(storageKey) ?? undefined
  } catch {
    return undefined
  }
}

const store = (next: string): void => {
  try {
    localStorage.setItem(storageKey, next)
  } catch {
    // as above
  }
}

const forgetStored = (): void => {
  try {
    localStorage.removeItem(storageKey)
  } catch {
    // as above
  }
}

export const sessionToken = (): string | undefined => (token ??= stored())

const withSession = (given: string | undefined): Record<string, string> =>
  given === undefined ? {} : { authorization: `Bearer ${given}` }

/** Sends a request with the session of this page and returns the response whatever its status. */
export const call = (path: string, init: RequestInit, given = sessionToken()): Promise<Response> =>
  fetch(path, {
    ...init,
    headers: { ...(init.headers as Record<string, string>), ...withSession(given) },
    cache: 'no-store',
    credentials: 'omit',
  })

/** Undefined for every failure: the page then stays logged out. */
const post = async <T>(path: string, body: object, given?: string): Promise<T | undefined> => {
  const headers = { 'content-type': 'application/json', ...withSession(given) }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await fetch(path, { ...init, cache: 'no-store', credentials: 'omit' }).catch(() => undefined)
  return response?.ok === true ? ((await response.json().catch(() => undefined)) as T | undefined) : undefined
}

const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.codePointAt(0) ?? 0)

const textOf = (bytes: Uint8Array): string =>
  btoa(String.fromCodePoint(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

const hmac = { name: 'HMAC', hash: 'SHA-256' }

const keepKey = async (given: string): Promise<void> => {
  const found = await post<SessionKey>('/sessions/key', {}, given)
  if (found === undefined) return
  login = {
    id: found.id,
    key: await crypto.subtle.importKey('raw', bytesOf(found.key), hmac, false, ['sign', 'verify']),
  }
}

const adopt = async (next: string): Promise<string> => {
  token = next
  store(next)
  if (login === undefined) await keepKey(next)
  return next
}

/** What both sides sign; see `src/api/logins.ts`. */
const signedBy = (role: 'engine' | 'page', engine: string, page: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(new TextEncoder().encode(['unstuck', role, location.port, engine, page].join('\n')))

const proveLogin = async (): Promise<string | undefined> => {
  if (login === undefined) return undefined
  const { id, key } = login
  const nonce = textOf(crypto.getRandomValues(new Uint8Array(32)))
  const engine = await post<Challenge>('/sessions/challenge', { id, nonce })
  if (typeof engine?.nonce !== 'string' || typeof engine.proof !== 'string') return undefined
  if (!(await crypto.subtle.verify(hmac, key, bytesOf(engine.proof), signedBy('engine', engine.nonce, nonce))))
    return undefined
  const proof = textOf(new Uint8Array(await crypto.subtle.sign(hmac, key, signedBy('page', engine.nonce, nonce))))
  return (await post<SessionView>('/sessions/resume', { id, nonce, proof }))?.token
}

const findSession = async (refused: string | undefined): Promise<string | undefined> => {
  const other = stored()
  if (other !== undefined && other !== refused) return adopt(other)
  const next = await proveLogin().catch(() => undefined) // a malformed proof counts as a wrong one
  if (next !== undefined) return adopt(next)
  // Another tab may have stored a new session meanwhile.
  if (stored() === refused) forgetStored()
  return undefined
}

let finding: Promise<string | undefined> | undefined

/** A session other than the refused one, from another tab or from the restarted engine; undefined if there is none. */
export const renewSession = (refused: string | undefined): Promise<string | undefined> => {
  if (token !== undefined && token !== refused) return Promise.resolve(token)
  finding ??= findSession(refused).finally(() => (finding = undefined))
  return finding
}

/** A login address has its code after the `#`, which browsers do not send. The code is removed from the address at once. */
const takeCode = (): string | undefined => {
  const code = /^#login=([\w-]{1,200})$/.exec(location.hash)?.[1]
  if (code !== undefined) history.replaceState(null, '', `${location.pathname}#/`)
  return code
}

const logIn = async (code: string): Promise<void> => {
  const begun = await post<SessionView>('/sessions', { code })
  if (begun === undefined) return
  login = undefined
  await adopt(begun.token)
}

/** Logs in with the code of the address, now and whenever the address changes; otherwise uses the session of this browser. */
export const beginSession = async (): Promise<void> => {
  window.addEventListener('hashchange', () => {
    const code = takeCode()
    if (code !== undefined) void logIn(code)
  })
  const code = takeCode()
  if (code !== undefined) await logIn(code)
  const given = sessionToken()
  if (login === undefined && given !== undefined) await keepKey(given)
}
