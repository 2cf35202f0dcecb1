/** A question whose output cannot be read: its agent is ended before another one starts. Real processes, git and store. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { ask, type AskRequest } from '../../src/runtime/agent/ask.ts'
import type { AskContext } from '../../src/runtime/agent/ask-context.ts'
import type { Processes } from '../../src/runtime/core/ports.ts'
import type { Db } from '../../src/store/db.ts'
import { openTestDb } from '../support/test-db.ts'
import { openAskScene, type AskScene } from './ask-scene.ts'

const schema = z.strictObject({ fits: z.boolean() })
const request: AskRequest<z.output<typeof schema>> = {
  ...{ purpose: 'review', prompt: 'Does it fit?', schema, input: 'the work' },
  ...{ timeoutMs: 60_000, attempts: 2 },
}

const answersWhenTold = `
const waiting = setInterval(() => {
  if (!existsSync('TRACES/told')) return
  clearInterval(waiting)
  answer('{"fits":true}')
}, 20)`

let db: Db
let scene: AskScene
beforeAll(async () => {
  db = await openTestDb()
  scene = await openAskScene({ db, agents: { asker: answersWhenTold } })
})
afterAll(async () => {
  await scene.clear()
  await db.close()
})

test('an agent that cannot be heard is over before the next one is asked, also one whose program has not started yet', async () => {
  const { runContext, traces } = scene
  const { processes } = runContext.context.ports
  const launches: string[] = []
  const atStart: string[] = []
  const unheardOnce: Partial<Processes> = {
    startShim: async (dir, spec, environment) => {
      atStart.push(...launches.map((before) => processes.launchState(before).state))
      launches.push(dir)
      if (launches.length === 2) writeFileSync(join(traces, 'told'), '')
      return processes.startShim(dir, spec, environment)
    },
    // It fails at once: the shim has seen its gate at most, and its program is still to come.
    follow: (dir, options) => {
      if (launches.length === 1) throw new Error('the output cannot be read')
      return processes.follow(dir, options)
    },
  }
  const context = {
    ...runContext.context,
    ports: { ...runContext.context.ports, processes: { ...processes, ...unheardOnce } },
  }
  const asking: AskContext = { ...runContext, context }
  expect(await ask(asking, request)).toMatchObject({ ok: true, value: { fits: true }, attempts: 2 })
  expect(atStart).toEqual(['ended'])
})
