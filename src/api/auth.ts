/**
 * Who may call: only this machine, only under our own name, only with the owner's token or a session that a login began.
 * The Host and Origin checks keep web pages out that made the user's browser resolve their name to this address; a
 * session counts for requests of our own pages only, since a browser sends its cookie to every port of this address.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Context, MiddlewareHandler } from 'hono'
import { getCookie } from 'hono/cookie'
import { AppError } from '../errors.ts'

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Compared as digests of equal length, so that the time says nothing about the token. */
const sameToken = (given: string, wanted: string): boolean => timingSafeEqual(digest(given), digest(wanted))

const localNames = ['127.0.0.1', 'localhost', '[::1]']

const isLocal = (authority: string, port: number): boolean => localNames.some((name) => authority === `${name}:${port}`)

const isLocalOrigin = (origin: string, port: number): boolean =>
  localNames.some((name) => origin === `http://${name}:${port}`)

export interface GuardParts {
  token: string
  port: () => number
  /** Name of the session cookie: another one for every repository, because all ports of an address share their cookies. */
  cookie: string
  holdsSession: (session: string) => boolean
  /** Served to everybody who calls us by our name. */
  isOpen: (method: string, path: string) => boolean
}

const checkAddress = (context: Context, port: number): void => {
  const host = context.req.header('host') ?? ''
  if (!isLocal(host, port))
    throw new AppError(
      'FORBIDDEN_ORIGIN',
      `the Host "${host.slice(0, 100)}" is not this engine; call it by the address in engine.json`,
    )
  const origin = context.req.header('origin')
  if (origin !== undefined && !isLocalOrigin(origin, port)) {
    throw new AppError('FORBIDDEN_ORIGIN', `the Origin "${origin.slice(0, 100)}" may not call this engine`)
  }
}

/** A page of another port is the same site for a browser, so SameSite alone would let it through. */
const checkOwnPage = (context: Context): void => {
  const site = context.req.header('sec-fetch-site')
  const origin = context.req.header('origin')
  const own = `http://${context.req.header('host')}`
  const reads = context.req.method === 'GET' || context.req.method === 'HEAD'
  const allowed = reads
    ? (site === undefined || site === 'same-origin' || site === 'none') && (origin === undefined || origin === own)
    : origin === own && (site === undefined || site === 'same-origin')
  if (!allowed)
    throw new AppError('FORBIDDEN_ORIGIN', 'a session counts only for requests of the pages that this engine serves')
}

export const guard =
  (parts: GuardParts): MiddlewareHandler =>
  async (context, next) => {
    checkAddress(context, parts.port())
    if (parts.isOpen(context.req.method, context.req.path)) return next()
    const header = context.req.header('authorization')
    const session = header === undefined ? getCookie(context, parts.cookie) : undefined
    if (session !== undefined && parts.holdsSession(session)) {
      checkOwnPage(context)
      return next()
    }
    if (!sameToken(/^Bearer (\S+)$/.exec(header ?? '')?.[1] ?? '', parts.token)) {
      throw new AppError(
        'UNAUTHORISED',
        session === undefined
          ? 'the bearer token is missing or wrong; it is in the file "token" of the state folder'
          : 'the session has ended; "unstuck login-url" gives a new login',
      )
    }
    return next()
  }
