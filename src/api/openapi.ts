/** The OpenAPI 3.1 document, generated from the table of routes. The JSON Schema of zod is valid OpenAPI 3.1 as it is. */
import { z } from 'zod'
import { errorTable } from '../errors.ts'
import * as entities from './responses/entities.ts'
import * as grants from './responses/grants.ts'
import { requeue } from './responses/requeue.ts'
import * as outcomes from './responses/outcomes.ts'
import * as views from './responses/views.ts'
import { errorsOf, mayBeAbsent, routes, type Route } from './routes.ts'

type Json = Record<string, unknown>

const names: Record<string, z.ZodType> = {
  Goal: entities.goalSchema,
  GoalView: views.goalViewSchema,
  Task: entities.taskSchema,
  TaskView: views.taskView,
  Run: entities.runSchema,
  Agent: entities.agent,
  Escalation: entities.escalation,
  Recovery: entities.recovery,
  Requeue: requeue,
  Event: entities.eventSchema,
  Grant: grants.grantSchema,
  LearnedPath: grants.learnedPath,
  Failure: outcomes.failure,
}

const refOf = (name: string): string => `#/components/schemas/${name}`

const bare = ({ $schema: _schema, $id: _id, ...rest }: Json): Json => rest

/** The format `date-time` suffices; the pattern that zod adds is half a page long. */
const shorten = ({ jsonSchema }: { jsonSchema: object }): void => {
  if ('format' in jsonSchema && jsonSchema.format === 'date-time') delete (jsonSchema as Json).pattern
}

/** Each named schema appears once, under components. */
const converter = () => {
  const registry = z.registry<{ id: string }>()
  for (const [name, schema] of Object.entries(names)) registry.add(schema, { id: name })
  const { schemas } = z.toJSONSchema(registry, { uri: refOf, override: shorten })
  const nameOf = (schema: z.ZodType): string | undefined =>
    Object.keys(names).find((candidate) => names[candidate] === schema)
  const plain = (schema: z.ZodType, io: 'input' | 'output'): Json => {
    const name = nameOf(schema)
    if (name !== undefined) return { $ref: refOf(name) }
    if (schema instanceof z.ZodArray) return { type: 'array', items: plain(schema.element as z.ZodType, io) }
    return bare(z.toJSONSchema(schema, { io, override: refer }))
  }
  /** Replaces named schemas inside others by references. */
  const refer = ({ zodSchema, jsonSchema }: { zodSchema: unknown; jsonSchema: object }): void => {
    shorten({ jsonSchema })
    const name = nameOf(zodSchema as z.ZodType)
    if (name === undefined) return
    for (const key of Object.keys(jsonSchema)) delete (jsonSchema as Json)[key]
    Object.assign(jsonSchema, { $ref: refOf(name) })
  }
  const components = Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, bare(schema as Json)]))
  return { plain, components }
}

const pathParameter = { name: 'id', in: 'path', required: true, schema: { type: 'string' } }

const parametersOf = (route: Route): Json[] => {
  const schema = z.toJSONSchema(route.query, { io: 'input', override: shorten }) as {
    properties?: Json
    required?: string[]
  }
  const fromQuery = Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    name,
    in: 'query',
    required: schema.required?.includes(name) ?? false,
    schema: property,
  }))
  return [...(route.path.includes(':id') ? [pathParameter] : []), ...fromQuery]
}

const json = (schema: Json): Json => ({ 'application/json': { schema } })

const errorResponses = (route: Route): Json => {
  const byStatus = Map.groupBy(errorsOf(route), (code) => errorTable[code].status)
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: codes.map((code) => `${code}: ${errorTable[code].title}`).join('\n'),
        content: json({ $ref: refOf('Failure') }),
      },
    ]),
  )
}

const eventStream = {
  'text/event-stream': {
    schema: { type: 'string', description: 'One message per event: `id` is its number, `data` an Event as JSON.' },
  },
}

const prometheus = {
  'text/plain': { schema: { type: 'string', description: 'The text format of Prometheus, unless JSON is accepted.' } },
}

/** What a route serves besides JSON. */
const otherContents: Record<string, Json> = { '/events': eventStream, '/metrics': prometheus }

const responseOf = (route: Route, plain: (schema: z.ZodType, io: 'input' | 'output') => Json): Json => {
  if (route.path.startsWith('/assets/'))
    return { description: route.summary, content: { '*/*': { schema: { type: 'string' } } } }
  if (route.answer === null) return { description: 'A page', content: { 'text/html': { schema: { type: 'string' } } } }
  return {
    description: route.summary,
    ...(route.paged ? { headers: { Link: linkHeader } } : {}),
    content: { ...json(plain(route.answer, 'output')), ...otherContents[route.path] },
  }
}

const linkHeader = {
  description: 'With rel="next": the address of the next page; absent on the last one.',
  schema: { type: 'string' },
}

const operationOf = (name: string, route: Route, plain: ReturnType<typeof converter>['plain']): Json => ({
  operationId: name,
  summary: route.summary,
  parameters: parametersOf(route),
  ...(route.body === null
    ? {}
    : { requestBody: { required: !mayBeAbsent(route.body), content: json(plain(route.body, 'input')) } }),
  responses: { [route.status]: responseOf(route, plain), ...errorResponses(route) },
  ...(route.access === 'owner' ? {} : { security: route.access === 'open' ? [] : [{ run: [] }] }),
})

export const openapiPath = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}')

export const openapiDocument = (version: string): Json => {
  const { plain, components } = converter()
  const paths: Record<string, Json> = {}
  for (const [name, route] of Object.entries<Route>(routes)) {
    const path = (paths[openapiPath(route.path)] ??= {})
    path[route.method.toLowerCase()] = operationOf(name, route, plain)
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Unstuck', version, description: 'The loopback API of one engine. See docs/api.md.' },
    security: [{ token: [] }],
    paths,
    components: {
      schemas: components,
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'The file "token" of the state folder, or the token of a session, which ends with the engine.',
        },
        run: {
          type: 'http',
          scheme: 'bearer',
          description: 'The token of one run, which only its agent gets, as UNSTUCK_RUN_TOKEN. It ends with the run.',
        },
      },
    },
  }
}
