/** docs/api.md: the routes of the API, from the table that serves them. */
import { z } from 'zod'
import { errorTable } from '../src/errors.ts'
import { commonErrors, errorsOf, routes, type Route } from '../src/api/routes.ts'
import { code, generatedPage, grouped, item, plain, wrap } from './markdown.ts'

const fieldsOf = (schema: z.ZodType): string => {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input' })
  return Object.keys(properties)
    .map((name) => code(required.includes(name) ? name : `${name}?`))
    .join(', ')
}

const responseOf = (route: Route): string =>
  `${route.status}${route.answer === null ? ', a page' : ''}${route.paged ? ', paged' : ''}`

const routeItem = (route: Route): string => {
  const errors = errorsOf(route).filter((error) => !(commonErrors as readonly string[]).includes(error))
  const parts = [
    ['query', fieldsOf(route.query)],
    ['body', route.body === null ? '' : fieldsOf(route.body)],
    ['response', responseOf(route)],
    ['errors', errors.map(code).join(', ')],
  ]
  return [
    item(`${code(`${route.method} ${route.path}`)}: ${plain(route.summary)}`),
    ...parts.flatMap(([name, value]) => (value === '' ? [] : item(`${name}: ${value}`, 1))),
  ].join('\n')
}

const firstPart = ({ path }: Route): string => path.split('/')[1] ?? ''

/** Routes by the first part of their path; the single ones have a heading together. */
const routeSections = (): string[] => {
  const all = Object.values<Route>(routes)
  const sizes = Map.groupBy(all, firstPart)
  const isSingle = (route: Route): boolean => sizes.get(firstPart(route))?.length === 1
  const sorted = all.toSorted((one, other) => Number(isSingle(one)) - Number(isSingle(other)))
  return grouped(sorted, (route) => (isSingle(route) ? 'single routes' : firstPart(route)), routeItem)
}

const statusOf = (error: keyof typeof errorTable): string => `${code(error)} (${errorTable[error].status})`

/** A heading stays on its own line. */
const wrapped = (section: string): string =>
  section
    .split('\n\n')
    .map((part) => wrap(part))
    .join('\n\n')

const sections = [
  'From the table in `src/api/routes.ts`, which also validates requests and generates `GET /openapi.json` (OpenAPI 3.1, with all schemas). The address is in `engine.json` of the state folder. The engine listens on loopback only.',
  `## Who may call

Programs send \`Authorization: Bearer <token>\`; the token is in the file \`token\` of the state folder, which only its owner can read. A browser logs in with a URL from \`unstuck up\` or \`unstuck login-url\`. Its code works once, within ten minutes, and follows the \`#\`, so the browser sends it only in the body of \`POST /sessions\`. The response contains a session, which is sent like the token and ends with the engine or after twelve hours. What only a person may do is served over the Unix socket that \`engine.json\` names (\`curl --unix-socket\`), or with a session; the token alone gets \`NOT_PROVED\` (see SECURITY.md). There are no cookies. A page that stays open survives a restart: it requests the engine's proof (\`POST /sessions/challenge\`) and sends its own (\`POST /sessions/resume\`). Both are HMAC-SHA256 with the key of \`POST /sessions/key\` over the lines \`unstuck\`, \`engine\` or \`page\`, the port, the nonce of the engine, and the nonce of the page. The dashboard's files are served to every caller on this machine; they contain nothing of the repository. Host and Origin must be those of the engine.`,
  `## Errors

An error is \`{"error": {"code", "message"}}\` with the status of \`docs/errors.md\`. Every route may respond with ${commonErrors.map(statusOf).join(', ')}. A known path with another method gives ${statusOf('METHOD_NOT_ALLOWED')} with \`Allow\`, an unknown path ${statusOf('NOT_FOUND')}. A refused request changes nothing. Bodies are JSON (\`Content-Type: application/json\`) of at most 4 MiB.`,
  `## Pages

Lists begin with the oldest row. \`limit\` sets the size of a page, and \`after\` is the id of the last row you have. If there are more rows, the header \`Link\` names the next page with \`rel="next"\`. Pages neither repeat nor skip a row when rows are added in between.`,
  `## The stream of events

\`GET /events\` with \`Accept: text/event-stream\` sends every event of its filter once and in order: first the events after \`Last-Event-ID\` (or \`after\`), then each new event. \`id\` is the number of the event and \`data\` the event as JSON; comment lines keep the connection alive. The engine disconnects a client that reads too slowly. After that, or after a restart of the engine, a client reconnects with \`Last-Event-ID\` and neither misses nor repeats an event.`,
]

export const apiPage = (): string =>
  generatedPage('The API', [...sections.map(wrapped), '## Routes', ...routeSections()].join('\n\n'))
