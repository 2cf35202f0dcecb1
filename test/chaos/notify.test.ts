/** kill -9 of the engine around the sending of a notification: it is sent by the next engine, and a receiver that drops repeated ids has it once. */
import { rmSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { NotificationJson } from '../../src/api/contract.ts'
import { openReceiver, type Receiver } from '../notify/receiver.ts'
import { closeScene, openScene, post, start, untilOver, type Scene } from './rounds.ts'
import { goalFor, makeTemplate, must, until, type EngineProcess } from './world.ts'
import { isLongForm } from '../support/form.ts'

let template = ''
let scene: Scene
let receiver: Receiver

beforeAll(async () => {
  template = await makeTemplate()
})
afterAll(() => rmSync(template, { recursive: true, force: true }))
afterEach(async () => {
  await closeScene(scene)
  await receiver.close()
})

const kill = async (engine: EngineProcess): Promise<void> => {
  engine.child.kill('SIGKILL')
  await engine.ended
}

const isDelivered = async (): Promise<boolean> => {
  const told = await must<NotificationJson[]>(scene.world, '/notifications')
  return told.every(({ deliveries }) => deliveries.length > 0 && deliveries.every(({ state }) => state === 'delivered'))
}
const webhookIds = (): string[] =>
  receiver.received.map(({ headers }) => String(headers['webhook-id'])).filter((id) => id.endsWith('-opened'))

test('killed after the receiver got it and before that was recorded: sent again with the same id', async () => {
  receiver = await openReceiver((response, _request, number) => (number === 1 ? undefined : response.end()))
  scene = await openScene(template, { kind: 'question', environment: { UNSTUCK_WEBHOOK_URL: receiver.url } })
  const first = await start(scene)
  await post(scene, goalFor('broken'))
  await receiver.count(1)
  await kill(first)
  expect(webhookIds()).toHaveLength(1)
  await untilOver(scene, await start(scene))
  await receiver.count(2)
  await until('the delivery is recorded', isDelivered)
  expect(webhookIds()).toHaveLength(2)
  expect(new Set(webhookIds()).size).toBe(1)
})

test.runIf(isLongForm)('killed after it was stored and before it was sent: sent once by the next engine', async () => {
  receiver = await openReceiver()
  scene = await openScene(template, { kind: 'question' })
  const first = await start(scene)
  await post(scene, goalFor('broken'))
  await untilOver(scene, first)
  await kill(first)
  expect(receiver.received).toEqual([])
  await start(scene, { UNSTUCK_WEBHOOK_URL: receiver.url })
  await until('the delivery is recorded', isDelivered)
  expect(webhookIds()).toHaveLength(1)
})
