/** docs/api.md: the routes of the loopback API, from the same table that serves them. */
import { z } from 'zod'
import { errorTable } from '../src/errors.ts'
import { commonErrors, errorsOf, routes, type Route } from '../src/api/routes.ts'
import { code, head, table } from './pages.ts'

const fieldsOf = (schema: z.ZodType): string => {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input' })
  return Object.keys(properties)
    .map((name) => code(required.includes(name) ? name : `${name}?`))
    .join(', ')
}

const answerOf = (route: Route): string =>
  `${route.status}${route.answer === null ? ', a page' : ''}${route.paged ? ', in pages' : ''}`

const row = (route: Route): string[] => [
  code(`${route.method} ${route.path}`),
  route.summary,
  fieldsOf(route.query),
  route.body === null ? '' : fieldsOf(route.body),
  answerOf(route),
  errorsOf(route)
    .filter((error) => !(commonErrors as readonly string[]).includes(error))
    .map(code)
    .join(', '),
]

const statusOf = (error: keyof typeof errorTable): string => `${code(error)} (${errorTable[error].status})`

const sections = [
  'Generated from the table in `src/api/routes.ts`, which also validates requests and generates `GET /openapi.json` (OpenAPI 3.1, with all schemas). The address is in `engine.json` of the state folder; the engine listens on loopback only.',
  `## Who may call

Programs send \`Authorization: Bearer <token>\`; the token is in the file \`token\` of the state folder, readable by its owner. A browser logs in by a URL that \`unstuck up\` prints and \`unstuck login-url\` prints again at any time: its code works once, within ten minutes, and follows the \`#\`, so that the browser sends it only in the body of \`POST /sessions\`. The page trades it for a session, which it sends like the token. The session ends with the engine or after twelve hours. There is no cookie. An open page keeps working over a restart of the engine: it requests the engine's proof (\`POST /sessions/challenge\`) and gives its own (\`POST /sessions/resume\`). Both are HMAC-SHA256 with the key of \`POST /sessions/key\` over the lines \`unstuck\`, \`engine\` or \`page\`, the port, the nonce of the engine, and the nonce of the page. The files of the dashboard are served to every caller on this machine; they contain nothing of the repository. Host and Origin must be those of the engine.`,
  `## Errors

An error is \`{"error": {"code", "message"}}\` with the status of \`docs/errors.md\`. Every route may return ${commonErrors.map(statusOf).join(', ')}; a known path with another method ${statusOf('METHOD_NOT_ALLOWED')} with \`Allow\`, an unknown path ${statusOf('NOT_FOUND')}. A request that was refused changed nothing. Bodies are JSON (\`Content-Type: application/json\`) of at most 4 MiB.`,
  `## Pages

Lists are oldest first. \`limit\` sets the size of a page, \`after\` is the id of the last row you have; while there is more, the header \`Link\` names the next page with \`rel="next"\`. No page repeats or skips a row, even when rows are added meanwhile.`,
  `## The stream of events

\`GET /events\` with \`Accept: text/event-stream\` sends every event of its filter once and in order, first those after \`Last-Event-ID\` (or \`after\`), then each new one. \`id\` is the number of the event, \`data\` the event as JSON, comment lines keep the connection alive. A client that reads too slowly is disconnected. It reconnects with \`Last-Event-ID\`, as after a restart of the engine, and loses or repeats no event.`,
]

export const apiPage = (): string =>
  head(
    'The API',
    [
      ...sections,
      '## Routes',
      table(['route', 'what', 'query', 'body', 'response', 'errors'], Object.values<Route>(routes).map(row)),
    ].join('\n\n'),
  )
