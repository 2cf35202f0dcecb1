/** A check that the system kills on the base commit as well: its checks run again later, and no agent is called for it. */
import { afterEach, expect, test } from 'vitest'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'
import { shortened } from '../support/form.ts'

let scene: Scene
afterEach(() => scene.clear())

const agent: FaultAgent = { driver: 'command', program: `put('made.txt', String(count('TOP/starts')))` }
const retry = { transientBaseSeconds: 0.3, transientMaxSeconds: 1 }
const launchesOf = async (goal: string): Promise<number> =>
  (await scene.runs(goal)).reduce((sum, { launches }) => sum + launches.length, 0)

const killed = 'kill -9 $$\n'

test.each(
  shortened(
    [
      ['itself', { 'check.sh': killed }, 'sh check.sh'],
      ['under make', { Makefile: "test:\n\tsh -c 'kill -9 $$$$'\n" }, 'make test'],
    ],
    1,
  ),
)('a check that is killed %s', async (_name, files, command) => {
  // With the defaults the agent would be called again for each failure of the work.
  scene = await openScene({ agent }, { retry, requeue: {} }, { files })
  const goal = await scene.goal([{ commands: [command] }])
  await scene.until(goal, 'awaiting_human', 'ready')
  expect(await launchesOf(goal)).toBe(1)
  const [question, ...more] = await scene.questions()
  expect([question?.question, more]).toEqual([expect.stringMatching(/memory/), []])
  const recoveries = await scene.recoveries(goal)
  expect(new Set(recoveries.map(({ playbook }) => playbook))).toEqual(new Set(['machine-wait']))
})
