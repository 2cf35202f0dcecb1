/** Work of which everything looks generated and was left out: only checks that make it again turn it into no change. Real store, git and checks. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Excluded } from '../../src/domain/run.ts'
import { playbooks } from '../../src/recovery/ladder.ts'
import { workNow } from '../../src/runtime/agent/collected.ts'
import { saveProgress, type RunContext } from '../../src/runtime/core/run-context.ts'
import { policy } from '../../src/runtime/run/phases/policy.ts'
import { verify } from '../../src/runtime/run/phases/verify.ts'
import type { Db } from '../../src/store/db.ts'
import { recoveriesOfRun } from '../../src/store/recovery.ts'
import { openTestDb } from '../support/test-db.ts'
import { openAskScene, type AskScene } from './ask-scene.ts'

let db: Db
let scene: AskScene
beforeAll(async () => {
  db = await openTestDb()
})
afterEach(async () => scene.clear())
afterAll(() => db.close())

const leftOut: Excluded = { path: 'dist/', because: 'it looks generated, and the checks make it again' }

/** A run of which phase `policy` left out all that its agent changed; its check is this program. */
const runWith = async (check: string): Promise<RunContext> => {
  scene = await openAskScene({
    db,
    agents: { asker: '' },
    files: { 'check.mjs': check },
    work: { 'dist/app.js': 'app' },
  })
  rmSync(join(scene.workspace, 'src'), { recursive: true })
  const { context, task } = scene.runContext
  // No model is asked, and its agent was already asked again.
  const disabled = ['policy-ask', 'no-change-restart']
  const runContext = {
    ...scene.runContext,
    task: { ...task, allowedPaths: ['src/**'], commands: ['node check.mjs'] },
    context: { ...context, policy: () => ({ playbooks, disabled, retry: context.config().retry }) },
  }
  await saveProgress(runContext, { tree: (await workNow(runContext)).tree })
  expect(await policy(runContext)).toBe('on')
  expect(runContext.run).toMatchObject({ phase: 'verify', verdict: { excluded: [{ ...leftOut, unproven: true }] } })
  return runContext
}

const recoveries = async ({ run }: RunContext) =>
  (await recoveriesOfRun(db, run.id)).map(({ action, status, detail }) => ({ name: action.name, status, detail }))

test('no check makes it again: it is collected again as work, and the run is not done without it', async () => {
  const runContext = await runWith('')
  expect(await verify(runContext)).toBe('on')
  expect(runContext.run).toMatchObject({ phase: 'collect', tree: null })
  expect(runContext.run.verdict?.excluded).toBeUndefined()
  expect((await workNow(runContext)).changes.map(({ path }) => path)).toEqual(['dist/app.js'])
  expect(await recoveries(runContext)).toEqual([
    { name: 'DISCARD_GENERATED', status: 'failed', detail: 'no check made dist/ again' },
  ])
})

test('the checks make it again: the run is done without a change, and says what is not part of it', async () => {
  const make = `import { mkdirSync, writeFileSync } from 'node:fs'
mkdirSync('dist', { recursive: true })
writeFileSync('dist/app.js', 'app')`
  const runContext = await runWith(make)
  expect(await verify(runContext)).toBe('on')
  expect(runContext.run).toMatchObject({ phase: 'finish', verdict: { noChange: true } })
  expect(runContext.run.verdict?.excluded).toEqual([leftOut])
  expect(runContext.run.verdict?.notes).toContain(
    'dist/ is not part of the work: it looks generated, and the checks make it again',
  )
  expect(await recoveries(runContext)).toEqual([
    { name: 'DISCARD_GENERATED', status: 'success', detail: 'the work passed its checks without these files' },
  ])
})
