/** A person who is told: a real engine whose agent gets stuck, a receiver on this machine, and the command line. */
import { writeFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { GoalView, NotificationJson } from '../../src/api/contract.ts'
import { openScene, until, type Scene } from '../hostile/scene.ts'
import { openReceiver, type Receiver } from '../notify/receiver.ts'

const secret = `whsec_${Buffer.alloc(32, 3).toString('base64')}`
const never = 'process.exit(1)\n'

interface Published {
  actions?: { label: string; url: string; body: string }[]
}

let hook: Receiver
let topic: Receiver
let broken: Receiver
let scene: Scene
beforeAll(async () => {
  hook = await openReceiver()
  topic = await openReceiver()
  broken = await openReceiver((response) => response.writeHead(500).end('database\u001b[2J is down'))
  scene = await openScene(['honest'], {
    files: { 'never.mjs': never },
    config: {
      ...{ webhooks: { on_escalation: `${hook.url}/hook`, secret }, notify: { ntfy: `${topic.url}/mine` } },
      requeue: { inPlaceLimit: 0, reworkDepth: 0 },
      playbooks: { disabled: ['check-feedback', 'fresh-feedback'] },
    },
  })
})
afterAll(async () => {
  await scene.clear()
  for (const receiver of [hook, topic, broken]) await receiver.close()
})

const configure = (change: object): void => {
  const path = join(scene.root, '.unstuck', 'config.json')
  writeFileSync(path, JSON.stringify({ ...(JSON.parse(readFileSync(path, 'utf8')) as object), ...change }))
}
const typesOf = ({ received }: Receiver): string[] =>
  received.map(({ body }) => (JSON.parse(body) as { type: string }).type)

test('AC-9: the question of a stuck task reaches webhook and ntfy, its answer too, and both are listed', async () => {
  const { tasks } = await scene.work([{ commands: ['node never.mjs'] }])
  await hook.count(1)
  await topic.count(1)
  const [asked] = (await scene.status()).escalations
  expect(typesOf(hook)).toEqual(['escalation.opened'])
  expect(hook.received[0]!.headers['webhook-signature']).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/)
  const { data } = JSON.parse(hook.received[0]!.body) as {
    data: { escalation: string; task: string; choices: { id: string; command: string }[] }
  }
  expect(data).toMatchObject({ escalation: asked!.id, task: tasks[0]!.id })
  expect(data.choices.map(({ id, command }) => [id, command])).toEqual(
    asked!.choices.map(({ id, command }) => [id, command]),
  )
  expect(JSON.parse(topic.received[0]!.body)).toMatchObject({ topic: 'mine', priority: 3, tags: ['escalation.opened'] })
  const answered = await scene.here('answer', tasks[0]!.id, 'cancel')
  expect(answered.exitCode).toBe(0)
  await hook.count(3)
  expect(typesOf(hook).slice(1).sort()).toEqual(['escalation.resolved', 'goal.ended'])
  const list = await until(async () => {
    const entries = JSON.parse((await scene.here('notify', 'list', '--json')).stdout) as NotificationJson[]
    return entries.every(({ deliveries }) => deliveries.every(({ state }) => state === 'delivered'))
      ? entries
      : undefined
  }, 'everything is recorded as delivered')
  expect(list.map(({ kind }) => kind).sort()).toEqual(['escalation.opened', 'escalation.resolved', 'goal.ended'])
  const { stdout } = await scene.here('notify', 'list')
  expect(stdout).toMatch(
    /escalation\.opened \(normal\): .*\[q-[a-z0-9]+-opened\]\n {6}ntfy: delivered\n {6}webhook: delivered\n/,
  )
  expect((await scene.here('status')).stdout).not.toContain('notify ')
})

test('a receiver that fails is in `status` and in the list, with the start of what it said', async () => {
  configure({ webhooks: { on_escalation: `${broken.url}/secret-path` }, notify: {} })
  await scene.work([{ commands: ['node never.mjs'] }])
  await broken.count(1)
  const line = await until(async () => {
    const found = /^notify .*$/m.exec((await scene.here('status')).stdout)
    return found?.[0]
  }, 'status names the channel')
  expect(line).toMatch(
    /^notify webhook: \d not delivered yet: status 500: database \[2J is down \(unstuck notify list\)$/,
  )
  const { stdout } = await scene.here('notify', 'list', '--limit', '1')
  expect(stdout).toMatch(/webhook: attempt \d+ failed \(status 500: database \[2J is down\), next /)
  expect(stdout).not.toContain('secret-path')
})

test('a press of a button on the phone answers the question, and the running engine goes on', async () => {
  const pressed: string[] = []
  const ntfy = await openReceiver((response, { path, body }) => {
    if (path === '/answers') pressed.push(JSON.stringify({ event: 'message', message: body }))
    response.end(path.startsWith('/answers/json') ? pressed.join('\n') : '{}')
  })
  configure({ webhooks: {}, notify: { ntfy: `${ntfy.url}/mine`, ntfyAnswers: `${ntfy.url}/answers` } })
  const { id } = await scene.work([{ commands: ['node never.mjs'] }])
  const action = await until(async () => {
    const bodies = ntfy.received.filter(({ path }) => path === '/').map(({ body }) => JSON.parse(body) as Published)
    return bodies.flatMap(({ actions = [] }) => actions).find(({ label }) => label.includes('Cancel'))
  }, 'a notification with buttons')
  await fetch(action.url, { method: 'POST', body: action.body })
  await until(
    async () => ((await scene.api<GoalView>(`/goals/${id}`)).tasks[0]?.state === 'cancelled' ? true : undefined),
    'the answer',
  )
  configure({ notify: {} })
  await ntfy.close()
})

test('`notify test` says for each channel whether it works, and what to do where none is configured', async () => {
  configure({ webhooks: { on_escalation: `${broken.url}/secret-path` }, notify: { ntfy: `${topic.url}/mine` } })
  const mixed = await scene.here('notify', 'test')
  expect([mixed.exitCode, mixed.stdout]).toEqual([
    1,
    'BAD webhook (webhooks.on_escalation): status 500: database [2J is down\nok  ntfy: delivered\nThe webhook is not signed. To sign it, set UNSTUCK_WEBHOOK_SECRET (docs/notifications.md).\n',
  ])
  const one = await scene.here('notify', 'test', '--channel', 'ntfy', '--json')
  expect([one.exitCode, JSON.parse(one.stdout)]).toEqual([
    0,
    { ok: true, channels: [{ channel: 'ntfy', ok: true, problem: '' }] },
  ])
  const missing = await scene.here('notify', 'test', '--channel', 'desktop')
  expect([missing.exitCode, missing.stdout]).toEqual([
    78,
    'The channel desktop is not configured.\nAdd to .unstuck/config.json: "notify": {"desktop": true}\nThen: unstuck notify test\n',
  ])
  configure({ webhooks: {}, notify: {} })
  const none = await scene.here('notify', 'test')
  expect([none.exitCode, none.stdout]).toMatchObject([78, expect.stringContaining('No channel is configured')])
  configure({ webhooks: { on_escalation: 'http://example.com/secret-path' } })
  const wrong = await scene.here('notify', 'test')
  expect(wrong.exitCode).toBe(78)
  expect(wrong.stderr).toMatch(/config\.json: webhooks\.on_escalation is not usable; it is not encrypted/)
  expect(wrong.stderr).not.toContain('secret-path')
  const unknown = await scene.here('notify', 'test', '--channel', 'mail')
  expect([unknown.exitCode, unknown.stderr]).toMatchObject([2, expect.stringContaining('webhook, ntfy, desktop')])
  const link = await scene.here('up', '--public-url', 'http://example.com')
  expect([link.exitCode, link.stderr]).toMatchObject([
    2,
    expect.stringContaining('--public-url is not usable: it is not'),
  ])
  const limit = await scene.here('notify', 'list', '--limit', 'many')
  expect([limit.exitCode, limit.stderr]).toMatchObject([2, expect.stringContaining('limit')])
})
