/** Answering by a button of an ntfy notification: a server that behaves like ntfy, presses that are real, repeated, forged or late. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { configSchema } from '../../src/config/config-schema.ts'
import { buttonChoices } from '../../src/domain/notification.ts'
import { pressedTokens } from '../../src/notify/button.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { createPressedButtonsJob } from '../../src/runtime/engine/pressed-buttons.ts'
import { answerQuestion } from '../../src/runtime/people/answer-question.ts'
import { sql, type Db } from '../../src/store/db.ts'
import { listEscalations } from '../../src/store/escalation.ts'
import { readEvents } from '../../src/store/event.ts'
import { openTestStore, type Store } from '../runtime/store.ts'
import { agents, empty } from '../store/scene.ts'
import { sendNotifications } from './pass.ts'

interface Action {
  label: string
  url: string
  body: string
}
interface Published {
  topic: string
  actions?: Action[]
}

let store: Store
let server: Server
let url: string
/** What was published as a notification, and the raw messages of the second topic. */
let published: Published[]
let pressed: string[]
let reads: string[]
let status = 200
/** The connection ends after this many characters of the topic. */
let cutAt: number | null = null
let elapsed = 0
let said: string[]

beforeAll(async () => {
  store = await openTestStore()
})
afterAll(() => store.close())
beforeEach(async () => {
  await empty(store.db)
  await agents(store.db, 'agent-1')
  ;[published, pressed, reads, said, status, elapsed, cutAt] = [[], [], [], [], 200, 0, null]
  server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      if (request.method === 'GET') {
        reads.push(request.url ?? '')
        if (cutAt === null) response.writeHead(status).end(pressed.join('\n'))
        else response.writeHead(status).write(pressed.join('\n').slice(0, cutAt), () => response.destroy())
        return
      }
      if (request.url === '/') published.push(JSON.parse(body) as Published)
      else pressed.push(JSON.stringify({ id: 'x', event: 'message', topic: 'answers', message: body }))
      response.end('{}')
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(async () => {
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
})

const contextOf = (answers = true): Context => {
  const notify = { ntfy: `${url}/topic`, ...(answers ? { ntfyAnswers: `${url}/answers` } : {}) }
  const settings = configSchema.parse({ notify })
  const say = (_fields: object, text: string): number => said.push(text)
  return {
    ...store.context,
    ...{ config: () => settings, repository: { id: 'repo' }, log: { info: say, warn: say, error: say } },
    ...{ clock: { now: () => new Date(), elapsed: () => elapsed }, stopping: new AbortController().signal },
  } as unknown as Context
}
const cancelRunning = (): Promise<void> => Promise.resolve()
/** One job as an engine has it; each call is a pass after the time between two readings. */
const reader = (): (() => Promise<void>) => {
  const job = createPressedButtonsJob(cancelRunning)
  return async () => {
    elapsed += 15_000
    await job(contextOf())
  }
}
const press = (action: Action | undefined): Promise<Response> =>
  fetch(action!.url, { method: 'POST', body: action!.body })
const questions = () => listEscalations(store.db, {})
const presses = async (): Promise<object[]> =>
  (await readEvents(store.db, { after: 0, limit: 500 }))
    .filter(({ type }) => type === 'notification.button_pressed')
    .map(({ taskId, payload: { choice, refused } }) => ({ taskId, choice, refused }))
/** A task that asks, and the buttons that its notification has. */
const asked = async (): Promise<{ task: string; actions: Action[] }> => {
  const { tasks } = await store.goal()
  await store.ask(tasks[0]!.id)
  await sendNotifications(contextOf())
  return { task: tasks[0]!.id, actions: published.at(-1)?.actions ?? [] }
}

describe('a button of a notification', () => {
  test('answers the question once, however often it is pressed, and each token is recorded once', async () => {
    const { task, actions } = await asked()
    expect(actions.map(({ label }) => label)).toEqual(['Retry the task', 'Cancel the task'])
    await press(actions[0])
    await press(actions[0])
    await press(actions[1])
    const read = reader()
    await read()
    await read()
    expect(await questions()).toMatchObject([{ state: 'approved', answer: 'retry' }])
    expect((await store.task(task)).status).toBe('queued')
    expect(await presses()).toEqual([
      { taskId: task, choice: 'retry', refused: '' },
      { taskId: task, choice: 'cancel', refused: expect.stringContaining('already decided: retry') },
    ])
  })

  test('is used up only when the answer is stored, so a press survives a failure in between', async () => {
    const { actions } = await asked()
    await press(actions[0])
    for (const answered of [false, true]) {
      const transaction: Db['transaction'] = async (work) => {
        if (answered && (await questions())[0]?.state === 'pending') return store.db.transaction(work)
        throw new Error('the engine was killed')
      }
      const killed = { ...contextOf(), db: { ...store.db, transaction } }
      await expect(createPressedButtonsJob(cancelRunning)(killed)).rejects.toThrow('the engine was killed')
      expect(await questions()).toMatchObject([{ state: answered ? 'approved' : 'pending' }])
      expect(await presses()).toEqual([])
    }
  })

  test('is stored as a hash only, and no other channel or view has its token', async () => {
    const { actions } = await asked()
    const tables = ['notification', 'notification_delivery', 'notification_button', 'event', 'escalation']
    for (const table of tables) {
      const rows = await store.db.query({ text: `select * from ${table}`, values: [] })
      for (const { body } of actions) expect(JSON.stringify(rows)).not.toContain(body.replace('unstuck ', ''))
    }
    expect(actions[0]!.body).toMatch(/^unstuck [A-Za-z0-9_-]{43}$/)
  })

  test('has no effect after an answer elsewhere, after a day, or when it is made up', async () => {
    const { actions } = await asked()
    const [question] = await questions()
    await answerQuestion(contextOf(), { id: question!.id, choice: 'cancel' }, cancelRunning)
    await press(actions[0])
    await press({ ...actions[0]!, body: `unstuck ${'A'.repeat(43)}` })
    await reader()()
    expect(await questions()).toMatchObject([{ answer: 'cancel' }])

    const late = await asked()
    await press(late.actions[0])
    await store.db.query(sql`update notification_button set expires_at = unstuck_now()`)
    await reader()()
    expect((await questions()).filter(({ state }) => state === 'pending')).toHaveLength(1)
  })

  test('of an attempt that seemed to fail counts as well: its message may have arrived', async () => {
    const { actions } = await asked()
    await store.db.query(sql`update notification_delivery set delivered_at = null, next_at = unstuck_now()`)
    await sendNotifications(contextOf())
    await press(actions[0])
    await press(published.at(-1)!.actions![1])
    await reader()()
    expect(await questions()).toMatchObject([{ answer: 'retry' }])
  })

  test('exists only where a second topic is configured, and only for what gives no right', async () => {
    const { tasks } = await store.goal()
    await store.ask(tasks[0]!.id)
    await sendNotifications(contextOf(false))
    expect(published[0]).not.toHaveProperty('actions')
    const kinds = [
      'widen',
      'allow_command',
      'allow_directory',
      'approve',
      'change_check',
      'commit_fix',
      'take_over',
      'hint',
    ]
    const choice = (kind: string) => ({ kind, id: kind, label: kind, effect: '', command: '', input: null })
    const about = { kind: 'exhausted', taskId: 't-1' } as const
    expect(buttonChoices({ ...about, choices: kinds.map(choice) as never })).toEqual([])
    const needed = { ...choice('retry'), input: { name: 'model', label: '', required: true, suggested: null } }
    const idsOf = (question: Parameters<typeof buttonChoices>[0]): string[] =>
      buttonChoices(question).map(({ id }) => id)
    expect(idsOf({ ...about, choices: [needed as never, choice('cancel') as never] })).toEqual(['cancel'])
    const usual = ['retry', 'resume', 'cancel'].map(choice) as never
    expect(idsOf({ ...about, choices: usual })).toEqual(['retry', 'resume', 'cancel'])
    // These retries count the spend of the goal from zero.
    expect(idsOf({ ...about, kind: 'budget', choices: usual })).toEqual(['resume', 'cancel'])
    expect(idsOf({ ...about, taskId: null, choices: usual })).toEqual(['resume', 'cancel'])
    // The person wants to look at the plan.
    expect(idsOf({ ...about, taskId: null, kind: 'plan_review', choices: usual })).toEqual(['cancel'])
  })
})

describe('reading the topic', () => {
  test('happens at most every 15 s, only while a button could answer, and continues where it ended', async () => {
    const job = createPressedButtonsJob(cancelRunning)
    await job(contextOf())
    expect(reads).toEqual([])
    const { actions } = await asked()
    for (const at of [0, 3_000, 14_999, 15_000]) {
      elapsed = at
      await job(contextOf())
    }
    expect(reads).toHaveLength(2)
    const [first, second] = reads.map((path) => Number(/^\/answers\/json\?poll=1&since=(\d+)$/.exec(path)?.[1]))
    expect(second! - first!).toBeGreaterThan(11 * 3_600)
    await press(actions[0])
    elapsed = 30_000
    await job(contextOf())
    elapsed = 60_000
    await job(contextOf())
    expect(reads).toHaveLength(3)
  })

  test('survives a server that fails, and says so once', async () => {
    const { actions } = await asked()
    await press(actions[0])
    status = 500
    const read = reader()
    await read()
    await read()
    expect(said).toEqual(['the pressed buttons could not be read'])
    status = 200
    await read()
    expect(await questions()).toMatchObject([{ state: 'approved' }])
  })

  test('takes only presses out of what others write there', () => {
    const token = 'a'.repeat(43)
    const line = (message: unknown, event = 'message'): string => JSON.stringify({ event, message })
    const text = [
      ...[
        '',
        '{',
        'null',
        '[]',
        '5',
        '"unstuck"',
        line(`unstuck ${token}x`),
        line(`xunstuck ${token}`),
        line({}),
        line(null),
      ],
      ...[line(`unstuck ${token}`, 'open'), line(`unstuck ${token}`), line(`unstuck ${token}`)],
    ].join('\n')
    expect(pressedTokens(text)).toEqual([token])
  })

  test('reads a response that was broken off again, and not beyond what it read of a long one', async () => {
    const { actions } = await asked()
    await press(actions[0])
    const job = createPressedButtonsJob(cancelRunning)
    cutAt = 10
    await job(contextOf())
    expect(said).toEqual(['the pressed buttons could not be read'])
    cutAt = null
    const noise = Array.from({ length: 300 }, (_, id) =>
      JSON.stringify({ id: `noise-${id}`, event: 'message', message: 'x'.repeat(1_000) }),
    )
    pressed = [...noise, ...pressed]
    elapsed = 15_000
    await job(contextOf())
    expect(await questions()).toMatchObject([{ state: 'pending' }])
    // The server sends what follows the message that was read last.
    pressed = pressed.slice(noise.length)
    await job(contextOf())
    expect(reads.at(-1)).toMatch(/since=noise-\d+$/)
    expect(await questions()).toMatchObject([{ state: 'approved' }])
  })
})
