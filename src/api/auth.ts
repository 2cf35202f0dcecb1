/**
 * Who may call: only this machine, only by a local name, and only with the token of the owner or the session of a login. The
 * Host and Origin checks stop web pages that rebind their DNS name to this address. There is no cookie, because a browser
 * would send it to every port of this address, also to a program that takes this port later.
 */
import type { Context, MiddlewareHandler } from 'hono'
import { AppError } from '../errors.ts'
import { answerPath } from './answer-link.ts'
import { isRunToken, type RunTokens } from './run-token.ts'
import { sameSecret } from './same-secret.ts'

/** The names of an engine that has a port of its own. The first one stands in addresses. */
export const localNames: readonly string[] = ['127.0.0.1', 'localhost', '[::1]']

/** Who may use the tools of a run. */
export interface RunGuard {
  /** The run of whose tools this route is one; undefined = another route. */
  runOfRoute: (method: string, path: string) => string | undefined
  runTokens: RunTokens | undefined
  /** Whether this attempt is still running. */
  isRunning: (run: { id: string; epoch: number }) => Promise<boolean>
}

export interface GuardParts extends RunGuard {
  token: string
  /** The names by which it is called, without the port. */
  names: readonly string[]
  port: () => number
  /** The id of the login to which a session belongs; undefined for an unknown session. */
  loginOf: (session: string) => string | undefined
  /** Where a proxy of the owner is reached; absent = there is none. */
  publicUrl: URL | undefined
  /** Whether a route is served without a token. */
  isOpen: (method: string, path: string) => boolean
}

/** Of the public URL, only what the signed links need is served. */
const isPublicPath = (path: string): boolean => path.startsWith(answerPath)

const checkAddress = (context: Context, { names, port, publicUrl }: GuardParts): void => {
  const own = names.map((name) => `${name}:${port()}`)
  const open = isPublicPath(context.req.path) ? publicUrl : undefined
  const host = context.req.header('host') ?? ''
  if (!own.includes(host) && host.toLowerCase() !== open?.host)
    throw new AppError(
      'FORBIDDEN_ORIGIN',
      `the Host "${host.slice(0, 100)}" is not this engine; use the address in engine.json of the state folder`,
    )
  const origin = context.req.header('origin')
  if (origin !== undefined && !own.some((each) => origin === `http://${each}`) && origin !== open?.origin) {
    throw new AppError('FORBIDDEN_ORIGIN', `the Origin "${origin.slice(0, 100)}" may not call this engine`)
  }
}

/** The secret of a request; empty if there is none. */
export const bearerOf = (context: Context): string =>
  /^Bearer (\S+)$/.exec(context.req.header('authorization') ?? '')?.[1] ?? ''

/** `owner`, or the id of the login of a browser; undefined for an unknown secret. Limits are counted per caller. */
export const callerOf = (
  given: string,
  { token, loginOf }: Pick<GuardParts, 'token' | 'loginOf'>,
): string | undefined => (sameSecret(given, token) ? 'owner' : loginOf(given))

const refuse = (message: string): never => {
  throw new AppError('UNAUTHORISED', message)
}

/** Only the token of that run, and only while it runs: neither the owner nor a browser acts in the name of an agent. */
const checkRunToken = async (secret: string, wanted: string, { runTokens, isRunning }: RunGuard): Promise<void> => {
  const run = runTokens?.runOf(secret)
  if (run === undefined) return refuse(`this route requires the token of run ${wanted}, which only its agent has`)
  if (run.id !== wanted) return refuse(`this token belongs to run ${run.id}, not to run ${wanted}`)
  if (!(await isRunning(run))) refuse(`run ${run.id} has ended, so its token is no longer valid`)
}

export const guard =
  (parts: GuardParts): MiddlewareHandler =>
  async (context, next) => {
    checkAddress(context, parts)
    if (parts.isOpen(context.req.method, context.req.path)) return next()
    const secret = bearerOf(context)
    const run = parts.runOfRoute(context.req.method, context.req.path)
    if (run !== undefined) {
      await checkRunToken(secret, run, parts)
      return next()
    }
    if (isRunToken(secret))
      return refuse(
        'this is the token of a run, which allows only the tools of that run; this route requires the token of the owner',
      )
    if (callerOf(secret, parts) === undefined)
      throw new AppError(
        'UNAUTHORISED',
        'the token is missing or wrong, or the session has ended; programs find the token in the file "token" of the state folder, a browser logs in with "unstuck login-url"',
      )
    return next()
  }
