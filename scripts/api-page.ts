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
  'From the table in `src/api/routes.ts`, by which requests are checked and from which `GET /openapi.json` (OpenAPI 3.1, with all schemas) is made. The address is in `engine.json` of the state folder; the engine listens on loopback only.',
  `## Who may call

Programs send \`Authorization: Bearer <token>\`; the token is in the file \`token\` of the state folder, readable by its owner. A browser logs in by a URL that \`unstuck up\` prints and \`unstuck login-url\` prints again at any time: its code works once, within ten minutes, and stands behind the \`#\`, so that the browser sends it only in the body of \`POST /sessions\`. The session that it is traded for is sent like the token, and ends with the engine or after twelve hours. There is no cookie. A page that stays open goes on over a restart: it asks for the engine's proof (\`POST /sessions/challenge\`) and gives its own (\`POST /sessions/resume\`). Both are HMAC-SHA256 by the key of \`POST /sessions/key\` over the lines \`unstuck\`, \`engine\` or \`page\`, the port, the nonce of the engine, and the nonce of the page. The dashboard's own files are served to everybody who calls from this machine; they hold nothing of the repository. Host and Origin must be the engine's own.`,
  `## Errors

An error is \`{"error": {"code", "message"}}\` with the status of \`docs/errors.md\`. Every route may answer ${commonErrors.map(statusOf).join(', ')}; a known path with another method ${statusOf('METHOD_NOT_ALLOWED')} with \`Allow\`, an unknown path ${statusOf('NOT_FOUND')}. A request that was refused changed nothing. Bodies are JSON (\`Content-Type: application/json\`) of at most 4 MiB.`,
  `## Pages

Lists are oldest first. \`limit\` sets the size of a page, \`after\` is the id of the last row you have; while there is more, the header \`Link\` names the next page with \`rel="next"\`. A page neither repeats nor skips a row, whatever is added meanwhile.`,
  `## The stream of events

\`GET /events\` with \`Accept: text/event-stream\` sends every event of its filter once and in order, first what happened after \`Last-Event-ID\` (or \`after\`), then each new one as it comes. \`id\` is the number of the event, \`data\` the event as JSON, the lines between are comments that keep the connection alive. Whoever reads too slowly is cut off and comes back with \`Last-Event-ID\`; so does everybody after a restart of the engine. Nothing is lost or doubled by it.`,
]

export const apiPage = (): string =>
  head(
    'The API',
    [
      ...sections,
      '## Routes',
      table(['route', 'what', 'query', 'body', 'answer', 'errors'], Object.values<Route>(routes).map(row)),
    ].join('\n\n'),
  )
