/**
 * Who may call: only this machine, only under our own name, only with the owner's token or a session that a login began.
 * The Host and Origin checks keep web pages out that made the user's browser resolve their name to this address. There is
 * no cookie: a browser would send it to every port of this address, and to whatever program has our port after us.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Context, MiddlewareHandler } from 'hono'
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
  /** The login to which a session belongs. */
  loginOf: (session: string) => string | undefined
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

/** The secret that a request brings with it. */
export const bearerOf = (context: Context): string =>
  /^Bearer (\S+)$/.exec(context.req.header('authorization') ?? '')?.[1] ?? ''

/** Whom a request counts for: the owner's programs, or one login of a browser. */
export const callerOf = (
  given: string,
  { token, loginOf }: Pick<GuardParts, 'token' | 'loginOf'>,
): string | undefined => (sameToken(given, token) ? 'owner' : loginOf(given))

export const guard =
  (parts: GuardParts): MiddlewareHandler =>
  async (context, next) => {
    checkAddress(context, parts.port())
    if (parts.isOpen(context.req.method, context.req.path)) return next()
    if (callerOf(bearerOf(context), parts) === undefined)
      throw new AppError(
        'UNAUTHORISED',
        'the token is missing or wrong, or the session has ended; the token is in the file "token" of the state folder, "unstuck login-url" gives a new login',
      )
    return next()
  }
