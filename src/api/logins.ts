/**
 * Browser logins: a code that works once and expires, traded for a session. Both are held as digests; codes end with the
 * engine and `unstuck login-url` gives the next one, sessions are kept for a restarted engine where there is a place to.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Keepsakes, StoredSession } from './keepsakes.ts'

const codeMs = 10 * 60_000
const sessionMs = 12 * 3_600_000
/** The oldest goes when there are more: whoever asks without end fills no memory. */
const most = 50

export interface Logins {
  issue(): { code: string; expiresAt: Date }
  /** Uses a code up and begins a session; undefined when the code is unknown, used or expired. */
  redeem(code: string): { session: string; seconds: number } | undefined
  holds(session: string): boolean
  /** Ends every session. */
  forget(): void
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()

interface Secret {
  digest: Buffer
  until: number
}

/** Compared with every entry, as digests of equal length, so that the time says nothing about any of them. */
const find = (all: readonly Secret[], given: string): Secret | undefined => {
  const digest = digestOf(given)
  let found: Secret | undefined
  for (const entry of all) if (timingSafeEqual(entry.digest, digest)) found = entry
  return found
}

/** Where secrets outlive the process, as digests. */
interface Kept {
  load(): StoredSession[]
  save(all: StoredSession[]): void
}

const inMemory: Kept = { load: () => [], save: () => undefined }

const createSecrets = (now: () => Date, lifeMs: number, kept: Kept = inMemory) => {
  let all: Secret[] = kept.load().map(({ digest, until }) => ({ digest: Buffer.from(digest, 'hex'), until }))
  const save = (): void => kept.save(all.map(({ digest, until }) => ({ digest: digest.toString('hex'), until })))
  const living = (): Secret[] => (all = all.filter(({ until }) => until > now().getTime()))
  return {
    issue: () => {
      const secret = randomBytes(32).toString('base64url')
      const until = now().getTime() + lifeMs
      all = [...living(), { digest: digestOf(secret), until }].slice(-most)
      save()
      return { secret, expiresAt: new Date(until) }
    },
    holds: (given: string): boolean => find(living(), given) !== undefined,
    take: (given: string): boolean => {
      const found = find(living(), given)
      all = all.filter((entry) => entry !== found)
      save()
      return found !== undefined
    },
    forget: (): void => {
      all = []
      save()
    },
  }
}

export const createLogins = (now: () => Date, keepsakes?: Pick<Keepsakes, 'sessions' | 'keepSessions'>): Logins => {
  const codes = createSecrets(now, codeMs)
  const kept = keepsakes === undefined ? inMemory : { load: keepsakes.sessions, save: keepsakes.keepSessions }
  const sessions = createSecrets(now, sessionMs, kept)
  return {
    issue: () => {
      const { secret, expiresAt } = codes.issue()
      return { code: secret, expiresAt }
    },
    redeem: (code) => (codes.take(code) ? { session: sessions.issue().secret, seconds: sessionMs / 1000 } : undefined),
    holds: sessions.holds,
    forget: sessions.forget,
  }
}
