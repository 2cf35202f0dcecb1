/** The periodic jobs of the leader, the switch of the judge, and what is wrong with the whole: on a real store. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest'
import type { Context } from '../../src/runtime/core/context.ts'
import { anomaliesOf, watchAnomalies } from '../../src/runtime/engine/anomalies.ts'
import { createJobs, periodicJobs, type PeriodicJob } from '../../src/runtime/engine/jobs.ts'
import { judgeWorks } from '../../src/runtime/landing/judge-hatch.ts'
import { endStuckRuns } from '../../src/runtime/engine/stuck-runs.ts'
import { judgeView, setJudge } from '../../src/runtime/people/judge-switch.ts'
import { noticesOf } from '../../src/runtime/people/notices.ts'
import { activeAnomalies } from '../../src/store/anomaly.ts'
import { claimTask } from '../../src/store/claim.ts'
import { mustSucceed, sql, type Queryable } from '../../src/store/db.ts'
import { readEvents } from '../../src/store/event.ts'
import { progressGoal } from '../../src/store/goal.ts'
import { listJobs } from '../../src/store/job.ts'
import { enqueueMerge } from '../../src/store/merge.ts'
import { finishRun, getRun, saveRun } from '../../src/store/run.ts'
import { getTask, moveTask } from '../../src/store/task.ts'
import { failure, openRequeueStore, type RequeueStore } from './requeue-store.ts'

let opened: RequeueStore
let context: Context
let runs = 0
let elapsed = 0
beforeAll(async () => {
  opened = await openRequeueStore()
})
afterAll(() => opened.close())
beforeEach(async () => {
  await opened.reset()
  elapsed = 0
  context = { ...opened.contextOf(), clock: { elapsed: () => elapsed } as Context['clock'] }
})

const types = async (): Promise<string[]> =>
  (await readEvents(opened.store.db, { after: 0, limit: 1000 })).map(({ type }) => type)
const query = (text: string) => opened.store.db.query({ text, values: [] })

const claimed = async (): Promise<{ id: string; runId: string }> => {
  const { tasks } = await opened.newGoal()
  const [id = ''] = tasks
  const runId = `r-job-${(runs += 1)}`
  await opened.store.db.query(sql`update task set ready = (id = ${id}) where state = 'queued'`)
  await opened.store.db.transaction((tx) => claimTask(tx, { agentId: 'agent-1', runId, ttlSeconds: 60 }))
  return { id, runId }
}

const succeed = async (): Promise<string> => {
  const { id, runId } = await claimed()
  await opened.store.db.transaction(async (tx) => {
    const run = mustSucceed(await saveRun(tx, (await getRun(tx, runId))!, { commit: 'c'.repeat(40) }))
    await finishRun(tx, run, 'succeeded', null)
    mustSucceed(await moveTask(tx, (await getTask(tx, id))!, 'run_succeeded', { runId }))
  })
  return id
}

describe('periodic jobs', () => {
  const counting = (name: string, seconds: number): PeriodicJob & { runs: number } => {
    const job: PeriodicJob & { runs: number } = {
      name,
      runs: 0,
      run: async () => {
        job.runs += 1
        return seconds
      },
    }
    return job
  }

  it('run when they are due by the stored time, whichever engine leads', async () => {
    const [often, seldom] = [counting('often', 0), counting('seldom', 3600)]
    const first = createJobs('e-1', [often, seldom])
    await first(context)
    await first(context)
    expect([often.runs, seldom.runs]).toEqual([2, 1])
    // Another engine begins to lead: nothing is due that was not.
    await createJobs('e-2', [often, seldom])(context)
    expect([often.runs, seldom.runs]).toEqual([3, 1])
    const stored = await listJobs(opened.store.db)
    expect(stored.map(({ name, engineId }) => [name, engineId])).toEqual([
      ['often', 'e-2'],
      ['seldom', 'e-1'],
    ])
    await query(`update job set due_at = unstuck_now()`)
    await createJobs('e-2', [often, seldom])(context)
    expect(seldom.runs).toBe(2)
  })

  it('one that fails is tried again later and stops no other', async () => {
    const broken = { name: 'broken', run: () => Promise.reject(new Error('no disk')) }
    const other = counting('other', 60)
    await createJobs('e-1', [broken, other])(context)
    expect(other.runs).toBe(1)
    const [job] = await listJobs(opened.store.db)
    expect(Math.round((Number(job?.dueAt) - Number(job?.lastAt)) / 1000)).toBe(60)
  })

  it('look for the branch of a new review as soon as for any other, also after a time without reviews', async () => {
    const jobs = periodicJobs.filter(({ name }) => name === 'review_heads')
    const run = createJobs('e-1', jobs)
    await run(context)
    const lastAt = async () => Number((await listJobs(opened.store.db))[0]?.lastAt)
    const before = await lastAt()
    await query(`update job set due_at = due_at - interval '10 seconds'`)
    elapsed += 10_000
    await run(context)
    expect(await lastAt()).toBeGreaterThan(before)
  })

  it('have names of their own', () => {
    const names = periodicJobs.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
  })
})

describe('the judge', () => {
  it('is started by the first work that waits for it: pendingJudgeTaskCount > 0', async () => {
    expect(await judgeWorks(context)).toBe(false)
    expect(await types()).not.toContain('system.runtime_hatch_armed')
    await succeed()
    expect(await judgeWorks(context)).toBe(true)
    expect(await judgeWorks(context)).toBe(true)
    expect((await types()).filter((type) => type === 'system.runtime_hatch_armed')).toHaveLength(1)
    expect(await judgeView(context)).toMatchObject({ state: 'armed', pendingJudgeTaskCount: 1, openPrCount: 0 })
  })

  it('that a person switched off stays off, whatever waits, on every engine and after a restart', async () => {
    await setJudge(context, { off: true, by: 'ada' })
    await succeed()
    for (const each of [context, opened.contextOf()]) expect(await judgeWorks(each)).toBe(false)
    expect(await noticesOf(opened.store.db, undefined)).toEqual([
      'the judge was switched off by ada, and 1 task waits for it: no review begins and no verdict counts until it is on again. What was approved is still merged. To switch it on: unstuck resume --judge',
    ])
    // The same command again says nothing new.
    await setJudge(context, { off: true, by: 'ada' })
    await setJudge(context, { off: false, by: 'ada' })
    expect(await judgeWorks(context)).toBe(true)
    expect((await types()).filter((type) => type.startsWith('system.runtime_hatch'))).toEqual([
      'system.runtime_hatch_disarmed',
      'system.runtime_hatch_armed',
    ])
    expect(await noticesOf(opened.store.db, undefined)).toEqual([])
  })
})

describe('an anomaly', () => {
  const quiet = { lost: 0, others: 0, failed: 0, succeeded: 0, work: 0, quietSeconds: 0, unexplainedSeconds: 0 }

  test.each([
    ['many runs lost at once', { lost: 3, others: 2 }, ['mass_death']],
    ['some of many runs lost', { lost: 3, others: 9 }, []],
    ['many failures and no success', { failed: 12 }, ['retry_storm']],
    ['many failures and a success', { failed: 12, succeeded: 1 }, []],
    ['an hour without a success while there is work', { work: 1, unexplainedSeconds: 3600 }, ['no_progress']],
    ['an hour for which a run is at work', { work: 1, quietSeconds: 3600, unexplainedSeconds: 60 }, []],
    ['an hour without work', { unexplainedSeconds: 3600 }, []],
  ])('%s', (_title, recent, expected) => {
    expect(Object.keys(anomaliesOf({ ...quiet, ...recent }))).toEqual(expected)
  })

  it('is one event and one line until it is over, and not reported again at once', async () => {
    const { tasks } = await opened.newGoal(1)
    for (let count = 0; count < 12; count += 1) {
      await opened.fail(tasks[0] ?? '', failure(), 'run_failed')
      await query(`update task set state = 'queued', retry = null, retry_at = null where state = 'failed'`)
    }
    await watchAnomalies(context)
    await watchAnomalies(context)
    const storms = async () => (await types()).filter((type) => type === 'anomaly.retry_storm').length
    expect(await storms()).toBe(1)
    expect(await noticesOf(opened.store.db, undefined)).toEqual([
      '12 runs failed within 10 min and none succeeded; "unstuck runs --state failed" lists them',
    ])
    const endedAgo = (minutes: number) =>
      query(`update run set ended_at = unstuck_now() - interval '${minutes} minutes' where state = 'failed'`)
    await endedAgo(11)
    await watchAnomalies(context)
    expect(await noticesOf(opened.store.db, undefined)).toEqual([])
    expect((await types()).at(-1)).toBe('anomaly.cleared')
    // It comes and goes: shown, and reported once in five minutes.
    await endedAgo(1)
    await watchAnomalies(context)
    expect(await noticesOf(opened.store.db, undefined)).toHaveLength(1)
    expect(await storms()).toBe(1)
    await endedAgo(11)
    await watchAnomalies(context)
    await query(`update anomaly set reported_at = unstuck_now() - interval '6 minutes'`)
    await endedAgo(1)
    await watchAnomalies(context)
    expect(await storms()).toBe(2)
  })

  describe('no progress for an hour', () => {
    const noted = async (): Promise<string | undefined> => {
      await watchAnomalies(context)
      return (await noticesOf(opened.store.db, undefined))[0]
    }
    const said = (minutes: number, left = '1 task is'): string =>
      `no run has succeeded and nothing was merged for ${minutes} min, and ${left} not done; "unstuck status" shows what each waits for`
    const ago = (minutes: number): string => `unstuck_now() - interval '${minutes} minutes 30 seconds'`
    /** An active goal with one task, everything about them as old as that. */
    const goalOf = async (minutes: number, limits = '{}'): Promise<{ goal: string; task: string }> => {
      const { goal, tasks } = await opened.newGoal(1)
      await query(`update goal set created_at = ${ago(minutes)}, limits = '${limits}'`)
      await query(`update task set created_at = ${ago(minutes)}, ready = true`)
      await query(`update event set at = ${ago(minutes)}`)
      return { goal, task: tasks[0] ?? '' }
    }
    const claim = async (startedAgo: number): Promise<string> => {
      const runId = `r-quiet-${(runs += 1)}`
      await opened.store.db.transaction((tx) => claimTask(tx, { agentId: 'agent-1', runId, ttlSeconds: 60 }))
      await query(`update run set started_at = ${ago(startedAgo)} where id = '${runId}'`)
      return runId
    }
    const queueAgain = () =>
      query(`update task set state = 'queued', ready = true, retry = null, retry_at = null where state = 'failed'`)
    beforeEach(() => query(`update leader set since = ${ago(600)}`))

    it('counts from the start of the work, also where one run after another fails', async () => {
      const { goal, task } = await goalOf(300)
      for (const spend of [1, 2, 3]) {
        await opened.fail(task, failure(), 'run_failed')
        await opened.store.db.transaction((tx) =>
          progressGoal(tx, goal, { spend: { tokens: spend, costUsd: 0, seconds: 60 } }),
        )
        await queueAgain()
      }
      await claim(10)
      expect(await noted()).toBe(said(300))
    })

    it('counts from the start of the leader', async () => {
      await goalOf(300)
      await query(`update leader set since = ${ago(59)}`)
      expect(await noted()).toBeUndefined()
      await query(`update leader set since = ${ago(61)}`)
      expect(await noted()).toBe(said(61))
    })

    it('counts from the last run that succeeded, and ends with the next', async () => {
      await goalOf(300)
      await query(`update task set ready = false`)
      await succeed()
      await query(`update run set ended_at = ${ago(70)}`)
      await query(`update task set state = 'done', block_reason = null, watched_at = null where state = 'blocked'`)
      await query(`update task set ready = true where state = 'queued'`)
      expect(await noted()).toBe(said(70))
      await query(`update run set ended_at = ${ago(59)}`)
      expect(await noted()).toBeUndefined()
    })

    it('counts from the last merge, which may be long after its run', async () => {
      const { task, goal } = await goalOf(300)
      const runId = await claim(290)
      const done = async (merge: string): Promise<void> => {
        await query(`update merge_entry set state = '${merge}', changed_at = ${ago(61)}`)
      }
      await opened.store.db.transaction(async (tx) => {
        const run = mustSucceed(await saveRun(tx, (await getRun(tx, runId))!, { commit: 'c'.repeat(40) }))
        await enqueueMerge(tx, 'm-1', mustSucceed(await finishRun(tx, run, 'succeeded', null)))
        mustSucceed(await moveTask(tx, (await getTask(tx, task))!, 'run_succeeded', { runId }))
      })
      await query(`update run set ended_at = ${ago(280)}`)
      await query(`update goal set changed_at = unstuck_now() where id = '${goal}'`)
      await done('pending')
      expect(await noted()).toBe(said(280))
      await setJudge(context, { off: true, by: 'ada' })
      expect(await noted()).toMatch(/^the judge was switched off by ada/)
      expect(await activeAnomalies(opened.store.db)).toEqual([])
      await setJudge(context, { off: false, by: 'ada' })
      expect(await noted()).toBe(said(280))
      await done('merged')
      expect(await noted()).toBe(said(61))
      await query(`update merge_entry set changed_at = ${ago(59)}`)
      expect(await noted()).toBeUndefined()
    })

    it('counts from the time when the goal was resumed, and when a task stopped waiting for a person', async () => {
      const { goal, task } = await goalOf(300)
      await opened.store.move(goal, 'paused')
      await opened.store.move(goal, 'resumed')
      expect(await noted()).toBeUndefined()
      await query(`update event set at = ${ago(90)} where type = 'goal.resumed'`)
      expect(await noted()).toBe(said(90))
      await opened.store.ask(task)
      expect(await noted()).toBeUndefined()
      const retried = async (tx: Queryable) => mustSucceed(await moveTask(tx, (await getTask(tx, task))!, 'retried'))
      await opened.store.db.transaction(retried)
      expect(await noted()).toBeUndefined()
      await query(`update event set at = ${ago(75)} where payload ->> 'trigger' = 'retried'`)
      expect(await noted()).toBe(said(75))
    })

    it('is as old as the oldest work: another goal does not begin it again', async () => {
      await goalOf(300)
      await opened.store.goal(1)
      expect(await noted()).toBe(said(300, '2 tasks are'))
    })

    it('is none while the run that fills the time is at work within its own limit', async () => {
      const { task } = await goalOf(62, '{"runSeconds": 7200}')
      const runId = await claim(61)
      expect(await noted()).toBeUndefined()
      // Its executor is gone.
      await query(`update lease set expires_at = unstuck_now() - interval '1 second'`)
      expect(await noted()).toBe(said(62))
      await query(`update lease set expires_at = unstuck_now() + interval '1 minute'`)
      expect(await noted()).toBeUndefined()
      const older = async (minutes: number): Promise<void> => {
        await query(`update run set started_at = ${ago(minutes)} where id = '${runId}'`)
        await query(`update event set at = ${ago(minutes)} where task_id = '${task}' or goal_id is not null`)
        await query(`update task set created_at = ${ago(minutes)}`)
      }
      // Two hours and one verification.
      await older(179)
      expect(await noted()).toBeUndefined()
      await older(180)
      expect(await noted()).toBe(said(180))
      await query(`update goal set limits = '{"runSeconds": -1}'`)
      expect(await noted()).toBeUndefined()
    })

    it('reads neither merges nor events while a run succeeded lately', async () => {
      await goalOf(300)
      await query(`update leader set since = ${ago(30)}`)
      const rows = await opened.store.db.transaction(async (tx) => {
        let plan: { text: string; values: unknown[] } | undefined
        const seen: Queryable = {
          query: (statement) => {
            if (statement.text.includes('merge_entry')) plan = statement
            return tx.query(statement)
          },
        }
        await watchAnomalies({ ...context, db: { ...opened.store.db, query: seen.query } })
        return tx.query<Record<string, string>>({ text: `explain analyze ${plan?.text}`, values: plan?.values ?? [] })
      })
      const lines = rows.map((row) => Object.values(row)[0] ?? '')
      expect(lines.find((line) => line.includes('on merge_entry'))).toContain('never executed')
      expect(lines.filter((line) => line.includes('on event'))).not.toEqual([])
      for (const line of lines.filter((text) => text.includes('on event'))) expect(line).toContain('never executed')
    })
  })
})

describe('a run out of time', () => {
  const old = (what: 'started' | 'event', minutes: number) =>
    what === 'started'
      ? query(`update run set started_at = unstuck_now() - interval '${minutes} minutes'`)
      : query(`update event set at = unstuck_now() - interval '${minutes} minutes' where run_id is not null`)

  it('without a sign of life is ended; its task waits and starts again', async () => {
    const { id, runId } = await claimed()
    await query(`update goal set limits = '{"runSeconds": 3600}'`)
    await old('started', 130)
    await endStuckRuns(context)
    // It did something in the meantime.
    expect((await getRun(opened.store.db, runId))?.state).toBe('running')
    await old('event', 121)
    await endStuckRuns(context)
    expect(await getRun(opened.store.db, runId)).toMatchObject({
      state: 'failed',
      errorMeta: { failureCode: 'timeout' },
    })
    const task = await opened.store.task(id)
    expect(task).toMatchObject({ status: 'failed', retry: { reason: 'timeout' } })
    // Not before the executor has noticed that its lease is gone.
    expect(Number(task.retry?.at)).toBeGreaterThan(Date.now() + 100_000)
    expect(await types()).toContain('run.timeout')
  })

  // Goals of an older store still have limits that set none.
  it.each([{}, { runSeconds: -1 }, { runSeconds: 0 }])('whose limit is lifted is left alone: %j', async (limits) => {
    const { runId } = await claimed()
    await query(`update goal set limits = '${JSON.stringify(limits)}'`)
    await old('started', 10_000)
    await old('event', 10_000)
    await endStuckRuns(context)
    expect((await getRun(opened.store.db, runId))?.state).toBe('running')
  })
})
