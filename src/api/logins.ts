/**
 * Browser logins. A one-time code is traded for a session, which pages send with each request. A session ends with this
 * process, so a program that takes the port of a stopped engine receives nothing of value. The login outlives the engine as a
 * key, which is stored here and in the memory of the page and is not sent again. With it an open page proves itself to the next
 * engine, after that engine has proved that it knows the key and listens on the port of the page.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { PersistedLogins, StoredLogin } from './persisted-logins.ts'
import { sameSecret } from './same-secret.ts'
import { defined } from '../domain/defined.ts'

const codeMs = 10 * 60_000
/** A page follows the address as soon as it has it. */
const moveMs = 60_000
const loginMs = 12 * 3_600_000
/** Above these limits the oldest is dropped, so that repeated requests cannot fill the memory. */
const most = 50
const mostSessions = 200

export interface LoginSession {
  token: string
  expiresAt: Date
}

interface LoginCode {
  code: string
  expiresAt: Date
}

export interface Logins {
  issue(): LoginCode
  /** A code for another page of the same login, whose session ends with it; undefined for an unknown session. */
  issueFor(token: string): LoginCode | undefined
  /** Uses a code and starts a session; undefined when the code is unknown, used or expired. */
  redeem(code: string): LoginSession | undefined
  /** The id of the login to which a session belongs; undefined for an unknown session. */
  loginOf(token: string): string | undefined
  /** The key with which a page proves its login to the next engine; undefined for an unknown session. */
  keyOf(token: string): { id: string; key: string } | undefined
  /** Proves to a page at this port that this engine knows the key of its login; undefined for an unknown login. */
  challenge(asked: { id: string; nonce: string; port: number }): { nonce: string; proof: string } | undefined
  /** Starts a session for a page that proves its login; undefined for a wrong proof. */
  resume(given: { id: string; nonce: string; proof: string; port: number }): LoginSession | undefined
  /** Ends every session and login. */
  forget(): void
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()
const secret = (): string => randomBytes(32).toString('base64url')

interface Entry {
  digest: Buffer
  until: number
}

/** Compares the digest with every entry in constant time, so that timing reveals nothing about any of them. */
const find = <T extends Entry>(all: readonly T[], given: string): T | undefined => {
  const digest = digestOf(given)
  let found: T | undefined
  for (const entry of all) if (timingSafeEqual(entry.digest, digest)) found = entry
  return found
}

interface OpenSession extends Entry {
  loginId: string
}

/**
 * What both sides sign. The port prevents a program at another port from relaying the challenge; the role prevents the proof of
 * one side from being replayed as the proof of the other.
 */
const proofOf = (key: string, parts: { role: 'engine' | 'page'; port: number; engine: string; page: string }): string =>
  createHmac('sha256', Buffer.from(key, 'base64url'))
    .update(['unstuck', parts.role, parts.port, parts.engine, parts.page].join('\n'))
    .digest('base64url')

type Kept = Pick<PersistedLogins, 'logins' | 'saveLogins'>

const createKeys = (now: () => Date, kept: Kept | undefined) => {
  let all: StoredLogin[] = kept?.logins() ?? []
  const living = (): StoredLogin[] => (all = all.filter(({ until }) => until > now().getTime()))
  const replace = (next: StoredLogin[]): void => {
    all = next
    kept?.saveLogins(all)
  }
  return {
    begin: (): StoredLogin => {
      const login = { id: secret(), key: secret(), until: now().getTime() + loginMs }
      replace([...living(), login].slice(-most))
      return login
    },
    named: (id: string): StoredLogin | undefined => living().find((login) => login.id === id),
    forget: (): void => replace([]),
  }
}

interface OpenCode extends Entry {
  /** The login that its session belongs to; absent = a new one. */
  loginId?: string
}

const createCodes = (now: () => Date) => {
  let all: OpenCode[] = []
  const living = (): OpenCode[] => (all = all.filter(({ until }) => until > now().getTime()))
  return {
    issue: (loginId?: string): LoginCode => {
      const code = secret()
      const until = now().getTime() + (loginId === undefined ? codeMs : moveMs)
      const entry = { digest: digestOf(code), until, ...defined({ loginId }) }
      all = [...living(), entry].slice(-most)
      return { code, expiresAt: new Date(until) }
    },
    take: (given: string): OpenCode | undefined => {
      const found = find(living(), given)
      all = all.filter((entry) => entry !== found)
      return found
    },
  }
}

/** Only in the memory of this process, so they end with the engine. */
const createSessions = (now: () => Date) => {
  let all: OpenSession[] = []
  return {
    begin: ({ id, until }: StoredLogin): LoginSession => {
      const token = secret()
      all = [...all, { digest: digestOf(token), until, loginId: id }].slice(-mostSessions)
      return { token, expiresAt: new Date(until) }
    },
    holds: (token: string): string | undefined => {
      all = all.filter(({ until }) => until > now().getTime())
      return find(all, token)?.loginId
    },
    forget: (): void => void (all = []),
  }
}

export const createLogins = (now: () => Date, kept?: Kept): Logins => {
  const codes = createCodes(now)
  const keys = createKeys(now, kept)
  const sessions = createSessions(now)
  /** The nonce of this process: a proof made for another engine is not valid here. */
  const engine = secret()
  const loginOf = (token: string): StoredLogin | undefined => keys.named(sessions.holds(token) ?? '')
  return {
    issue: () => codes.issue(),
    issueFor: (token) => {
      const login = loginOf(token)
      return login && codes.issue(login.id)
    },
    redeem: (given) => {
      const code = codes.take(given)
      if (code === undefined) return undefined
      const login = code.loginId === undefined ? keys.begin() : keys.named(code.loginId)
      return login && sessions.begin(login)
    },
    loginOf: (token) => loginOf(token)?.id,
    keyOf: (token) => {
      const login = loginOf(token)
      return login && { id: login.id, key: login.key }
    },
    challenge: ({ id, nonce, port }) => {
      const login = keys.named(id)
      return login && { nonce: engine, proof: proofOf(login.key, { role: 'engine', port, engine, page: nonce }) }
    },
    resume: ({ id, nonce, proof, port }) => {
      const login = keys.named(id)
      if (login === undefined) return undefined
      const wanted = proofOf(login.key, { role: 'page', port, engine, page: nonce })
      return sameSecret(proof, wanted) ? sessions.begin(login) : undefined
    },
    forget: () => {
      keys.forget()
      sessions.forget()
    },
  }
}
