/**
 * The API through real HTTP on one engine: every answer is what the table of routes says, and whatever is refused is
 * refused with a code of the error table and changes nothing.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type {
  PreflightJson,
  DoctorView,
  DiffView,
  Goal,
  GoalRequest,
  LoginUrl,
  Run,
  SessionView,
  StatusView,
  EventView,
  Task,
} from '../../src/api/contract.ts'
import { openapiPath } from '../../src/api/openapi.ts'
import { routes, type Route } from '../../src/api/routes.ts'
import { errorTable } from '../../src/errors.ts'
import type { HostContext } from '../../src/runtime/agent/host-snapshot.ts'
import { standardTask, until } from '../hostile/scene.ts'
import { openApiScene, routeOf, type ApiScene, type RawCall } from './scene.ts'

let scene: ApiScene
/** Ids that paths name in braces: {done}, {doneTask}, {paused}, … */
const names: Record<string, string> = {}
const filled = (text: string): string => text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => names[name] ?? whole)

const goalRequest = (change: (value: GoalRequest) => void = () => undefined): string => {
  const value: GoalRequest = {
    input: { title: 'A goal', requirement: 'x', tasks: [structuredClone(standardTask)], allowedDirs: [], warnings: [] },
    options: { autoMerge: false, repoMode: 'local', allowedDirs: [], harness: 'honest', limits: {} },
  }
  change(value)
  return JSON.stringify(value)
}

const post = (path: string, body = '{}'): RawCall => ({ method: 'POST', path, body })
const patch = (path: string, body: string): RawCall => ({ method: 'PATCH', path, body })
/** A goal that is paused before anything of it starts: its second task waits for the first. */
const makePaused = async (): Promise<string> => {
  const { id } = JSON.parse((await scene.call(post('/goals', goalRequest()))).text) as Goal
  await scene.call(post(`/goals/${id}/pause`))
  return id
}

/** Nothing is at work and nothing will be. */
const quiet = async (): Promise<void> => {
  await until(async () => {
    const { agents, goals } = await scene.status()
    const still = goals.every(({ state }) => state !== 'active' && state !== 'planning')
    return still && agents.every(({ state }) => state !== 'busy') ? true : undefined
  }, 'the end of all work')
}

beforeAll(async () => {
  scene = await openApiScene(['honest', 'hang'])
  const done = await scene.work([{ title: 'First' }, { title: 'Second' }])
  names.done = done.id
  names.doneTask = done.tasks[0]?.id ?? ''
  names.run = (await scene.api<Run[]>('/runs'))[0]?.id ?? ''
  names.paused = await makePaused()
  names.gone = await makePaused()
  await scene.call(post(filled('/goals/{gone}/cancel')))
  await quiet()
  names.top = scene.top
})
afterAll(async () => scene.clear())

const code = async (): Promise<string> => {
  const { url } = JSON.parse((await scene.call(post('/login-codes'))).text) as LoginUrl
  return new URL(url).hash.replace('#login=', '')
}

const bare = { authorization: undefined, 'content-type': undefined }
const asPage = { authorization: undefined, 'sec-fetch-site': 'same-origin' }

const session = async (): Promise<string> => {
  const answer = await scene.call({ ...post('/sessions', JSON.stringify({ code: await code() })), headers: asPage })
  return (JSON.parse(answer.text) as SessionView).token
}

const by = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })

describe('every answer is what the table says', () => {
  const calls: Record<string, () => RawCall> = {
    openapi: () => ({ path: '/openapi.json' }),
    health: () => ({ path: '/health' }),
    status: () => ({ path: '/status' }),
    metrics: () => ({ path: '/metrics', headers: { accept: 'application/json' } }),
    inbox: () => ({ path: '/inbox' }),
    report: () => ({ path: '/report?since=2020-01-01T00:00:00Z' }),
    recoveryFigures: () => ({ path: '/recovery-figures?since=2020-01-01T00:00:00Z' }),
    doctor: () => ({ path: '/doctor' }),
    preflight: () => post('/system/preflight', '{"content":"Add a CSV export"}'),
    hostNeofetch: () => ({ path: '/system/host/neofetch' }),
    hostContext: () => ({ path: '/system/host/context' }),
    listRepositories: () => ({ path: '/repositories' }),
    getConfig: () => ({ path: '/config' }),
    snapshots: () => ({ path: '/snapshots' }),
    listRemovable: () => ({ path: '/clean' }),
    storage: () => ({ path: '/storage' }),
    quota: () => ({ path: '/quota' }),
    agents: () => ({ path: '/agents' }),
    listGoals: () => ({ path: '/goals' }),
    getGoal: () => ({ path: '/goals/{done}' }),
    listTasks: () => ({ path: '/tasks?goal={done}' }),
    getTask: () => ({ path: '/tasks/{doneTask}' }),
    listRuns: () => ({ path: '/runs?task={doneTask}' }),
    getRun: () => ({ path: '/runs/{run}' }),
    runActivity: () => ({ path: '/runs/{run}/activity' }),
    runChecks: () => ({ path: '/runs/{run}/checks' }),
    runDiff: () => ({ path: '/runs/{run}/diff' }),
    runLog: () => ({ path: '/runs/{run}/log' }),
    listRecoveries: () => ({ path: '/recoveries' }),
    listJudgements: () => ({ path: '/judgements?goal={done}' }),
    getJudge: () => ({ path: '/judge' }),
    takeLogin: () => post('/login', '{"variables":{}}'),
    setJudge: () => post('/judge', '{"off":false}'),
    listRequeues: () => ({ path: '/requeues' }),
    listEscalations: () => ({ path: '/escalations?state=pending' }),
    listEvents: () => ({ path: '/events?limit=1000' }),
    explain: () => ({ path: '/explain/{run}' }),
    createGoal: () => post('/goals', goalRequest()),
    createLogin: () => post('/login-codes'),
    clean: () => post('/clean', '{"dryRun":true}'),
    reportRefusal: () => post('/refusals', '{"action":"unstuck init"}'),
    answerQuestions: () => post('/escalations/answers', '{"answers":[{"id":"q-nosuch","choice":"retry"}]}'),
    retryNotifications: () => post('/notifications/retry', '{}'),
    resume: () => post('/resume', '{"goal":"{made}"}'),
    pauseGoal: () => post('/goals/{made}/pause'),
    cancelTask: () => post('/tasks/{madeTask}/cancel'),
    retryTask: () => post('/tasks/{madeTask}/retry'),
    editTask: () => patch('/tasks/{madeTask}', '{"title":"Another","why":"so"}'),
    retryGoal: () => post('/goals/{made}/retry'),
    addGrant: () => post('/grants', '{"path":"Makefile","area":"src","why":"so"}'),
    listGrants: () => ({ path: '/grants?state=all' }),
    listNotifications: () => ({ path: '/notifications?limit=5' }),
    listSchedules: () => ({ path: '/schedules' }),
    addSchedule: () => post('/schedules', `{"cron":"0 2 * * *","timeZone":"UTC","goal":${goalRequest()}}`),
    revokeGrants: () => post('/grants/revoke', '{"grant":"Makefile"}'),
    cancelGoal: () => post('/goals/{made}/cancel'),
  }
  /** Their success has effects outside of the API, or ends the engine: other tests look at them. */
  const elsewhere = [
    'home',
    'asset',
    // test/api/answer-pages.test.ts
    'showAnswer',
    'answerByLink',
    'beginSession',
    'challenge',
    'resumeSession',
    'sessionKey',
    // test/browser/switch-repository.test.ts
    'visitRepository',
    'restore',
    'answerQuestion',
    'alwaysChange',
    'approveTask',
    'revertTask',
    // test/waits/judge.test.ts, test/waits/review.test.ts
    'rejectTask',
    'awaitLink',
    'linkTask',
    // test/waits/tell.test.ts
    'tellTask',
    'takeOverTask',
    'giveBackTask',
    'landGoal',
    'forgetPath',
    // test/waits/schedules.test.ts
    'removeSchedule',
    'proposeRecovery',
    'reportProgress',
    'askPerson',
    'readReply',
    'drain',
    'shutdown',
    // Needs a change that waits: test/waits/reload.test.ts.
    'confirmConfig',
  ]

  test('each route of the table has a call here', () => {
    expect([...Object.keys(calls), ...elsewhere].sort()).toEqual(Object.keys(routes).sort())
  })

  test.each(Object.keys(calls))('%s', async (name) => {
    if (name === 'resume') names.made = await makePaused()
    if (name === 'cancelTask') names.madeTask = (await scene.api<Task[]>(filled('/tasks?goal={made}')))[0]?.id ?? ''
    // Retrying the goal needs something to retry.
    if (name === 'retryGoal') await scene.call(post(filled('/tasks/{madeTask}/cancel')))
    const made = calls[name]?.() ?? {}
    const answer = await scene.call({ ...made, path: filled(made.path ?? ''), body: filled(made.body ?? '') })
    const route = routeOf(made.method ?? 'GET', made.path ?? '')
    expect([name, answer.status, answer.status >= 400 ? answer.text : '']).toEqual([name, route?.status, ''])
    expect(route?.answer?.safeParse(JSON.parse(answer.text)).error).toBeUndefined()
    expect(route).toBe(routes[name as keyof typeof routes])
  })

  test('the document names every route with its answers, and resolves every reference', async () => {
    const text = (await scene.call({ path: '/openapi.json' })).text
    const document = JSON.parse(text) as {
      paths: Record<string, Record<string, { operationId: string; responses: Record<string, unknown> }>>
      components: { schemas: Record<string, unknown> }
    }
    for (const [name, route] of Object.entries<Route>(routes)) {
      const operation = document.paths[openapiPath(route.path)]?.[route.method.toLowerCase()]
      expect(operation?.operationId).toBe(name)
      expect(Object.keys(operation?.responses ?? {})).toContain(String(route.status))
    }
    const count = Object.values(document.paths).flatMap((path) => Object.keys(path)).length
    expect(count).toBe(Object.keys(routes).length)
    for (const [, found] of text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g))
      expect(Object.keys(document.components.schemas)).toContain(found)
  })
})

describe('the machine of the engine', () => {
  const get = async <T>(path: string): Promise<T> => JSON.parse((await scene.call({ path })).text) as T

  test('GET /system/host/neofetch gives its output, or why there is none', async () => {
    const { available, output, message } = await get<{ available: boolean; output?: string; message?: string }>(
      '/system/host/neofetch',
    )
    expect(available ? output : message).toMatch(available ? /\w/ : /neofetch/)
    expect(available ? message : output).toBeUndefined()
  })

  test('POST /system/preflight says what a start would open, and that it counts no issues', async () => {
    const ask = async (body: string) => {
      const { status, text } = await scene.call({ path: '/system/preflight', method: 'POST', body })
      return { status, ...(JSON.parse(text) as PreflightJson) }
    }
    const goalIds = async () => (await get<{ id: string }[]>('/goals')).map(({ id }) => id)
    const before = await goalIds()
    const found = await ask('{"content":" ","autoCreateIssueTasks":false}')
    expect(found).toMatchObject({ status: 200, preflight: { hasRequirementContent: false, openPrCount: 0 } })
    expect(found.recommendations).toMatchObject({ startPlanner: false, plannerCount: 0 })
    expect(found.recommendations.warnings.join()).toContain('not counted')
    expect((await ask('{"content":"Add a CSV export"}')).preflight.hasRequirementContent).toBe(true)
    expect(await ask('{"contents":"x"}')).toMatchObject({ status: 400, error: { code: 'INPUT_INVALID' } })
    expect(await goalIds()).toEqual(before)
  })

  test('GET /system/host/context takes the snapshot once, with the versions of the tools', async () => {
    const first = await get<HostContext>('/system/host/context')
    const again = await get<HostContext>('/system/host/context')
    expect(again).toEqual({ refreshed: false, snapshot: first.snapshot })
    expect(again.snapshot.tools['node']).toMatch(/^\d+\.\d+/)
    const doctor = await get<DoctorView>('/doctor')
    expect(doctor.checks.find(({ name }) => name === 'this machine')?.detail).toContain(again.snapshot.host.os)
  })
})

describe('the numbers', () => {
  const accepted = [
    undefined,
    '*/*',
    'application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
  ]

  test.each(accepted)('are the text of Prometheus for Accept: %s', async (accept) => {
    const { status, headers, text } = await scene.call({ path: '/metrics', headers: { accept } })
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
    expect(text).toMatch(/^unstuck_goals\{state="ready"\} [1-9]/m)
  })

  test.each(['/metrics', '/metrics?x=1'])('%s needs the token, and knows no query', async (path) => {
    expect((await scene.call({ path, headers: bare })).status).toBe(401)
    expect((await scene.call({ path: '/metrics?x=1' })).status).toBe(400)
  })
})

describe('runs by their state', () => {
  const listed = async (query: string): Promise<Run[]> =>
    JSON.parse((await scene.call({ path: `/runs?${query}` })).text)
  test('are those of any state that is named, also over pages', async () => {
    await quiet()
    const all = await listed('')
    const states = [...new Set(all.map(({ state }) => state))]
    expect(states).toContain('success')
    for (const state of ['running', 'success', 'failed', 'cancelled'] as const)
      expect(await listed(`state=${state}`)).toEqual(all.filter((run) => run.state === state))
    expect(await listed(`state=${states.join(',')}`)).toEqual(all)
    const first = await scene.call({ path: '/runs?state=success&limit=1' })
    expect(String(first.headers.link)).toContain('state=success')
  })
})

describe('pages', () => {
  test.each(['goals', 'tasks', 'runs', 'events'])('of %s repeat and skip nothing', async (kind) => {
    const all = JSON.parse((await scene.call({ path: `/${kind}?limit=1000` })).text) as { id: string | number }[]
    const walked: { id: string | number }[] = []
    for (let next: string | undefined = `/${kind}?limit=2`; next !== undefined;) {
      const answer = await scene.call({ path: next })
      walked.push(...(JSON.parse(answer.text) as { id: string }[]))
      next = /<([^>]+)>; rel="next"/.exec(String(answer.headers.link ?? ''))?.[1]
    }
    expect(all.length).toBeGreaterThan(1)
    // What was added meanwhile stands behind.
    expect(walked.slice(0, all.length).map(({ id }) => id)).toEqual(all.map(({ id }) => id))
  })
})

const huge = 'x'.repeat(5_000_000)
const deep = `{"goal":${'['.repeat(500_000)}${']'.repeat(500_000)}}`
type Case = [title: string, make: () => RawCall, code: keyof typeof errorTable, message: RegExp]

const refused: Case[] = [
  ['no token', () => ({ headers: { authorization: undefined } }), 'UNAUTHORISED', /token/],
  ['a wrong token', () => ({ headers: { authorization: 'Bearer wrong' } }), 'UNAUTHORISED', /token/],
  [
    'a token in another scheme',
    () => ({ headers: { authorization: `Basic ${scene.token}` } }),
    'UNAUTHORISED',
    /token/,
  ],
  ['no token on a write', () => ({ ...post('/goals', goalRequest()), headers: bare }), 'UNAUTHORISED', /token/],
  ['no token on the document', () => ({ path: '/openapi.json', headers: bare }), 'UNAUTHORISED', /token/],
  [
    'no token on the stream',
    () => ({ path: '/events', headers: { ...bare, accept: 'text/event-stream' } }),
    'UNAUTHORISED',
    /token/,
  ],
  ['no token on an unknown route', () => ({ path: '/nosuch', headers: bare }), 'UNAUTHORISED', /token/],
  ['an invented session', () => ({ headers: { ...bare, cookie: 'unstuck_x=1' } }), 'UNAUTHORISED', /token/],
  [
    'an unknown login code',
    () => ({ ...post('/sessions', '{"code":"wrong"}'), headers: asPage }),
    'UNAUTHORISED',
    /login-url/,
  ],
  ['a login without a code', () => ({ ...post('/sessions'), headers: asPage }), 'INPUT_INVALID', /code/],
  [
    'a challenge for an unknown login',
    () => ({ ...post('/sessions/challenge', '{"id":"x","nonce":"n"}'), headers: asPage }),
    'UNAUTHORISED',
    /login-url/,
  ],
  [
    'a proof for an unknown login',
    () => ({ ...post('/sessions/resume', '{"id":"x","nonce":"n","proof":"p"}'), headers: asPage }),
    'UNAUTHORISED',
    /login-url/,
  ],
  ['a key for the token of the owner', () => post('/sessions/key'), 'UNAUTHORISED', /browser/],
  ['a foreign Host', () => ({ headers: { host: 'evil.invalid' } }), 'FORBIDDEN_ORIGIN', /Host.*evil/],
  [
    'a foreign Host on a login',
    () => ({ ...post('/sessions', '{"code":"x"}'), headers: { ...asPage, host: 'evil.invalid' } }),
    'FORBIDDEN_ORIGIN',
    /Host/,
  ],
  [
    'a name that only begins like ours',
    () => ({ headers: { host: `127.0.0.1.evil.invalid:${scene.url.port}` } }),
    'FORBIDDEN_ORIGIN',
    /Host/,
  ],
  ['our Host on another port', () => ({ headers: { host: '127.0.0.1:1' } }), 'FORBIDDEN_ORIGIN', /Host/],
  ['a foreign Origin', () => ({ headers: { origin: 'http://evil.invalid' } }), 'FORBIDDEN_ORIGIN', /Origin.*evil/],
  [
    'an Origin of null',
    () => ({ ...post('/goals', goalRequest()), headers: { origin: 'null' } }),
    'FORBIDDEN_ORIGIN',
    /Origin/,
  ],
  ['a body too large', () => post('/goals', huge), 'BODY_TOO_LARGE', /larger/],
  [
    'a chunked body too large',
    () => ({ ...post('/goals', huge), headers: { 'transfer-encoding': 'chunked' } }),
    'BODY_TOO_LARGE',
    /larger/,
  ],
  ['malformed JSON', () => post('/goals', '{'), 'INPUT_INVALID', /not JSON/],
  ['no body', () => post('/goals', ''), 'INPUT_INVALID', /not JSON/],
  ['deep JSON', () => post('/resume', deep), 'INPUT_INVALID', /goal/],
  ['deep JSON that does not end', () => post('/resume', '['.repeat(1_000_000)), 'INPUT_INVALID', /not JSON/],
  [
    'a form',
    () => ({ ...post('/resume', 'goal=x'), headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
    'MEDIA_TYPE',
    /application\/json/,
  ],
  [
    'JSON as text',
    () => ({ ...post('/resume', '{"goal":null}'), headers: { 'content-type': 'text/plain' } }),
    'MEDIA_TYPE',
    /text\/plain/,
  ],
  [
    'JSON without a type',
    () => ({ ...post('/resume', '{"goal":null}'), headers: { 'content-type': undefined } }),
    'MEDIA_TYPE',
    /missing/,
  ],
  [
    'a form where no body is needed',
    () => ({ ...post('/goals/{paused}/cancel', 'a=b'), headers: { 'content-type': 'multipart/form-data' } }),
    'MEDIA_TYPE',
    /json/,
  ],
  ['an unknown field', () => post('/resume', '{"goal":null,"x":1}'), 'INPUT_INVALID', /x/],
  [
    'a field of the prototype',
    () => post('/resume', '{"goal":null,"__proto__":{"a":1}}'),
    'INPUT_INVALID',
    /__proto__/,
  ],
  [
    'a NUL in a title',
    () =>
      post(
        '/goals',
        goalRequest((v) => (v.input.title = 'a\0b')),
      ),
    'INPUT_INVALID',
    /input\.title/,
  ],
  [
    'half a character',
    () =>
      post(
        '/goals',
        goalRequest((v) => (v.input.requirement = '\ud800')),
      ),
    'INPUT_INVALID',
    /requirement/,
  ],
  ['a NUL in an id', () => ({ path: '/tasks/a%00b' }), 'INPUT_INVALID', /NUL/],
  ['a NUL in a cursor', () => ({ path: '/runs?after=%00' }), 'INPUT_INVALID', /NUL/],
  ['a path for a run', () => ({ path: '/runs/..%2f..%2fetc%2fpasswd/log' }), 'NOT_FOUND', /no run/],
  ['a path for a goal', () => post('/goals/..%2f..%2fx/cancel'), 'NOT_FOUND', /no goal/],
  ['dots for a task', () => ({ path: '/tasks/..%5c..' }), 'NOT_FOUND', /no task/],
  ['a broken escape', () => ({ path: '/goals/%zz' }), 'NOT_FOUND', /no goal/],
  ['SQL for an id', () => ({ path: `/goals/${encodeURIComponent("' or 1=1 --")}` }), 'NOT_FOUND', /no goal/],
  ['a filter by an unknown goal', () => ({ path: '/tasks?goal=g-nosuch' }), 'NOT_FOUND', /no goal/],
  [
    'an unknown state of runs',
    () => ({ path: '/runs?state=failed,lost' }),
    'INPUT_INVALID',
    /state.*running, success, failed, cancelled/,
  ],
  ['an unknown query', () => ({ path: '/tasks?gaol=x' }), 'INPUT_INVALID', /gaol/],
  ['a query where none is known', () => ({ path: '/status?x=1' }), 'INPUT_INVALID', /x/],
  ['a limit of nothing', () => ({ path: '/tasks?limit=0' }), 'INPUT_INVALID', /limit/],
  ['a limit without end', () => ({ path: '/events?limit=99999' }), 'INPUT_INVALID', /limit/],
  [
    'a wrong Last-Event-ID',
    () => ({ path: '/events', headers: { accept: 'text/event-stream', 'last-event-id': 'x' } }),
    'INPUT_INVALID',
    /Last-Event-ID/,
  ],
  [
    'a stream of an unknown task',
    () => ({ path: '/events?task=t-x', headers: { accept: 'text/event-stream' } }),
    'NOT_FOUND',
    /no task/,
  ],
  [
    'an unknown harness',
    () =>
      post(
        '/goals',
        goalRequest((v) => (v.options.harness = 'nosuch')),
      ),
    'INPUT_INVALID',
    /nosuch/,
  ],
  ['pausing what is paused', () => post('/goals/{paused}/pause'), 'ILLEGAL', /cannot be paused/],
  ['pausing what has ended', () => post('/goals/{gone}/pause'), 'ILLEGAL', /cannot be paused/],
  ['cancelling what is cancelled', () => post('/goals/{gone}/cancel'), 'ILLEGAL', /cannot be cancelled/],
  ['approving what asks nothing', () => post('/tasks/{doneTask}/approve'), 'ILLEGAL', /no finished work/],
  ['retrying what is done', () => post('/tasks/{doneTask}/retry'), 'ILLEGAL', /ready/],
  [
    'a hint with a control character',
    () => post('/tasks/{doneTask}/retry', '{"hint":"a\\u0007"}'),
    'INPUT_INVALID',
    /hint/,
  ],
  ['editing what is done', () => patch('/tasks/{doneTask}', '{"title":"x"}'), 'ILLEGAL', /done and cannot be edited/],
  ['an edit of another field', () => patch('/tasks/{doneTask}', '{"state":"done"}'), 'INPUT_INVALID', /state/],
  [
    'an edit with a path outside',
    () => patch('/tasks/{madeTask}', '{"allowedPaths":["../x"]}'),
    'INPUT_INVALID',
    /allowedPaths\[0\]/,
  ],
  ['a retry with an unknown key', () => post('/tasks/{doneTask}/retry', '{"hnt":"a"}'), 'INPUT_INVALID', /hnt/],
  [
    'a retry without a body',
    () => ({ method: 'POST', path: '/tasks/{doneTask}/retry', headers: { 'content-type': undefined } }),
    'ILLEGAL',
    /ready/,
  ],
  ['cancelling what is done', () => post('/tasks/{doneTask}/cancel'), 'ILLEGAL', /cannot be cancelled/],
  ['resuming what is done', () => post('/resume', '{"goal":"{done}"}'), 'ILLEGAL', /nothing to resume/],
  [
    'granting a secret',
    () => post('/grants', '{"path":".env","area":"src","why":"so"}'),
    'INPUT_INVALID',
    /".env" cannot be granted/,
  ],
  ['granting without a reason', () => post('/grants', '{"path":"a","area":"src"}'), 'INPUT_INVALID', /why/],
  ['granting to nothing', () => post('/grants', '{"path":"a","why":"so"}'), 'INPUT_INVALID', /who may change "a"/],
  ['revoking an unknown grant', () => post('/grants/revoke', '{"grant":"p-nosuch"}'), 'NOT_FOUND', /no grant/],
  ['forgetting an unknown path', () => post('/learned-paths/forget', '{"path":"x"}'), 'NOT_FOUND', /no learned path/],
  ['an unknown snapshot', () => post('/restore', '{"id":"--all","into":"{top}/made"}'), 'NOT_FOUND', /no snapshot/],
  ['an unknown route', () => ({ path: '/nosuch' }), 'NOT_FOUND', /no GET \/nosuch/],
  ['a route with a slash too many', () => ({ path: '/goals/' }), 'NOT_FOUND', /no GET/],
  [
    'an unknown method',
    () => ({ method: 'DELETE', path: '/goals/{done}' }),
    'METHOD_NOT_ALLOWED',
    /allowed: GET, HEAD/,
  ],
  ['reading what only changes', () => ({ path: '/goals/{done}/cancel' }), 'METHOD_NOT_ALLOWED', /allowed: POST/],
  ['a preflight', () => ({ method: 'OPTIONS', path: '/goals' }), 'METHOD_NOT_ALLOWED', /allowed: GET, HEAD, POST/],
]

describe('refused, with a code, and nothing changed:', () => {
  let before: unknown
  beforeAll(async () => {
    await quiet()
    before = await scene.facts()
  })
  test.each(refused)('%s', async (_title, make, code, message) => {
    const made = make()
    const sent = { ...made, path: filled(made.path ?? '/status') }
    const answer = await scene.call(made.body === undefined ? sent : { ...sent, body: filled(made.body) })
    const { error } = JSON.parse(answer.text) as { error: { code: string; message: string } }
    expect([answer.status, error.code]).toEqual([errorTable[code].status, code])
    expect(error.message).toMatch(message)
    expect(answer.text).not.toMatch(/\\n\s+at /)
    if (code === 'METHOD_NOT_ALLOWED') expect(error.message).toContain(String(answer.headers.allow))
    expect(answer.headers['access-control-allow-origin']).toBeUndefined()
    expect(await scene.facts()).toEqual(before)
  })
})

describe('a login', () => {
  test('gives a session once, that reads and writes, and sets no cookie', async () => {
    const sent = { ...post('/sessions', JSON.stringify({ code: await code() })), headers: asPage }
    const first = await scene.call(sent)
    expect([first.status, first.headers['set-cookie']]).toEqual([200, undefined])
    expect((await scene.call(sent)).status).toBe(401)
    const { token } = JSON.parse(first.text) as SessionView
    expect((await scene.call({ headers: by(token) })).status).toBe(200)
    const written = await scene.call({ ...post('/clean', '{"dryRun":true}'), headers: by(token) })
    expect(written.status).toBe(200)
    const home = await scene.call({ path: '/', headers: { ...bare, 'sec-fetch-site': 'none' } })
    expect([home.headers['cache-control'], home.headers['set-cookie']]).toEqual(['no-store', undefined])
  })

  test('counts for nothing in a cookie, nor for a page of another port', async () => {
    const token = await session()
    const cookie = `unstuck=${token}`
    const own = { authorization: undefined, cookie, origin: scene.url.origin, 'sec-fetch-site': 'same-origin' }
    expect((await scene.call({ headers: own })).status).toBe(401)
    expect((await scene.call({ ...post('/clean', '{"dryRun":true}'), headers: own })).status).toBe(401)
    const other = await scene.call({ headers: { ...by(token), origin: 'http://127.0.0.1:1' } })
    expect([other.status, other.text]).toEqual([403, expect.stringContaining('FORBIDDEN_ORIGIN')])
  })
})

test('HEAD answers like GET, without a body and without a stream', async () => {
  for (const path of ['/status', '/events', '/']) {
    const answer = await scene.call({ method: 'HEAD', path, headers: { accept: 'text/event-stream' } })
    expect([path, answer.status, answer.text]).toEqual([path, 200, ''])
    expect(answer.headers['content-type']).not.toContain('event-stream')
  }
})

test('of twenty answers at once exactly one wins', async () => {
  for (const path of ['/resume', '/goals/{made}/pause', '/goals/{made}/cancel']) {
    if (path === '/resume') names.made = await makePaused()
    const body = path === '/resume' ? filled('{"goal":"{made}"}') : '{}'
    const answers = await Promise.all(Array.from({ length: 20 }, () => scene.call(post(filled(path), body))))
    const won = answers.filter(({ status }) => status === 200)
    const lost = answers.filter(({ status }) => status === 409)
    expect([path, won.length, lost.length]).toEqual([path, 1, 19])
    for (const { text } of lost) expect(text).toMatch(/"code":"(ILLEGAL|STALE)"/)
  }
  const events = await scene.api<EventView[]>(filled('/events?goal={made}'))
  expect(events.filter(({ type }) => type === 'goal.cancelled')).toHaveLength(1)
  const { goals } = await scene.api<StatusView>('/status')
  expect(goals.find(({ id }) => id === names.made)?.state).toBe('cancelled')
})

test('the change of a run is its commit, and while an agent works what its folder holds', async () => {
  const done = await scene.api<DiffView>(filled('/runs/{run}/diff'))
  expect(done).toMatchObject({ source: 'commit', fileCount: 1, leftOut: [], cut: false, decisions: [] })
  expect(done.diff).toContain(`diff --git a/${done.files[0]?.path} b/${done.files[0]?.path}`)
  const begun = await scene.call(
    post(
      '/goals',
      goalRequest((value) => (value.options.harness = 'hang')),
    ),
  )
  const { id } = JSON.parse(begun.text) as Goal
  const run = await until(
    async () => (await scene.api<Run[]>(`/runs?goal=${id}`)).find(({ phase }) => phase === 'supervise'),
    'the hanging agent',
  )
  expect(await scene.api<DiffView>(`/runs/${run.id}/diff`)).toMatchObject({ source: 'workspace', files: [] })
  const secret = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`
  const folder = join(scene.stateDir, 'runs', run.id, 'workspace')
  writeFileSync(join(folder, 'login.txt'), `token ${secret}\n${'line\n'.repeat(180_000)}`)
  const now = await scene.api<DiffView>(`/runs/${run.id}/diff`)
  expect(now).toMatchObject({ source: 'workspace', files: [{ path: 'login.txt', kind: 'added' }], cut: true })
  expect(now.diff).toContain('+token [redacted]\n+line\n')
  expect(now.diff).not.toContain(secret)
  expect(now.diff.length).toBeLessThanOrEqual(1024 * 1024)
  await scene.call(post(`/goals/${id}/cancel`))
})

test('a snapshot comes back through the API', async () => {
  const begun = await scene.call(
    post(
      '/goals',
      goalRequest((value) => (value.options.harness = 'hang')),
    ),
  )
  const { id } = JSON.parse(begun.text) as Goal
  await until(
    async () => (await scene.api<Run[]>(`/runs?goal=${id}`)).find(({ phase }) => phase === 'supervise'),
    'the hanging agent',
  )
  await scene.call(post(`/goals/${id}/cancel`))
  const [snapshot] = await scene.api<{ id: string }[]>('/snapshots')
  const into = join(scene.top, 'restored')
  const answer = await scene.call(post('/restore', JSON.stringify({ id: snapshot?.id, into })))
  expect([answer.status, routes.restore.answer.safeParse(JSON.parse(answer.text)).success]).toEqual([200, true])
})
