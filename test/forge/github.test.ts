/** The client of GitHub on the stand-in: what it answers becomes a value or one of our errors, and a limit is not waited out in a request. */
import { afterAll, beforeEach, expect, it } from 'vitest'
import { createGitHub } from '../../src/forge/github.ts'
import { rememberAnswers } from '../../src/forge/remembered-answers.ts'
import { openGitHub } from '../support/github.ts'

const github = await openGitHub()
const answers = rememberAnswers()
const forge = createGitHub({ apiUrl: github.apiUrl, repository: github.repository, token: github.token, answers })
beforeEach(() => {
  for (const list of [github.issues, github.pulls, github.refusals, github.requests, github.unchanged]) list.length = 0
})
afterAll(github.close)

it('reads issues without the pull requests that the API lists among them', async () => {
  github.issues.push({ number: 1, title: 'One', body: null, author: 'eve', association: 'NONE' })
  await forge.openPullRequest({ title: 'A change', body: 'Fixes #1', branch: 'unstuck/goal/g-1', base: 'main' })
  expect((await forge.openIssues('')).issues).toEqual([
    {
      ...{ id: '1', title: 'One', body: '', labels: [], author: 'eve', isByMember: false },
      url: `${github.apiUrl}/acme/shop/issues/1`,
    },
  ])
  expect(await forge.openPullRequests()).toMatchObject([
    { branch: 'unstuck/goal/g-1', state: 'open', mergeCommit: null },
  ])
})

it('tells a branch of a fork from one of the repository, also where both have the same name', async () => {
  const { number } = await forge.openPullRequest({ title: 'Ours', body: '', branch: 'same', base: 'main' })
  const [ours] = github.pulls
  if (ours !== undefined) github.pulls.push({ ...ours, number: number + 1, repository: 'mallory/shop' })
  const found = await forge.openPullRequests()
  expect(found.map((pull) => [pull.number, pull.isFromFork])).toEqual([
    [number, false],
    [number + 1, true],
  ])
})

it('tells a merged pull request from a closed one, and takes no commit of one that was not merged', async () => {
  const { number } = await forge.openPullRequest({ title: 'A change', body: '', branch: 'a', base: 'main' })
  const [pull] = github.pulls
  if (pull === undefined) throw new Error('it was not made')
  // GitHub names the commit of a trial merge there as long as it is not merged.
  Object.assign(pull, { state: 'closed', mergeCommit: 'a'.repeat(40) })
  expect(await forge.pullRequest(number)).toMatchObject({ state: 'closed', mergeCommit: null })
  pull.mergedAt = '2026-01-01T00:00:00Z'
  expect(await forge.pullRequest(number)).toMatchObject({ state: 'merged', mergeCommit: 'a'.repeat(40) })
})

it.each<[string, object, string]>([
  [
    'a rate limit of an hour',
    { status: 429, headers: { 'retry-after': '3600' }, message: 'secondary rate limit' },
    'REMOTE_UNAVAILABLE',
  ],
  [
    'an hour without requests',
    {
      status: 403,
      headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(Math.floor(Date.now() / 1000) + 3600) },
      message: 'API rate limit exceeded',
    },
    'REMOTE_UNAVAILABLE',
  ],
  ['a token that is not valid', { status: 401 }, 'REMOTE_REFUSED'],
  ['a token without the right', { status: 403, message: 'Resource not accessible' }, 'REMOTE_REFUSED'],
  ['a repository that is not there', { status: 404 }, 'REMOTE_REFUSED'],
])('%s', async (_name, refusal, code) => {
  github.refusals.push({ status: 500, ...refusal })
  await expect(forge.openPullRequests()).rejects.toMatchObject({ code })
  expect(github.requests).toHaveLength(1)
})

it('a number that is not there is NOT_FOUND', async () => {
  await expect(forge.issue('5')).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

it('a server that does not answer is an outage', async () => {
  const nowhere = createGitHub({ apiUrl: 'http://127.0.0.1:9', repository: 'acme/shop', token: 'x', answers })
  await expect(nowhere.openIssues('')).rejects.toMatchObject({ code: 'REMOTE_UNAVAILABLE' })
})

it('reads checks, statuses and reviews, and takes only the last word of each reviewer', async () => {
  const { number } = await forge.openPullRequest({ title: 'A change', body: '', branch: 'reviewed', base: 'main' })
  github.checks.push(
    { id: 5, ref: 'abc', name: 'lint', conclusion: 'failure', log: '2026-01-01T00:00:00.1234567Z it is wrong\n' },
    { id: 6, ref: 'abc', name: 'slow', conclusion: null },
    { id: 7, ref: 'abc', name: 'left out', conclusion: 'skipped' },
  )
  github.statuses.push({ ref: 'abc', context: 'deploy', state: 'error' })
  const checks = await forge.checks('abc')
  expect(checks.map(({ name, state, job }) => [name, state, job])).toEqual([
    ['lint', 'failed', 5],
    ['slow', 'pending', null],
    ['left out', 'passed', null],
    ['deploy', 'failed', null],
  ])
  expect(await forge.checkLog(5)).toBe('it is wrong\n')
  const comments = [{ id: 70, path: 'a.js', line: 3, body: 'Why?' }]
  github.reviews.push(
    { id: 1, pull: number, state: 'CHANGES_REQUESTED', body: 'No', comments },
    { id: 2, pull: number, state: 'APPROVED', body: 'Now yes' },
    { id: 3, pull: number, state: 'CHANGES_REQUESTED', body: 'No', author: 'eve', association: 'NONE' },
    { id: 4, pull: number, state: 'COMMENTED', body: 'Hm', author: 'eve', association: 'NONE' },
  )
  const reviews = await forge.reviews(number)
  expect(reviews.map(({ wantsChanges, isByMember }) => [wantsChanges, isByMember])).toEqual([
    [false, true],
    [false, true],
    [true, false],
    [false, false],
  ])
  expect(reviews[0]?.comments).toEqual(comments)
  await forge.closePullRequest(number)
  expect((await forge.pullRequest(number)).state).toBe('closed')
})

it('asks for what it knows only whether it has changed, also for a list that the client takes apart', async () => {
  github.checks.push({ id: 30, ref: 'same', name: 'lint', conclusion: 'success' })
  github.issues.push({ number: 50, title: 'One' })
  const first = [await forge.openIssues(''), await forge.checks('same')]
  expect(github.unchanged).toEqual([])
  // A connection is made for each poll; what was answered outlives it.
  const next = createGitHub({ apiUrl: github.apiUrl, repository: github.repository, token: github.token, answers })
  expect([await next.openIssues(''), await next.checks('same')]).toEqual(first)
  expect(github.unchanged).toHaveLength(3)
  github.issues.push({ number: 51, title: 'Two' })
  expect((await next.openIssues('')).issues.map(({ id }) => id)).toEqual(['50', '51'])
  // Of another token nothing is known.
  const stranger = createGitHub({ apiUrl: github.apiUrl, repository: github.repository, token: 'x', answers })
  await expect(stranger.openIssues('')).rejects.toMatchObject({ code: 'REMOTE_REFUSED' })
})

it('forgets the answers that were asked for longest ago, and remembers no full last page', () => {
  const add = (url: string, data: unknown): void => answers.add(url, { status: 200, headers: { etag: url }, data })
  add('old', { text: 'x'.repeat(3_000_000) })
  add('used', { text: 'x'.repeat(3_000_000) })
  expect(answers.get('old')).toBeDefined()
  add('new', { text: 'x'.repeat(3_000_000) })
  expect(['old', 'used', 'new'].map((url) => answers.get(url) !== undefined)).toEqual([true, false, true])
  add(
    'full',
    Array.from({ length: 100 }, () => 1),
  )
  expect(answers.get('full')).toBeUndefined()
})
