/**
 * The login of this page. What is sent with requests is a session, worth nothing once the engine has ended; the tabs of
 * this browser share it. What leads to a session of the next engine is a key in the memory of this page alone: it is used
 * for signing and never sent, and only after the server has proved that it knows the key and listens on this port.
 */
import type { Challenge, SessionKey, SessionView } from '../../src/api/contract.ts'

const place = 'unstuck-session'

let token: string | undefined
let login: { id: string; key: CryptoKey } | undefined

/** Storage may be switched off; the page then works until it is left. */
const stored = (): string | undefined => {
  try {
    return localStorage.getItem(place) ?? undefined
  } catch {
    return undefined
  }
}

const store = (next: string): void => {
  try {
    localStorage.setItem(place, next)
  } catch {
    // as above
  }
}

const forgetStored = (): void => {
  try {
    localStorage.removeItem(place)
  } catch {
    // as above
  }
}

export const session = (): string | undefined => (token ??= stored())

const withSession = (given: string | undefined): Record<string, string> =>
  given === undefined ? {} : { authorization: `Bearer ${given}` }

/** The answer of the engine as it is, with the session of this page. */
export const call = (path: string, init: RequestInit, given = session()): Promise<Response> =>
  fetch(path, {
    ...init,
    headers: { ...(init.headers as Record<string, string>), ...withSession(given) },
    cache: 'no-store',
    credentials: 'omit',
  })

/** Undefined for whatever is no good answer: the page is then logged out as it was. */
const post = async <T>(path: string, body: object, given?: string): Promise<T | undefined> => {
  const headers = { 'content-type': 'application/json', ...withSession(given) }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  const answer = await fetch(path, { ...init, cache: 'no-store', credentials: 'omit' }).catch(() => undefined)
  return answer?.ok === true ? ((await answer.json().catch(() => undefined)) as T | undefined) : undefined
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
  const asked = await post<Challenge>('/sessions/challenge', { id, nonce })
  if (typeof asked?.nonce !== 'string' || typeof asked.proof !== 'string') return undefined
  if (!(await crypto.subtle.verify(hmac, key, bytesOf(asked.proof), signedBy('engine', asked.nonce, nonce))))
    return undefined
  const proof = textOf(new Uint8Array(await crypto.subtle.sign(hmac, key, signedBy('page', asked.nonce, nonce))))
  return (await post<SessionView>('/sessions/resume', { id, nonce, proof }))?.token
}

const findSession = async (refused: string | undefined): Promise<string | undefined> => {
  const other = stored()
  if (other !== undefined && other !== refused) return adopt(other)
  const next = await proveLogin().catch(() => undefined) // what is no proof at all is none
  if (next !== undefined) return adopt(next)
  // Another tab may have found one meanwhile.
  if (stored() === refused) forgetStored()
  return undefined
}

let finding: Promise<string | undefined> | undefined

/** Another session than the one that was refused: of another tab, or of the next engine. One search at a time. */
export const renewSession = (refused: string | undefined): Promise<string | undefined> => {
  if (token !== undefined && token !== refused) return Promise.resolve(token)
  finding ??= findSession(refused).finally(() => (finding = undefined))
  return finding
}

/** The code of a login address stands behind the `#`, which no browser sends. It is taken out of the address at once. */
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

/** Logs in by the address, now and whenever it is changed to another login; else goes on with the session of this browser. */
export const beginSession = async (): Promise<void> => {
  window.addEventListener('hashchange', () => {
    const code = takeCode()
    if (code !== undefined) void logIn(code)
  })
  const code = takeCode()
  if (code !== undefined) await logIn(code)
  const given = session()
  if (login === undefined && given !== undefined) await keepKey(given)
}
