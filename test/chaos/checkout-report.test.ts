/** An engine that is killed around the report of what changed in the owner's checkout: it is reported once, and asked about once. */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { EventView, StatusView } from '../../src/api/contract.ts'
import { closeScene, openScene, post, start, untilOver, type Scene } from './rounds.ts'
import { ask, gitOutput, goalFor, makeTemplate, must } from './world.ts'
import { shortened } from '../support/form.ts'

let template = ''
let scene: Scene | undefined

beforeAll(async () => {
  template = await makeTemplate()
})
afterAll(() => rmSync(template, { recursive: true, force: true }))
afterEach(async () => {
  if (scene !== undefined) await closeScene(scene)
  scene = undefined
})

test.each(shortened(['checkout-read', 'checkout-reported'], 1))('killed at %s', async (point) => {
  scene = await openScene(template, { kind: 'question' })
  const { world } = scene
  const mark = join(world.root, 'killed')
  const first = await start(scene, { CHAOS_POINT: point, CHAOS_PASS: '1', CHAOS_MARK: mark })
  await post(scene, goalFor('sneak'))
  expect((await first.ended).signal).toBe('SIGKILL')
  expect(readFileSync(mark, 'utf8')).toBe(point)
  const second = await start(scene)
  await untilOver(scene, second)
  const after = gitOutput(world.repo, 'rev-parse', 'main')
  const change = { part: 'ref', name: 'refs/heads/main', before: world.base, after }
  const edit = { part: 'file', name: 'check.mjs', before: null }
  const { escalations } = await must<StatusView>(world, '/status')
  expect(escalations.map(({ kind }) => kind)).toEqual(['checkout_changed'])
  const [kept, restored] = escalations[0]?.choices ?? []
  expect([kept?.kind, restored]).toMatchObject(['keep', { kind: 'restore', changes: [change, edit] }])
  const events = await must<EventView[]>(world, '/events?limit=1000')
  const payloads = (wanted: string) => events.filter(({ type }) => type === wanted).map(({ payload }) => payload)
  expect(payloads('ref.moved')).toMatchObject([
    { refs: [{ ref: 'refs/heads/main', before: world.base, after, by: 'unknown' }] },
  ])
  expect(payloads('checkout.changed')).toMatchObject([
    { changes: [{ part: 'file', name: 'check.mjs', by: 'unknown' }] },
  ])
  await ask(world, 'POST', `/escalations/${escalations[0]?.id}/answer`, { choice: 'restore' })
  expect((await must<StatusView>(world, '/status')).escalations).toEqual([])
  expect(gitOutput(world.repo, 'rev-parse', 'main')).toBe(world.base)
  expect(gitOutput(world.repo, 'status', '--porcelain')).toBe('')
})
