/** `unstuck run` that follows its goal while the engine under it is killed: it prints every event once, and the true end. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { GoalView, EventView } from '../../src/api/contract.ts'
import { livenessOf, type ProcessIdentity } from '../../src/platform/process.ts'
import { closeScene, openScene, type Scene } from './rounds.ts'
import { storedEvents } from './invariants.ts'
import { ask, makeTemplate, notesOf, until } from './world.ts'

const entry = fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))

let template = ''
beforeAll(async () => {
  template = await makeTemplate()
})
afterAll(() => rmSync(template, { recursive: true, force: true }))

const engineOf = ({ world }: Scene): ProcessIdentity | undefined => {
  try {
    const { identity } = JSON.parse(readFileSync(join(world.stateDir, 'engine.json'), 'utf8')) as {
      identity: ProcessIdentity
    }
    return livenessOf(identity) === 'alive' ? identity : undefined
  } catch {
    return undefined // not there, or just being replaced
  }
}

const kill = (scene: Scene): Promise<void> =>
  until('an engine is there to be killed', () => {
    const identity = engineOf(scene)
    if (identity === undefined) return false
    process.kill(identity.pid, 'SIGKILL')
    return true
  })

type Line = EventView | { type: 'result'; goal: GoalView }
type Printed = { lines: Line[]; code: number | null }

/** A task that holds until it is released, and one that waits for it. */
const tasks = {
  version: 1,
  goal: 'Two tasks',
  tasks: [
    { id: 'hold', title: 'Hold', instructions: 'Hold.', harness: 'hold' },
    { id: 'alpha', title: 'Alpha', instructions: 'Work.', harness: 'alpha', after: ['hold'] },
  ],
}

const follow = async (scene: Scene, meanwhile: () => Promise<void>): Promise<Printed> => {
  const { world } = scene
  writeFileSync(join(world.root, 'goal.json'), JSON.stringify(tasks))
  const child = spawn(process.execPath, [entry, 'run', join(world.root, 'goal.json'), '--json'], {
    cwd: world.repo,
    env: world.environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  const ended = once(child, 'close') as Promise<[number | null]>
  try {
    await meanwhile()
    const [code] = await ended
    return {
      code,
      lines: text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Line),
    }
  } finally {
    child.kill()
    await ended
  }
}

describe('a followed goal whose engine is killed', () => {
  it('goes on in the next engine, and every event is printed once and in order', async () => {
    const scene = await openScene(template, { kind: 'landing' })
    try {
      const { code, lines } = await follow(scene, async () => {
        await until('the first agent works', () =>
          notesOf(scene.world).some((note) => note.event === 'start' && note.task === 'hold'),
        )
        await kill(scene)
        await kill(scene)
        await until('an engine is there again', async () => (await ask(scene.world, 'GET', '/health')) !== undefined)
        writeFileSync(join(scene.world.root, 'release'), '')
      })
      const result = lines.at(-1)
      const printed = lines.slice(0, -1) as EventView[]
      expect({ code, result }).toMatchObject({ code: 0, result: { type: 'result', goal: { state: 'ready' } } })
      const goalId = printed[0]?.goalId
      const stored = (await storedEvents(scene.world)).filter((event) => event.goalId === goalId)
      expect(printed.map((event) => event.seq)).toEqual(stored.map((event) => event.seq))
      expect(stored.filter((event) => event.type === 'run.reattached').length).toBeGreaterThan(0)
    } finally {
      await ask(scene.world, 'POST', '/shutdown')
      await until('the engine ends', () => engineOf(scene) === undefined)
      await closeScene(scene)
    }
  })
})
