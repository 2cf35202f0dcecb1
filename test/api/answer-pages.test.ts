/** Signed answer links on a real store: what they show, what they answer, and what forged, late, repeated or foreign requests do. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openAnswerLinks, parsePublicUrl } from '../../src/api/answer-link.ts'
import { createApp, type AppParts } from '../../src/api/app.ts'
import { configSchema } from '../../src/config/config-schema.ts'
import type { EscalationKind } from '../../src/domain/escalation.ts'
import type { Message } from '../../src/notify/message.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { realPorts } from '../../src/runtime/core/ports.ts'
import { answerQuestion } from '../../src/runtime/people/answer-question.ts'
import { sql } from '../../src/store/db.ts'
import { listEscalations } from '../../src/store/escalation.ts'
import { readEvents } from '../../src/store/event.ts'
import { sendNotifications } from '../notify/pass.ts'
import { openTestStore, type Store } from '../runtime/store.ts'
import { agents, empty } from '../store/scene.ts'

const port = 4_000
const start = new Date('2026-03-01T10:00:00Z').getTime()
let store: Store
let stateDir: string
let context: Context
let app: ReturnType<typeof createApp>
let sent: Message[]
let hours: number
const cancelRunning = (): Promise<void> => Promise.resolve()

const contextOf = (publicUrl: string | undefined): Context => {
  const settings = configSchema.parse({ webhooks: { on_escalation: 'https://hooks.example.com/x' } })
  const sendOver = (_channel: string, message: Message): Promise<{ ok: true }> => {
    sent.push(message)
    return Promise.resolve({ ok: true })
  }
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  return {
    ...store.context,
    ...{ environment: { API_TOKEN: 'hunter2-hunter2' }, repository: { id: 'repo' }, log },
    ...{ config: () => settings, stopping: new AbortController().signal },
    ...{ ports: { ...realPorts, notify: { ...realPorts.notify, sendOver } } },
    stateDir,
    clock: { now: () => new Date(start + hours * 3_600_000) },
    ...(publicUrl === undefined ? {} : { answerLinks: openAnswerLinks(stateDir, parsePublicUrl(publicUrl)) }),
  } as unknown as Context
}

const serveWith = (publicUrl: string | undefined): void => {
  context = contextOf(publicUrl)
  const login = { loginOf: () => undefined }
  const parts = {
    context,
    names: ['127.0.0.1'],
    port: () => port,
    token: 'the-token',
    logins: login,
    engine: { cancelRunning },
  }
  app = createApp(parts as unknown as AppParts)
}

beforeAll(async () => {
  store = await openTestStore()
})
afterAll(() => store.close())
beforeEach(async () => {
  await empty(store.db)
  await agents(store.db, 'agent-1')
  stateDir = mkdtempSync(join(tmpdir(), 'unstuck-answer-'))
  ;[sent, hours] = [[], 0]
  serveWith('https://unstuck.example.com/base')
})
afterEach(() => rmSync(stateDir, { recursive: true }))

interface Call {
  method?: string
  body?: string
  headers?: Record<string, string>
}
const asForm = { 'content-type': 'application/x-www-form-urlencoded' }
const call = async (path: string, { method = 'GET', headers = {}, body }: Call = {}) => {
  const url = `http://127.0.0.1:${port}${path}`
  const response = await app.request(url, {
    method,
    headers: { host: 'unstuck.example.com', accept: 'text/html', ...headers },
    ...(body === undefined ? {} : { body }),
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}
const press = (path: string, choice: string, headers: Record<string, string> = {}) =>
  call(path, { method: 'POST', body: `choice=${choice}`, headers: { ...asForm, ...headers } })

const questions = () => listEscalations(store.db, {})
/** A task that asks, and the path of the link in its notification, as a proxy passes it on. */
const asked = async (kind?: EscalationKind): Promise<{ task: string; path: string }> => {
  const { tasks } = await store.goal()
  await store.ask(tasks[0]!.id, kind)
  await sendNotifications(context)
  const url = sent.at(-1)?.answerUrl ?? ''
  expect(url === '' || url.startsWith('https://unstuck.example.com/base/answer/q-')).toBe(true)
  return { task: tasks[0]!.id, path: url.replace('https://unstuck.example.com/base', '') }
}

describe('a link of a notification', () => {
  test('shows the question and the choices that give no right; reading it, however often, changes nothing', async () => {
    const { task, path } = await asked()
    for (const method of ['GET', 'HEAD', 'GET']) {
      const { status, headers, text } = await call(path, { method })
      expect(status).toBe(200)
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; style-src 'sha256-[^;]*; base-uri 'none'; form-action 'self';/,
      )
      expect([headers.get('cache-control'), headers.get('referrer-policy')]).toEqual(['no-store', 'same-origin'])
      if (method === 'GET') {
        expect([...text.matchAll(/name="choice" value="(\w+)"/g)].map(([, id]) => id)).toEqual(['retry', 'cancel'])
        expect(text).toContain(`unstuck answer ${task}`)
        expect(text).not.toContain('<script')
      }
    }
    expect(await questions()).toMatchObject([{ state: 'pending' }])
  })

  test('answers once by its form, and then says what was answered', async () => {
    const { task, path } = await asked()
    const first = await press(path, 'retry', { origin: 'https://unstuck.example.com' })
    expect([first.status, first.text]).toEqual([200, expect.stringContaining('Your answer: <strong>Retry the task')])
    expect((await store.task(task)).status).toBe('queued')
    for (const choice of ['retry', 'cancel']) {
      const again = await press(path, choice)
      expect([again.status, again.text]).toEqual([409, expect.stringContaining('answered before: <strong>retry')])
    }
    expect((await call(path)).status).toBe(410)
    expect(await questions()).toMatchObject([{ state: 'approved', answer: 'retry' }])
    const events = await readEvents(store.db, { after: 0, limit: 500 })
    expect(events.filter(({ type }) => type === 'notification.link_used')).toMatchObject([
      { taskId: task, payload: { choice: 'retry' } },
    ])
  })

  test('answers once when it is sent fifty times at the same moment', async () => {
    const { path } = await asked()
    const choices = Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? 'cancel' : 'retry'))
    const statuses = (await Promise.all(choices.map((choice) => press(path, choice)))).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 409)).toHaveLength(49)
  })

  test('has no effect after an answer elsewhere, nor after a day', async () => {
    const { path } = await asked()
    hours = 23.9
    expect((await call(path)).text).toContain('within the next hour')
    hours = 24
    for (const late of [await call(path), await press(path, 'retry')])
      expect([late.status, late.text]).toEqual([410, expect.stringContaining('this link has expired')])
    hours = 0
    const [question] = await questions()
    await answerQuestion(context, { id: question!.id, choice: 'cancel' }, cancelRunning)
    expect((await press(path, 'retry')).text).toContain('answered before: <strong>cancel')
    expect(await questions()).toMatchObject([{ answer: 'cancel' }])
  })

  test('offers nothing that it was not made for, and no page can be made to offer more', async () => {
    const { path } = await asked()
    const [question] = await questions()
    const more = [...question!.choices, { ...question!.choices[0]!, id: 'approve', kind: 'approve' }]
    await store.db.query(sql`update escalation set choices = ${JSON.stringify(more)}::jsonb`)
    for (const choice of ['approve', 'approve_recovery', 'resume', '', 'retry%00', '__proto__', 'retry&choice=cancel'])
      expect([choice, (await press(path, choice)).status]).toEqual([choice, 400])
    const bodies: Call[] = [
      { body: '' },
      { body: 'choice=retry', headers: { 'content-type': 'application/json' } },
      { body: '{"choice":"retry"}', headers: { 'content-type': 'application/json' } },
      { body: 'choice=retry', headers: { 'content-type': 'text/plain' } },
      { body: `choice=retry${'&x='.repeat(1_000)}`, headers: asForm },
    ]
    for (const made of bodies)
      expect((await call(path, { method: 'POST', ...made })).status).toBeGreaterThanOrEqual(400)
    expect(await questions()).toMatchObject([{ state: 'pending' }])
  })

  test('is in no message about a decision that gives a right or lifts a limit', async () => {
    expect((await asked('budget')).path).not.toBe('')
    const { text } = await call(sent.at(-1)!.answerUrl!.replace('https://unstuck.example.com/base', ''))
    expect(text).not.toContain('value="retry"')
    await store.db.query(sql`update escalation set choices = '[]'`)
    await store.db.query(sql`update notification_delivery set delivered_at = null, next_at = unstuck_now()`)
    await sendNotifications(context)
    expect(sent.at(-1)).not.toHaveProperty('answerUrl')
  })

  test('shows what agents wrote as text, without secrets', async () => {
    const { path } = await asked()
    const happened = '<img src=x onerror=alert(1)> hunter2-hunter2 "\'&'
    await store.db.query(sql`update escalation set happened = ${happened}, details = ${happened}`)
    const { text } = await call(path)
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt; [redacted] &quot;&#39;&amp;')
    expect(text).not.toMatch(/<img|hunter2/)
  })

  test('is stored nowhere', async () => {
    const { path } = await asked()
    for (const table of ['notification', 'notification_delivery', 'notification_button', 'event', 'escalation']) {
      const rows = await store.db.query({ text: `select * from ${table}`, values: [] })
      expect(JSON.stringify(rows)).not.toContain(path.slice(-43))
    }
  })

  test('is not in the reason why its delivery failed, although the receiver repeats it', async () => {
    const failing = (_channel: string, message: Message) =>
      Promise.resolve({
        ok: false,
        problem: `status 500: got ${message.answerUrl!.slice(0, -1)}…`,
        retryAfterSeconds: 0,
      })
    const { tasks } = await store.goal()
    await store.ask(tasks[0]!.id)
    const ports = { ...context.ports, notify: { ...context.ports.notify, sendOver: failing } }
    await sendNotifications({ ...context, ports })
    const rows = await store.db.query<{ problem: string }>(sql`select problem from notification_delivery`)
    expect(rows).toEqual([{ problem: 'status 500: got https://unstuck.example.com/base/answer/[redacted]' }])
  })
})

describe('the public URL', () => {
  test('opens the links and nothing else', async () => {
    const { path } = await asked()
    const token = { authorization: 'Bearer the-token' }
    const others = ['/', '/status', '/escalations', '/sessions', '/answer', '/answers/x', '/openapi.json']
    const tricks = [
      `/answer/../status`,
      '/answer/%2e%2e/status',
      `/answer/..%2fstatus`,
      `${path}/../../status`,
      '//answer/x',
    ]
    for (const other of [...others, ...tricks]) {
      const { status, text } = await call(other, { headers: token })
      expect([other, status, text.includes('"goals"')]).toEqual([
        other,
        expect.toSatisfy((code: number) => code >= 400),
        false,
      ])
    }
    const [question] = await questions()
    const answer = { method: 'POST', body: '{"choice":"retry"}' }
    const headers = { ...token, 'content-type': 'application/json' }
    expect((await call(`/escalations/${question!.id}/answer`, { ...answer, headers })).status).toBe(403)
    expect(await questions()).toMatchObject([{ state: 'pending' }])
  })

  test.each([
    [{ host: 'evil.example' }, 403],
    [{ host: 'unstuck.example.com.evil.example' }, 403],
    [{ host: 'unstuck.example.com:444' }, 403],
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'http://unstuck.example.com' }, 403],
    [{ origin: 'null' }, 403],
    [{ host: 'Unstuck.Example.com', origin: 'https://unstuck.example.com' }, 200],
    [{ host: `127.0.0.1:${port}`, origin: 'https://unstuck.example.com' }, 200],
    [{}, 200],
  ] as [Record<string, string>, number][])('%j gets %i', async (headers, status) => {
    const { path } = await asked()
    expect((await press(path, 'retry', headers)).status).toBe(status)
    expect((await questions())[0]?.state).toBe(status === 200 ? 'approved' : 'pending')
  })

  test('is needed: without it no message has a link, and an earlier link opens nothing', async () => {
    const { path } = await asked()
    serveWith(undefined)
    await asked()
    expect(sent.at(-1)).not.toHaveProperty('answerUrl')
    const local = { host: `127.0.0.1:${port}` }
    expect((await press(path, 'retry')).status).toBe(403)
    for (const answer of [await call(path, { headers: local }), await press(path, 'retry', local)])
      expect([answer.status, answer.text]).toEqual([404, expect.stringContaining('this link is not valid')])
  })

  test('a forged link is told nothing about the question, and reads no store', async () => {
    const { path } = await asked()
    const db = { ...context.db, query: () => Promise.reject(new Error('the store was read')) }
    app = createApp({
      ...{
        context: { ...context, db },
        names: ['127.0.0.1'],
        port: () => port,
        token: 't',
        logins: { loginOf: () => undefined },
      },
      engine: { cancelRunning },
    } as unknown as AppParts)
    for (const forged of [`${path.slice(0, -2)}xx`, '/answer/q-1', `/answer/${'a'.repeat(5_000)}`, '/answer/%00'])
      for (const { status, text } of [await call(forged), await press(forged, 'retry')]) {
        expect([forged, status]).toEqual([forged, expect.toSatisfy((code: number) => code === 404 || code === 400)])
        expect(text).not.toContain('stopped')
      }
  })
})
