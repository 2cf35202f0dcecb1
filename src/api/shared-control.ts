/**
 * What programs of the owner ask of the shared engine itself: which repositories it serves, to serve one more, and to stop. Everything about the
 * work of a repository is asked under the name of that repository (shared-router.ts).
 */
import type { HttpBindings } from '@hono/node-server'
import { Hono, type Context } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { z } from 'zod'
import { AppError, errorTable, messageOf } from '../errors.ts'
import type { Logger } from '../runtime/core/context.ts'
import { doorOf, type Env } from './app.ts'
import { guard, localNames } from './auth.ts'
import type { ApiListener } from './listen.ts'
import { parse } from './parse.ts'
import type { PersonOnly } from './person-only.ts'
import type { SharedRepository } from './shared-place.ts'

export interface ControlParts {
  listener: ApiListener
  token: string
  version: string
  log: Logger
  personOnly: PersonOnly
  list: () => SharedRepository[]
  /** Serves a repository of the list; resolves when it is served, or when it is known why it is not. */
  add: (id: string) => Promise<SharedRepository>
  shutdown: () => void
}

const addBody = z.strictObject({ id: z.string().max(300) })

const errorOf = (c: Context<Env>, log: Logger, error: unknown): Response => {
  if (!(error instanceof AppError)) log.error({ error: messageOf(error) }, 'a request failed unexpectedly')
  const { code, message } =
    error instanceof AppError ? error : { code: 'INTERNAL' as const, message: `unexpected error: ${messageOf(error)}` }
  return c.json({ error: { code, message } }, code === 'INTERNAL' ? 500 : (errorTable[code].status as 400))
}

export const createControl = (parts: ControlParts): Hono<{ Bindings: HttpBindings }> => {
  const { listener, token, version, log, personOnly, list, add, shutdown } = parts
  const app = new Hono<Env>()
  app.use('*', async (c, next) => {
    c.header('cache-control', 'no-store')
    c.header('x-content-type-options', 'nosniff')
    await next()
  })
  app.use(
    '*',
    guard({
      ...{ token, names: localNames, port: listener.port, publicUrl: undefined },
      // A session belongs to the pages of a repository; here only programs ask.
      ...{ loginOf: () => undefined, isOpen: () => false },
      ...{ runOfRoute: () => undefined, runTokens: undefined, isRunning: async () => false },
    }),
  )
  app.use('*', bodyLimit({ maxSize: 10_000 }))
  const byPerson = (c: Context<Env>): Promise<void> =>
    personOnly.check({
      ...{ action: `${c.req.method} ${c.req.path}`, door: doorOf(c, listener.peerOf) },
      ...{ isOpen: false, isSession: false, needsSocket: false },
    })
  app.get('/health', (c) => c.json({ ok: true, version, pid: process.pid, root: 'all repositories' }))
  app.get('/repositories', (c) => c.json(list()))
  app.post('/repositories', async (c) => {
    await byPerson(c)
    const { id } = parse(addBody, await c.req.json(), 'request body')
    return c.json(await add(id))
  })
  app.post('/shutdown', async (c) => {
    await byPerson(c)
    setImmediate(shutdown)
    return c.json({ stopping: true })
  })
  app.notFound((c) =>
    c.json({ error: { code: 'NOT_FOUND', message: `there is no ${c.req.method} ${c.req.path}` } }, 404),
  )
  app.onError((error, c) => errorOf(c, log, error))
  return app
}
