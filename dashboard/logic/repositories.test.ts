import { expect, it } from 'vitest'
import { asksElsewhere, byUrgency, shortName, type RepositoryRow } from './repositories.ts'

const made = (repository: string, more: Partial<RepositoryRow> = {}): RepositoryRow => ({
  ...{ id: repository, repository, isHere: false, state: 'served', url: 'http://x', problem: null },
  counts: { goals: 0, questions: 0, running: 0 },
  ...more,
})

it('puts what needs the reader first, then what moves, and what has no engine last', () => {
  const all = [
    made('/stopped', { state: 'stopped', url: null, counts: null }),
    made('/quiet'),
    made('/moves', { counts: { goals: 1, questions: 0, running: 2 } }),
    made('/broken', { state: 'broken', url: null, counts: null, problem: { code: 'CONFIG', message: 'm' } }),
    made('/asks', { counts: { goals: 1, questions: 3, running: 0 } }),
  ]
  expect(byUrgency(all).map(({ repository }) => repository)).toEqual([
    '/asks',
    '/broken',
    '/moves',
    '/quiet',
    '/stopped',
  ])
})

it('counts the questions of the others only', () => {
  const counts = { goals: 1, questions: 2, running: 0 }
  expect(asksElsewhere([made('/here', { isHere: true, counts }), made('/a', { counts }), made('/b')])).toBe(2)
})

it('names a repository by the end of its folder or URL', () => {
  const names = ['/home/me/parser', '/home/me/parser/', 'C:\\work\\parser', 'git@example.com:team/parser.git']
  expect(names.map((repository) => shortName(made(repository)))).toEqual(names.map(() => 'parser'))
})
