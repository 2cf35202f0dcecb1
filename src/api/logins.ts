/**
 * Browser logins. A code that works once is traded for a session, which ends with this process: it is what a page sends,
 * so that a program that takes the port of an engine that ended sees only what is worth nothing. The login itself lives on
 * as a key that is kept here and in the memory of the page and never sent again: by it a page that stays open proves
 * itself to the next engine, after that engine has proved that it knows the key and is at the page's own port.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Keepsakes, StoredLogin } from './keepsakes.ts'

const codeMs = 10 * 60_000
const loginMs = 12 * 3_600_000
/** The oldest goes when there are more: whoever asks without end fills no memory. */
const most = 50
const mostSessions = 200

export interface Session {
  token: string
  expiresAt: Date
}

export interface Logins {
  issue(): { code: string; expiresAt: Date }
  /** Uses a code up and begins a session; undefined when the code is unknown, used or expired. */
  redeem(code: string): Session | undefined
  /** The id of the login to which a session belongs; undefined when there is no such session. */
  holds(token: string): string | undefined
  /** What a page keeps to take its login to the next engine. */
  keyOf(token: string): { id: string; key: string } | undefined
  /** Proves to a page at this port that this engine knows the key of its login. */
  challenge(asked: { id: string; nonce: string; port: number }): { nonce: string; proof: string } | undefined
  /** Begins a session for a page that proves the same. */
  resume(given: { id: string; nonce: string; proof: string; port: number }): Session | undefined
  /** Ends every session and login. */
  forget(): void
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()
const secret = (): string => randomBytes(32).toString('base64url')

interface Entry {
  digest: Buffer
  until: number
}

/** Compared with every entry, as digests of equal length, so that the time says nothing about any of them. */
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
 * What both sides sign. With the port, so that no program at another port can pass the question on; with the role, so that
 * an answer of one side is none of the other.
 */
const proofOf = (key: string, parts: { role: 'engine' | 'page'; port: number; engine: string; page: string }): string =>
  createHmac('sha256', Buffer.from(key, 'base64url'))
    .update(['unstuck', parts.role, parts.port, parts.engine, parts.page].join('\n'))
    .digest('base64url')

type Kept = Pick<Keepsakes, 'logins' | 'keepLogins'>

const createKeys = (now: () => Date, kept: Kept | undefined) => {
  let all: StoredLogin[] = kept?.logins() ?? []
  const living = (): StoredLogin[] => (all = all.filter(({ until }) => until > now().getTime()))
  const put = (next: StoredLogin[]): void => {
    all = next
    kept?.keepLogins(all)
  }
  return {
    begin: (): StoredLogin => {
      const login = { id: secret(), key: secret(), until: now().getTime() + loginMs }
      put([...living(), login].slice(-most))
      return login
    },
    named: (id: string): StoredLogin | undefined => living().find((login) => login.id === id),
    forget: (): void => put([]),
  }
}

const createCodes = (now: () => Date) => {
  let all: Entry[] = []
  const living = (): Entry[] => (all = all.filter(({ until }) => until > now().getTime()))
  return {
    issue: () => {
      const code = secret()
      const until = now().getTime() + codeMs
      all = [...living(), { digest: digestOf(code), until }].slice(-most)
      return { code, expiresAt: new Date(until) }
    },
    take: (given: string): boolean => {
      const found = find(living(), given)
      all = all.filter((entry) => entry !== found)
      return found !== undefined
    },
  }
}

/** Held in this process alone: not one of them is known to the next engine. */
const createSessions = (now: () => Date) => {
  let all: OpenSession[] = []
  return {
    begin: ({ id, until }: StoredLogin): Session => {
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
  /** Of this process: a proof that was made for another engine is none here. */
  const engine = secret()
  const loginOf = (token: string): StoredLogin | undefined => keys.named(sessions.holds(token) ?? '')
  return {
    issue: codes.issue,
    redeem: (code) => (codes.take(code) ? sessions.begin(keys.begin()) : undefined),
    holds: (token) => loginOf(token)?.id,
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
      return timingSafeEqual(digestOf(wanted), digestOf(proof)) ? sessions.begin(login) : undefined
    },
    forget: () => {
      keys.forget()
      sessions.forget()
    },
  }
}
