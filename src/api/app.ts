/**
 * The loopback API over HTTP. It serves only the table of routes: each request is checked against its route, and each error
 * has a code of the error table. Every change goes through the flow tables.
 */
import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import type { HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { Hono, type Context as HonoContext } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { z } from 'zod'
import { AppError, errorTable, messageOf } from '../errors.ts'
import type { SocketPeer } from '../platform/socket-peer.ts'
import { getRun } from '../store/run.ts'
import { answerByLink, showAnswerPage } from './answer-pages.ts'
import { bearerOf, callerOf, guard } from './auth.ts'
import * as contract from './contract.ts'
import type { Dashboard } from './dashboard.ts'
import type { EventHub } from './event-hub.ts'
import { checkFilter, handlersOf, type HandlerParts } from './handlers.ts'
import type { StreamLimits } from './limits.ts'
import { openapiDocument } from './openapi.ts'
import { createPersonOnly, hasLiveRuns, reportTo, type Door, type PersonOnly } from './person-only.ts'
import { buildingPage, contentPolicy, failedPage, missingPage, refusedPage } from './html-pages.ts'
import { parse } from './parse.ts'
import { mayBeAbsent, routes, type Route } from './routes.ts'
import { prometheusText } from './prometheus.ts'
import type { RunTokens } from './run-token.ts'
import { sinkOf, type SinkLimits } from './sink.ts'

export interface AppParts extends Omit<HandlerParts, 'login'> {
  token: string
  /** Absent = no agent can use the tools of its run here. */
  runTokens?: RunTokens
  hub: EventHub
  /** The names by which it is called, without the port. The first one stands in addresses. */
  names: readonly string[]
  streams: StreamLimits
  dashboard: Dashboard
  sinkLimits: SinkLimits
  allowHiddenCallers: boolean
  /** The path of the Unix socket; undefined = there is none. */
  socket: string | undefined
  /** The process that opened a connection over it; undefined for one over TCP. */
  peerOf: (socket: Socket) => SocketPeer | undefined
  /** Whether a run is in progress in any repository of this process; absent = it serves only this one. */
  runsLive?: () => Promise<boolean>
}

export interface Env {
  Bindings: HttpBindings
}
type Http = HonoContext<Env>

const maxBody = 4 * 1024 * 1024

/** A form on a foreign page cannot send this type without a preflight, which is refused. */
const checkMediaType = (c: Http): void => {
  const type = c.req.header('content-type')
  if (type === undefined || !/^application\/json\s*(;|$)/i.test(type))
    throw new AppError(
      'MEDIA_TYPE',
      `the Content-Type is ${type === undefined ? 'missing' : JSON.stringify(type.slice(0, 100))}; send application/json`,
    )
}

const bodyOf = async (c: Http, schema: z.ZodType | null): Promise<unknown> => {
  const bare = c.req.header('content-type') === undefined && (c.req.header('content-length') ?? '0') === '0'
  if (bare && mayBeAbsent(schema)) return schema?.parse(undefined)
  checkMediaType(c)
  if (schema === null) return undefined
  let value: unknown
  try {
    value = await c.req.json()
  } catch (error) {
    if (error instanceof AppError) throw error
    throw new AppError('INPUT_INVALID', `the request body is not JSON: ${messageOf(error).slice(0, 200)}`)
  }
  return parse(schema, value, 'request body')
}

/** The last row of this page is the cursor of the next one. */
const linkNext = (c: Http, result: unknown, limit: unknown): void => {
  const rows = result as { id: string | number }[]
  const last = rows.at(-1)
  if (last === undefined || rows.length !== limit) return
  const next = new URLSearchParams({ ...c.req.query(), limit: String(limit), after: String(last.id) })
  c.header('link', `<${c.req.path}?${next.toString()}>; rel="next"`)
}

const wantsStream = (c: Http): boolean =>
  c.req.method !== 'HEAD' && /\btext\/event-stream\b/.test(c.req.header('accept') ?? '')

/** Gives the response to the hub, which writes to it until either side closes the connection. */
const streamEvents = async (c: Http, parts: AppParts): Promise<Response> => {
  const { context, hub, sinkLimits } = parts
  const query = parse(contract.eventsQuery, c.req.query(), 'query')
  const lastId = c.req.header('last-event-id')
  const after = lastId === undefined ? query.after : parse(contract.eventsQuery.shape.after, lastId, 'Last-Event-ID')
  await checkFilter(context, query)
  const giveBack = parts.streams.take(
    callerOf(bearerOf(c), { token: parts.token, loginOf: parts.logins.loginOf }) ?? '',
  )
  const { outgoing } = c.env
  outgoing.once('close', giveBack)
  outgoing.writeHead(200, {
    ...responseHeaders,
    'content-type': 'text/event-stream; charset=utf-8',
    'content-security-policy': contentPolicy('data'),
    // An idle kept-alive connection would delay the stop of the engine.
    connection: 'close',
  })
  outgoing.write('retry: 1000\n\n')
  const { goal: goalId = null, task: taskId = null, run: runId = null } = query
  hub.follow(sinkOf(outgoing, sinkLimits), { after, goalId, taskId, runId })
  return RESPONSE_ALREADY_SENT
}

/** A client that wants the counts as JSON says so; a scraper, and a person with curl, get the text format. */
const wantsJson = (c: Http): boolean => /\bapplication\/json\b/.test(c.req.header('accept') ?? '')

const scrape = async (c: Http, { context }: AppParts): Promise<Response> => {
  parse(contract.noQuery, c.req.query(), 'query')
  const { type, text } = await prometheusText(context.db)
  return c.body(text, 200, { 'content-type': type })
}

const responseHeaders = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
}

const page = (c: Http, html: string, status: 401 | 404 | 500): Response => {
  c.header('content-security-policy', contentPolicy('page'))
  return c.html(html, status)
}

const home = async (c: Http, { context, dashboard }: AppParts): Promise<Response> => {
  const found = await dashboard.locate()
  if (found.state === 'building') {
    c.header('content-security-policy', contentPolicy('building'))
    return c.html(buildingPage())
  }
  // The page is open to every local user, so the reason goes only to the log of the owner.
  if (found.state === 'failed') {
    context.log.error({ reason: found.reason }, 'the dashboard could not be built')
    return page(c, failedPage(), 500)
  }
  c.header('content-security-policy', contentPolicy('app'))
  return c.html(await readFile(join(found.dir, 'index.html'), 'utf8'))
}

/** The name of an asset contains the hash of its content, so browsers may cache it for ever. */
const asset = async (c: Http, { dashboard }: AppParts): Promise<Response> => {
  const name = c.req.param('id') ?? ''
  const found = await dashboard.asset(name)
  if (found === undefined)
    throw new AppError('NOT_FOUND', `the dashboard has no file ${name.slice(0, 100)}; reload the page`)
  c.header('cache-control', 'private, max-age=31536000, immutable')
  c.header('content-type', found.type)
  return c.body(found.bytes)
}

const wantsPage = (c: Http): boolean => /\btext\/html\b/.test(c.req.header('accept') ?? '')

/** While the store is being closed, every unexpected error of a request has that cause. */
const withStopping = ({ context }: AppParts, error: unknown): unknown =>
  context.stopping.aborted && !(error instanceof AppError)
    ? new AppError('ENGINE_UNAVAILABLE', 'the engine is stopping; start it again with "unstuck up"')
    : error

const errorResponse = (c: Http, parts: AppParts, thrown: unknown): Response => {
  const { context } = parts
  const error = withStopping(parts, thrown)
  if (!(error instanceof AppError)) {
    context.log.error({ error: error instanceof Error ? error.stack : String(error) }, 'a request failed unexpectedly')
    const message = `unexpected error: ${messageOf(error)}; details are in engine.log of the state folder`
    return c.json({ error: { code: 'INTERNAL', message } }, 500)
  }
  const { code, message } = error
  const { status } = errorTable[code]
  if (status === 401) c.header('www-authenticate', 'Bearer')
  if (status === 401 && wantsPage(c)) return page(c, refusedPage(code, message), 401)
  return c.json({ error: { code, message } }, status as 400)
}

const wrongMethod = (c: Http, allowed: readonly string[]): Response => {
  c.header('allow', allowed.join(', '))
  const message = `there is no ${c.req.method} ${c.req.path}; allowed: ${allowed.join(', ')}`
  return c.json({ error: { code: 'METHOD_NOT_ALLOWED', message } }, 405)
}

/** None for a request that was made within this process. */
export const doorOf = (c: HonoContext<Env>, peerOf: AppParts['peerOf']): Door | undefined => {
  const socket = (c.env as Partial<HttpBindings> | undefined)?.incoming?.socket
  const peer = socket && peerOf(socket)
  if (peer !== undefined) return { peer }
  const { localAddress, localPort, remoteAddress, remotePort } = socket ?? {}
  if (localAddress === undefined || localPort === undefined) return undefined
  // A connection that the caller has reset has no remote end any more.
  return {
    ours: { address: localAddress, port: localPort },
    theirs: { address: remoteAddress ?? '0.0.0.0', port: remotePort ?? 0 },
  }
}

type Respond = (c: Http) => Promise<Response> | Response

const respondersOf = (parts: AppParts, personOnly: PersonOnly): Record<keyof typeof routes, Respond> => {
  const address = (code: string): string => `http://${parts.names[0]}:${parts.port()}/#login=${code}`
  const newLogin = (): { url: string; expiresAt: string } => {
    const { code, expiresAt } = parts.logins.issue()
    return { url: address(code), expiresAt: expiresAt.toISOString() }
  }
  const handlers = handlersOf({ ...parts, login: newLogin })
  const plain = Object.entries(handlers).map(([name, handle]): [string, Respond] => {
    const route: Route = routes[name as keyof typeof handlers]
    return [
      name,
      async (c) => {
        const query = parse(route.query, c.req.query(), 'query')
        const body = route.method === 'GET' ? undefined : await bodyOf(c, route.body)
        const result = await handle({ id: c.req.param('id') ?? '', query, body, bearer: bearerOf(c) } as never)
        if (route.paged) linkNext(c, result, query.limit)
        return c.json(result as object, route.status as 200)
      },
    ]
  })
  const json = Object.fromEntries(plain) as Record<keyof typeof handlers, Respond>
  return {
    ...json,
    listEvents: (c) => (wantsStream(c) ? streamEvents(c, parts) : json.listEvents(c)),
    metrics: (c) => (wantsJson(c) ? json.metrics(c) : scrape(c, parts)),
    home: (c) => home(c, parts),
    asset: (c) => asset(c, parts),
    showAnswer: (c) => showAnswerPage(c, parts.context),
    answerByLink: (c) => answerByLink(c, parts.context, parts.engine.cancelRunning),
    openapi: (c) => c.json(openapiDocument(parts.version)),
    reportRefusal: async (c) => {
      const { action } = (await bodyOf(c, contract.refusalRequest)) as z.output<typeof contract.refusalRequest>
      await personOnly.report(action, doorOf(c, parts.peerOf))
      return c.json({})
    },
  }
}

/** Every route of the table; other methods of a known path get 405 with the allowed ones. */
const addRoutes = (app: Hono<Env>, parts: AppParts): void => {
  const { context, socket, allowHiddenCallers, logins, peerOf, runsLive = () => hasLiveRuns(context) } = parts
  const personOnly = createPersonOnly({ socket, allowHiddenCallers, runsLive, report: reportTo(context) })
  const respond = respondersOf(parts, personOnly)
  const all = Object.entries<Route>(routes)
  for (const [name, { method, path, caller, access }] of all)
    app.on(method, path, async (c) => {
      if (caller === 'person')
        await personOnly.check({
          ...{ action: `${method} ${path}`, door: doorOf(c, peerOf) },
          ...{ isOpen: access === 'open', isSession: logins.loginOf(bearerOf(c)) !== undefined },
          // Sessions come from login codes, so one session must not become another that outlives it.
          needsSocket: path === routes.createLogin.path,
        })
      // A person who has just edited a file expects the next command to know it.
      if (method !== 'GET') await parts.context.refreshSettings?.()
      return respond[name as keyof typeof routes](c)
    })
  for (const [path, group] of Map.groupBy(all, ([, route]) => route.path)) {
    const methods = group.map(([, { method }]) => method)
    const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    app.all(path, (c) => wrongMethod(c, allowed))
  }
}

const openRoutes = Object.values<Route>(routes)
  .filter(({ access }) => access === 'open')
  .map(({ method, path }) => ({ method, path: new RegExp(`^${path.replace(':id', '[^/]+')}$`) }))

const isOpen = (method: string, path: string): boolean =>
  openRoutes.some((route) => route.method === (method === 'HEAD' ? 'GET' : method) && route.path.test(path))

const runRoutes = Object.values<Route>(routes)
  .filter(({ access }) => access === 'run')
  .map(({ method, path }) => ({ method, path: new RegExp(`^${path.replace(':id', '([^/]+)')}$`) }))

const runOfRoute = (method: string, path: string): string | undefined =>
  runRoutes
    .filter((route) => route.method === (method === 'HEAD' ? 'GET' : method))
    .map((route) => route.path.exec(path)?.[1])
    .find((id) => id !== undefined)

const isRunning =
  ({ context }: AppParts) =>
  async ({ id, epoch }: { id: string; epoch: number }): Promise<boolean> => {
    const run = await getRun(context.db, id)
    return run?.state === 'running' && run.epoch === epoch
  }

export const createApp = (parts: AppParts): Hono<Env> => {
  const app = new Hono<Env>()
  app.use('*', async (c, next) => {
    for (const [name, value] of Object.entries(responseHeaders)) c.header(name, value)
    c.header('content-security-policy', contentPolicy('data'))
    // A page that polls would otherwise keep its connection to this engine and never reach the next one at the same port.
    if (parts.context.stopping.aborted) c.header('connection', 'close')
    await next()
  })
  const { token, names, port, logins } = parts
  const ofRuns = { runOfRoute, runTokens: parts.runTokens, isRunning: isRunning(parts) }
  app.use(
    '*',
    guard({
      ...{ token, names, port, publicUrl: parts.context.answerLinks?.publicUrl },
      ...{ loginOf: logins.loginOf, isOpen, ...ofRuns },
    }),
  )
  app.use('*', async (c, next) => {
    // PostgreSQL cannot store NUL, so no id and no filter can contain one.
    if (/%00/.test(c.req.url)) throw new AppError('INPUT_INVALID', 'the address contains a NUL byte; remove it')
    await next()
  })
  app.use(
    '*',
    bodyLimit({
      maxSize: maxBody,
      onError: () => {
        throw new AppError('BODY_TOO_LARGE', `the request body is larger than ${maxBody} bytes`)
      },
    }),
  )
  addRoutes(app, parts)
  app.notFound((c) => {
    if (c.req.method === 'GET' && wantsPage(c)) return page(c, missingPage(c.req.path.slice(0, 200)), 404)
    return c.json({ error: { code: 'NOT_FOUND', message: `there is no ${c.req.method} ${c.req.path}` } }, 404)
  })
  app.onError((error, c) => errorResponse(c, parts, error))
  return app
}
