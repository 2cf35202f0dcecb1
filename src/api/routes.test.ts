import { expect, test } from 'vitest'
import { errorsOf, routes, type Route } from './routes.ts'

const all = Object.entries<Route>(routes)

test('every route that changes something is closed to programs of a run, and says so', () => {
  const opened = all.filter(([, route]) => route.method !== 'GET' && route.caller !== 'person')
  expect(opened.filter(([, route]) => route.access !== 'run')).toEqual([])
  // These need the token of the run itself, which opens nothing else.
  expect(opened.map(([name]) => name)).toEqual(['proposeRecovery', 'reportProgress', 'askPerson'])
  for (const [, route] of all) expect(errorsOf(route).includes('FROM_A_RUN')).toBe(route.caller === 'person')
})
