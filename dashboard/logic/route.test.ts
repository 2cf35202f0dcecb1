import { expect, it } from 'vitest'
import { linkTo, parseRoute } from './route.ts'

it.each(['', '#', '#/'])('%j is the first page', (hash) => {
  expect(parseRoute(hash)).toEqual({ page: 'now' })
})

it('what is linked to is found', () => {
  expect(parseRoute(linkTo.work())).toEqual({ page: 'work', query: '' })
  expect(parseRoute(linkTo.work('state=failed&text=a%2Fb'))).toEqual({ page: 'work', query: 'state=failed&text=a%2Fb' })
  expect(parseRoute(linkTo.inbox)).toEqual({ page: 'inbox' })
  expect(parseRoute(linkTo.question('q-a1'))).toEqual({ page: 'inbox', id: 'q-a1' })
  expect(parseRoute(linkTo.logLine('r-a1', 'a/b 100% "c"'))).toEqual({
    ...{ page: 'run', id: 'r-a1', part: 'log' },
    find: 'a/b 100% "c"',
  })
  expect(parseRoute(linkTo.goal('g-a1'))).toEqual({ page: 'goal', id: 'g-a1' })
  expect(parseRoute(linkTo.task('t-a1'))).toEqual({ page: 'task', id: 't-a1' })
  expect(parseRoute(linkTo.run('r-a1'))).toEqual({ page: 'run', id: 'r-a1' })
  expect(parseRoute(linkTo.diff('r-a1'))).toEqual({ page: 'run', id: 'r-a1', part: 'diff' })
  expect(parseRoute(linkTo.log('r-a1'))).toEqual({ page: 'run', id: 'r-a1', part: 'log' })
})

it.each([
  '#/goals',
  '#/work/x',
  '#/workshop',
  '#/goals/',
  '#/goals/../x',
  '#/runs/r-a/else',
  '#/runs/r-a/log/%',
  '#/runs/r-a/log/x/y',
  '#/runs/r-a/diff/x',
  '#/inbox/x',
  '#/goals/g-a/log',
  '#/constructor/r-a',
  '#javascript:alert(1)',
  '#x/runs/r-a',
])('%j is no page', (hash) => {
  expect(parseRoute(hash).page).toBe('unknown')
})
