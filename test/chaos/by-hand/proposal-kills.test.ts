/**
 * `kill -9` at any moment of a proposed command: a command whose outcome is unknown never runs again by itself. Every statement is tried in
 * test/runtime/proposals.test.ts; here a real engine dies at random moments. `ROUNDS=100` is the long form.
 */
import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { killable } from '../../support/killable.ts'
import { open, propose, recoveryEvents, scene, tasksOf } from '../../support/proposals.ts'
import { dice } from '../plan.ts'

const rounds = Number(process.env.ROUNDS ?? 5)
const engines: ChildProcess[] = []
afterEach(() => scene.clear())

const startsOf = (name: string): number => {
  const path = join(scene.top, 'ran')
  return existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line === name).length
    : 0
}

test(`${rounds} kills at random moments`, { timeout: rounds * 120_000 + 120_000 }, async () => {
  await open(
    { on_unknown: 'allow', require_human: ['none'], max_auto_recoveries_per_run: 100, cooldown_seconds: 0 },
    {},
    { start: killable(engines) },
  )
  const roll = dice(Number(process.env.SEED ?? 1))
  const ends = { asked: 0, done: 0 }
  for (let round = 1; round <= rounds; round += 1) {
    const name = `k${round}`
    propose(name, { command: `echo ${name} >> TOP/ran; sleep 0.4; touch env.ok` })
    const goal = await scene.goal(tasksOf(name))
    // Every second round at any moment; the others around the command, which takes 0.4 seconds.
    if (round % 2 === 1) await delay(1_500 + roll() * 4_500)
    else {
      await scene.waitFor('the command starts', async () => (startsOf(name) > 0 ? true : undefined))
      await delay(roll() * 900)
    }
    await scene.restart()
    const end = await scene.waitFor(`round ${round} ends`, async () => {
      if ((await scene.task(goal)).status === 'done') return 'done'
      return (await scene.questions()).find(({ goalId }) => goalId === goal)?.kind
    })
    const known = (await recoveryEvents(goal)).filter(([type]) => type === 'recovery_executed').length
    expect(['done', 'recovery_unknown_outcome'], `round ${round}`).toContain(end)
    if (end === 'done') expect(startsOf(name), `round ${round}`).toBe(known)
    // Killed between the intent and the start, it did not run at all.
    else expect([known, startsOf(name) <= 1], `round ${round}`).toEqual([0, true])
    ends[end === 'done' ? 'done' : 'asked'] += 1
    await scene.post(`/goals/${goal}/cancel`).catch(() => undefined)
  }
  console.log(JSON.stringify(ends))
})
