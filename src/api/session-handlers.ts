/** Handlers for the login of a page, and for its renewal after a restart of the engine. */
import { AppError } from '../errors.ts'
import type { HandlerCall } from './call.ts'
import type { Logins } from './logins.ts'

const known = <T>(found: T | undefined, message: string): T => {
  if (found === undefined) throw new AppError('UNAUTHORISED', `${message}; "unstuck login-url" gives a new one`)
  return found
}

const unknownLogin = 'this engine does not know the login of this page, or it has ended'

export const sessionHandlers = (logins: Logins, port: () => number) => ({
  beginSession: async ({ body }: HandlerCall<'beginSession'>) =>
    known(logins.redeem(body.code), 'the login code is unknown, used or expired'),
  challenge: async ({ body }: HandlerCall<'challenge'>) =>
    known(logins.challenge({ ...body, port: port() }), unknownLogin),
  resumeSession: async ({ body }: HandlerCall<'resumeSession'>) =>
    known(logins.resume({ ...body, port: port() }), unknownLogin),
  sessionKey: async ({ bearer }: HandlerCall<'sessionKey'>) =>
    known(logins.keyOf(bearer), 'only the session of a browser has a key'),
})
