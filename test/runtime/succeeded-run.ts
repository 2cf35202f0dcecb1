/** Finished work on a real store: a run that succeeded, and what its checks found. */
import { emptyVerdict, type CheckResult, type Run, type Verdict, type Weakening } from '../../src/domain/run.ts'
import type { Task } from '../../src/domain/task.ts'
import { claimTask } from '../../src/store/claim.ts'
import { mustSucceed, sql, type Db } from '../../src/store/db.ts'
import { finishRun, getRun, saveRun } from '../../src/store/run.ts'
import { getTask, moveTask } from '../../src/store/task.ts'

export const passedCheck: CheckResult = {
  ...{ command: 'npm test', source: 'task', exitCode: 0, signal: null, timedOut: false, durationMs: 1 },
}

export const verified: Verdict = {
  ...emptyVerdict,
  outcome: 'verified',
  checks: [passedCheck],
  changedPaths: ['src/a.ts'],
}
export const weakened: Weakening[] = [{ kind: 'test removed', path: 'a.test.ts', count: 1, detail: 'one' }]

let runs = 0

/** Each run makes a commit of its own. `reviewed`: the commit that a review task looked at. */
export const succeedOn = async (
  db: Db,
  id: string,
  { verdict = verified, reviewed }: { verdict?: Verdict; reviewed?: string } = {},
): Promise<Run> => {
  const runId = `r-work-${(runs += 1)}`
  const commit = runs.toString(16).padStart(40, '0')
  const made = { commit, verdict, baseCommit: 'b'.repeat(40), ...(reviewed === undefined ? {} : { reviewed }) }
  await db.query(sql`update task set ready = (id = ${id}) where state = 'queued'`)
  await db.transaction((tx) => claimTask(tx, { agentId: 'agent-1', runId, ttlSeconds: 60 }))
  return db.transaction(async (tx) => {
    const saved = mustSucceed(await saveRun(tx, (await getRun(tx, runId)) as Run, made))
    const run = mustSucceed(await finishRun(tx, saved, 'succeeded', null))
    mustSucceed(await moveTask(tx, (await getTask(tx, id)) as Task, 'run_succeeded', { runId }))
    return run
  })
}
