/** The outbox on a real store whose clock the test sets: what is stored with a question, when it is sent, and how often. */
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, test } from 'vitest'
import { configSchema } from '../../src/config/config-schema.ts'
import { configuredChannels } from '../../src/domain/notification.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { realPorts } from '../../src/runtime/core/ports.ts'
import { createTidyNotificationsJob, handOverDue } from '../../src/runtime/engine/send-notifications.ts'
import { createNotifier } from '../../src/runtime/engine/side-jobs.ts'
import { notificationsView } from '../../src/runtime/people/notification-view.ts'
import { retryNotifications } from '../../src/runtime/people/retry-notifications.ts'
import { statusView } from '../../src/runtime/people/views.ts'
import { mustSucceed, sql, type Db } from '../../src/store/db.ts'
import { answerEscalation, getEscalation, openEscalation, type NewEscalation } from '../../src/store/escalation.ts'
import { readEvents } from '../../src/store/event.ts'
import { getGoal, moveGoal } from '../../src/store/goal.ts'
import { undeliveredChannels } from '../../src/store/notification.ts'
import { activeGoal, empty } from '../store/scene.ts'
import { sendNotifications } from './pass.ts'
import { openReceiver, type Receiver } from './receiver.ts'
import { clockOf, openTestDb } from '../support/test-db.ts'

const start = new Date('2026-03-01T10:00:00Z').getTime()
let db: Db
let receiver: Receiver
let status = 204
let elapsed = 0
let warnings: string[] = []

let setStoreClock: (now: Date) => Promise<void>
beforeAll(async () => {
  db = await openTestDb()
  setStoreClock = await clockOf(db)
})
afterAll(() => db.close())
/** Moves the store's clock, which decides what is due. */
const at = async (seconds: number): Promise<void> => {
  elapsed = seconds
  await setStoreClock(new Date(start + seconds * 1000))
}
beforeEach(async () => {
  await empty(db)
  await at(0)
  status = 204
  warnings = []
  receiver = await openReceiver((response) => response.writeHead(status).end())
})
afterEach(() => receiver.close())

const contextOf = (config: object = {}, more: Partial<Context> = {}): Context => {
  const settings = configSchema.parse({ webhooks: { on_escalation: receiver.url }, ...config })
  const say = (_fields: object, text: string): number => warnings.push(text)
  return {
    ...{ db, ports: realPorts, environment: { API_TOKEN: 'hunter2-hunter2' }, repository: { id: 'repo' } },
    ...{ config: () => settings },
    clock: { now: () => new Date(start + elapsed * 1000), elapsed: () => elapsed * 1000 },
    ...{ stopping: new AbortController().signal, log: { info: say, warn: say, error: say } },
    ...more,
  } as unknown as Context
}
const question = (more: Partial<NewEscalation> = {}): NewEscalation => ({
  ...{ id: 'q-1', goalId: 'g', taskId: null, runId: null, kind: 'exhausted' },
  ...{ happened: 'The check failed', tried: [], question: 'What now?', details: 'token hunter2-hunter2' },
  choices: [{ kind: 'retry', id: 'retry', label: 'Retry', effect: '', command: 'unstuck answer', input: null }],
  ...more,
})
const ask = (more: Partial<NewEscalation> = {}): Promise<void> =>
  db.transaction((tx) => openEscalation(tx, question(more)))
const answer = (id = 'q-1'): Promise<void> =>
  db.transaction(async (tx) => void mustSucceed(await answerEscalation(tx, (await getEscalation(tx, id))!, 'retry')))
const types = (): string[] =>
  receiver.received.map(({ body }) => {
    const { type, data } = JSON.parse(body) as { type: string; data: { severity: string } }
    return `${type} ${data.severity}`
  })
const ids = (): string[] => receiver.received.map(({ headers }) => String(headers['webhook-id']))
const rows = async (): Promise<number> =>
  (await db.query<{ n: number }>(sql`select count(*)::int as n from notification`))[0]!.n

beforeEach(async () => void (await activeGoal(db, 'g', [{}])))

describe('AC-9: a webhook fires on an escalation', () => {
  test('once, with what happened and the choices, and without the secrets in its text', async () => {
    await ask()
    await sendNotifications(contextOf())
    await sendNotifications(contextOf())
    expect(types()).toEqual(['escalation.opened normal'])
    expect(ids()).toEqual(['msg_repo_q-1-opened'])
    expect(receiver.received[0]!.body).not.toContain('hunter2')
    expect(JSON.parse(receiver.received[0]!.body)).toMatchObject({
      data: { title: 'The check failed', goal: 'g', escalation: 'q-1', choices: [{ id: 'retry', label: 'Retry' }] },
    })
    expect(await notificationsView(db, 10)).toMatchObject([
      { kind: 'escalation.opened', deliveries: [{ channel: 'webhook', state: 'delivered', attempts: 1, problem: '' }] },
    ])
  })

  test('is stored with the question or not at all', async () => {
    await expect(
      db.transaction(async (tx) => {
        await openEscalation(tx, question())
        throw new Error('the transaction ends')
      }),
    ).rejects.toThrow('the transaction ends')
    expect(await rows()).toBe(0)
    await ask()
    expect(await rows()).toBe(3)
  })

  test('a refused permission is a blocker of higher severity', async () => {
    await ask({ kind: 'blocker' })
    await sendNotifications(contextOf())
    expect(types()).toEqual(['blocker high'])
  })
})

describe('reminders', () => {
  test('come after one hour, and with a raised severity after four, and no more', async () => {
    await ask()
    for (const seconds of [0, 3_599, 3_600, 3_700, 14_399, 14_400, 20_000, 90_000, 900_000]) {
      await at(seconds)
      await sendNotifications(contextOf())
    }
    expect(types()).toEqual(['escalation.opened normal', 'escalation.reminder normal', 'escalation.reminder high'])
    expect(new Set(ids()).size).toBe(3)
  })

  test('end with the answer, which is told itself, and only the later one is sent after a long stop', async () => {
    await ask()
    await ask({ id: 'q-2' })
    await sendNotifications(contextOf())
    await answer()
    await at(50_000)
    await sendNotifications(contextOf())
    expect(types().sort()).toEqual([
      ...['escalation.opened normal', 'escalation.opened normal', 'escalation.reminder high'],
      'escalation.resolved low',
    ])
    expect(ids().filter((id) => id.includes('q-2'))).toEqual(['msg_repo_q-2-opened', 'msg_repo_q-2-reminder-2'])
  })
})

describe('what asks for an answer is not sent after the answer', () => {
  test('when its channel failed until then; only that it is decided is sent', async () => {
    await ask()
    status = 503
    await sendNotifications(contextOf())
    await answer()
    status = 204
    await at(20_000)
    await sendNotifications(contextOf())
    expect(ids()).toEqual(['msg_repo_q-1-opened', 'msg_repo_q-1-resolved'])
    expect(await notificationsView(db, 10)).toMatchObject([{ kind: 'escalation.resolved' }])
  })

  test('when it was answered before or during the hand-over', async () => {
    await ask()
    await answer()
    await ask({ id: 'q-2' })
    const transaction: Db['transaction'] = async (work) => {
      await answer('q-2')
      return db.transaction(work)
    }
    await handOverDue(contextOf({}, { db: { ...db, transaction } }))
    await sendNotifications(contextOf())
    expect(ids().sort()).toEqual(['msg_repo_q-1-resolved', 'msg_repo_q-2-resolved'])
  })

  test('and what was delivered or given up before stays in the list', async () => {
    await ask()
    await sendNotifications(contextOf())
    await at(1)
    await answer()
    expect(await notificationsView(db, 10)).toMatchObject([
      { kind: 'escalation.resolved', deliveries: [] },
      { kind: 'escalation.opened', deliveries: [{ state: 'delivered' }] },
    ])
  })
})

test('the end of a goal is told, and that it waits to be landed once', async () => {
  const move = (trigger: string): Promise<unknown> =>
    db.transaction(async (tx) => mustSucceed(await moveGoal(tx, (await getGoal(tx, 'g'))!, trigger, 'so')))
  await move('all_done')
  await at(1)
  await move('landed')
  await sendNotifications(contextOf())
  expect(types()).toEqual(['goal.ready low', 'goal.ended low'])
  expect(receiver.received.map(({ body }) => (JSON.parse(body) as { data: { outcome: string } }).data.outcome)).toEqual(
    ['ready', 'done'],
  )
})

test('what the owner does not want is told over no channel', async () => {
  await ask()
  await sendNotifications(contextOf({ webhooks: { on_escalation: receiver.url, events: ['goal_end'] } }))
  expect(receiver.received).toEqual([])
  expect(await notificationsView(db, 10)).toMatchObject([{ deliveries: [] }])
})

describe('without a channel', () => {
  test('nothing is read; who adds one is told of the questions that wait, not of what is long over', async () => {
    await ask()
    await ask({ id: 'q-2' })
    await answer('q-2')
    const silent = contextOf({ webhooks: {} }, { db: { ...db, query: () => Promise.reject(new Error('read')) } })
    await sendNotifications(silent)
    expect(warnings).toEqual([])
    await at(2 * 86_400)
    await sendNotifications(contextOf())
    expect(ids()).toEqual(['msg_repo_q-1-opened', 'msg_repo_q-1-reminder-2'])
  })
})

describe('a receiver that fails', () => {
  test('is tried again after 10 s, 20 s, 40 s …, with the same id, ten times, and then given up in sight of people', async () => {
    await ask()
    status = 503
    const times: number[] = []
    for (let seconds = 0; seconds < 3_600; seconds += 5) {
      await at(seconds)
      const before = receiver.received.length
      await sendNotifications(contextOf())
      if (receiver.received.length > before) times.push(seconds)
    }
    expect(times).toEqual([0, 10, 30, 70, 150, 310, 630, 1_270, 2_550])
    expect(new Set(ids())).toEqual(new Set(['msg_repo_q-1-opened']))
    expect(await undeliveredChannels(db, ['webhook'])).toEqual([
      { channel: 'webhook', waiting: 1, givenUp: 0, problem: 'status 503' },
    ])
    await db.query(sql`update notification set withdrawn_at = unstuck_now() where kind = 'escalation.reminder'`)
    await at(7_000)
    await sendNotifications(contextOf())
    await at(90_000)
    await sendNotifications(contextOf())
    expect(receiver.received).toHaveLength(10)
    expect(await notificationsView(db, 10)).toMatchObject([
      { deliveries: [{ state: 'given_up', attempts: 10, problem: 'status 503', nextAt: null }] },
    ])
    const { undelivered } = await statusView(db, 10, { channels: configuredChannels(contextOf().config()) })
    expect(undelivered).toEqual([{ channel: 'webhook', waiting: 0, givenUp: 1, problem: 'status 503' }])
    expect(
      (await readEvents(db, { after: 0, limit: 500 })).filter(({ type }) => type === 'notification.given_up'),
    ).toMatchObject([{ goalId: 'g', payload: { channel: 'webhook', problem: 'status 503' } }])
  })

  test('and recovers gets it then, and a second channel does not wait for it', async () => {
    const other = await openReceiver()
    await ask()
    status = 500
    const both = contextOf({ notify: { ntfy: `${other.url}/topic` } })
    await sendNotifications(both)
    expect([receiver.received.length, other.received.length]).toEqual([1, 1])
    status = 200
    await at(10)
    await sendNotifications(both)
    await sendNotifications(both)
    expect([receiver.received.length, other.received.length]).toEqual([2, 1])
    expect(await undeliveredChannels(db, ['webhook', 'ntfy'])).toEqual([])
    await other.close()
  })

  test.each([
    ['another one is configured', { desktop: false, ntfy: 'https://ntfy.example.com/t' }],
    ['none is left', {}],
  ])('and whose channel is removed is not tried again, when %s', async (_what, notify) => {
    await ask()
    status = 500
    await sendNotifications(contextOf())
    const tidy = createTidyNotificationsJob()
    await tidy(contextOf())
    expect(await notificationsView(db, 10)).toMatchObject([{ deliveries: [{ state: 'sending' }] }])
    await tidy(contextOf({ webhooks: {}, notify }))
    expect(await notificationsView(db, 10)).toMatchObject([
      { deliveries: [{ state: 'given_up', problem: 'the channel was removed from the configuration' }] },
    ])
  })

  test('a channel that does not respond holds up no other one', async () => {
    const hanging = await openReceiver(() => undefined)
    const stop = new AbortController()
    const context = (): Context =>
      contextOf(
        { webhooks: { on_escalation: hanging.url }, notify: { ntfy: `${receiver.url}/topic` } },
        { stopping: stop.signal },
      )
    const notifier = createNotifier(() => Promise.resolve())
    await ask()
    notifier.start(context())
    await Promise.all([hanging.count(1), receiver.count(1)])
    await ask({ id: 'q-2' })
    const again = setInterval(() => notifier.start(context()), 10)
    await receiver.count(2)
    clearInterval(again)
    expect(hanging.received).toHaveLength(1)
    stop.abort()
    await notifier.idle()
    await hanging.close()
  })
})

describe('an attempt that another engine or a stop interrupts', () => {
  test('counts, so that an engine that is killed in each attempt makes ten of them', async () => {
    await ask()
    await db.query(sql`update notification set withdrawn_at = unstuck_now() where kind = 'escalation.reminder'`)
    const killed = contextOf(
      {},
      {
        ports: { ...realPorts, notify: { ...realPorts.notify, sendOver: () => Promise.reject(new Error('killed')) } },
      },
    )
    for (let day = 0; day < 12; day += 1) {
      await at(day * 3_601)
      await sendNotifications(killed).catch(() => undefined)
    }
    await sendNotifications(contextOf())
    expect(receiver.received).toEqual([])
    expect(await notificationsView(db, 10)).toMatchObject([{ deliveries: [{ state: 'given_up', attempts: 10 }] }])
  })

  test('is made by one of two engines only', async () => {
    await ask()
    await Promise.all([sendNotifications(contextOf()), sendNotifications(contextOf()), sendNotifications(contextOf())])
    await sendNotifications(contextOf())
    expect(receiver.received).toHaveLength(1)
  })

  test('a stop during sending ends the request at once, and the next engine sends with the same id', async () => {
    await ask()
    const hanging = await openReceiver((response, _request, number) => (number === 1 ? undefined : response.end()))
    const stop = new AbortController()
    const webhooks = { on_escalation: hanging.url }
    const sent = sendNotifications(contextOf({ webhooks }, { stopping: stop.signal }))
    await hanging.count(1)
    stop.abort()
    await sent
    await sendNotifications(contextOf({ webhooks }))
    expect(hanging.received).toHaveLength(1)
    await at(10)
    await sendNotifications(contextOf({ webhooks }))
    expect(hanging.received.map(({ headers }) => headers['webhook-id'])).toEqual([
      'msg_repo_q-1-opened',
      'msg_repo_q-1-opened',
    ])
    await hanging.close()
  })
})

describe('a person who has repaired the channel', () => {
  const giveUp = async (): Promise<void> => {
    status = 500
    await sendNotifications(contextOf())
    await db.query(sql`update notification_delivery set given_up_at = unstuck_now(), attempts = 10`)
    status = 204
  }
  const retry = (id: string | null = null, config: object = {}) =>
    retryNotifications({ ...contextOf(config), wake: () => undefined }, id)

  test('has what was given up sent again, with ten new attempts and the same id', async () => {
    await ask()
    await giveUp()
    expect(await retry()).toEqual([{ notificationId: 'q-1-opened', channel: 'webhook' }])
    expect(await notificationsView(db, 10)).toMatchObject([{ deliveries: [{ state: 'sending', attempts: 0 }] }])
    await sendNotifications(contextOf())
    expect(ids()).toEqual(['msg_repo_q-1-opened', 'msg_repo_q-1-opened'])
    expect(await retry()).toEqual([])
    const events = await readEvents(db, { after: 0, limit: 500 })
    expect(events.filter(({ type }) => type === 'notification.retried')).toMatchObject([{ goalId: 'g' }])
  })

  test('but not what asks for an answer that was given meanwhile, nor over a channel that was removed', async () => {
    await ask()
    await ask({ id: 'q-2' })
    await giveUp()
    await answer()
    expect(await retry(null, { webhooks: {} })).toEqual([])
    expect(await retry()).toEqual([{ notificationId: 'q-2-opened', channel: 'webhook' }])
    expect(await retry('q-1-opened')).toEqual([])
  })

  test('may name one, also an old one, and an unknown one is refused', async () => {
    await ask()
    await answer()
    await giveUp()
    await at(3 * 86_400)
    expect(await retry()).toEqual([])
    expect(await retry('q-1-resolved')).toEqual([{ notificationId: 'q-1-resolved', channel: 'webhook' }])
    await expect(retry('q-9-opened')).rejects.toThrow('there is no notification q-9-opened; "unstuck notify list"')
  })
})

describe('once an hour', () => {
  const tidyAt = async (days: number, config: object = {}): Promise<void> => {
    await at(days * 86_400)
    await createTidyNotificationsJob()(contextOf(config))
  }

  test('what was sent long ago is deleted, and a question that waits keeps its notifications', async () => {
    await ask()
    await sendNotifications(contextOf())
    await answer()
    await sendNotifications(contextOf())
    await ask({ id: 'q-2' })
    await sendNotifications(contextOf())
    await tidyAt(40)
    expect((await notificationsView(db, 10)).map(({ id }) => id)).toEqual([
      'q-2-reminder-2',
      'q-2-reminder-1',
      'q-2-opened',
    ])
  })

  test('what was never sent, for lack of a channel, is deleted too', async () => {
    await ask()
    await answer()
    await tidyAt(29, { webhooks: {} })
    expect(await rows()).toBeGreaterThan(0)
    await tidyAt(31, { webhooks: {} })
    expect(await rows()).toBe(0)
  })

  test('so is what waits for a channel that was removed', async () => {
    await ask()
    status = 500
    await sendNotifications(contextOf())
    await answer()
    await sendNotifications(contextOf())
    await tidyAt(31, { webhooks: {} })
    expect(await rows()).toBe(0)
  })
})
