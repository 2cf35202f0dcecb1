import { expect, test } from 'vitest'
import { errorsOf, routes, type Route } from './routes.ts'

const all = Object.entries<Route>(routes)

test('every route that changes something is closed to programs of a run, or says why it is not', () => {
  const opened = all.filter(([, route]) => route.method !== 'GET' && route.caller !== 'person')
  expect(opened.filter(([, { access }]) => access !== 'run').map(([name]) => name)).toEqual([
    'preflight',
    'reportRefusal',
  ])
  for (const [name, { whyAnyone = '' }] of opened) expect(`${name}: ${whyAnyone}`).toMatch(/: .{20}/)
})

test('every route that is closed to programs of a run lists the error', () => {
  for (const [, route] of all) expect(errorsOf(route).includes('FROM_A_RUN')).toBe(route.caller === 'person')
})
