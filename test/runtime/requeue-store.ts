/** Tasks on a real store whose runs fail with what a test names, and whose waits are over at once. */
import { configSchema } from '../../src/config/config-schema.ts'
import type { ErrorMeta } from '../../src/domain/run.ts'
import type { Task } from '../../src/domain/task.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { requeueDue, type PathDecisions } from '../../src/runtime/engine/requeue.ts'
import type { ViolationKind } from '../../src/recovery/policy/path-policy.ts'
import { claimTask } from '../../src/store/claim.ts'
import { mustSucceed, sql, type Db } from '../../src/store/db.ts'
import { readEvents } from '../../src/store/event.ts'
import { requeuesOf } from '../../src/store/requeue.ts'
import { finishRun, getRun } from '../../src/store/run.ts'
import { getTask, moveTask } from '../../src/store/task.ts'
import { openTestStore, type Store } from './store.ts'

let runs = 0

const decided =
  (allowed: boolean): PathDecisions =>
  async (_context, _task, outside) =>
    outside.map((path) =>
      allowed
        ? { path, allowed, rule: 'root_infra', because: `${path} belongs to the build.` }
        : { path, allowed, rule: 'no_rule', because: `No rule connects ${path} with the task.` },
    )

/** What the path policy decides about every path outside a task. */
export const nothing = decided(false)
export const everything = decided(true)

export const failure = (more: Partial<ErrorMeta> = {}): ErrorMeta => ({
  ...{ source: 'verification', failureCode: 'test_failure', message: 'check_failed: it fails', evidence: 'it fails' },
  ...{ signature: `test_failure/${(runs += 1)}`, failedCommand: 'npm test', failedCommandSource: 'task' },
  ...more,
})

type Kind = ViolationKind

export const strayed = (paths: Record<string, Kind>): ErrorMeta =>
  failure({
    ...{ source: 'policy', failureCode: 'policy_violation' },
    policyViolations: Object.entries(paths).map(([path, kind]) => ({ path, kind, rule: 'src/**' })),
  })

export interface RequeueStore {
  store: Store
  contextOf: (db?: Db, requeue?: object, more?: object) => Context
  pass: (requeue?: object, decide?: PathDecisions) => Promise<void>
  /** One run of the task that fails with this; its wait is over at once. */
  fail: (id: string, meta: ErrorMeta, trigger?: string) => Promise<void>
  newGoal: (count?: number, commands?: string[]) => Promise<{ goal: string; tasks: string[] }>
  payloads: (taskId: string, type: string) => Promise<Record<string, unknown>[]>
  causes: (taskId: string) => Promise<string[]>
  reset: () => Promise<void>
  close: () => Promise<void>
}

export const openRequeueStore = async (): Promise<RequeueStore> => {
  const store = await openTestStore()
  const { db } = store
  const contextOf: RequeueStore['contextOf'] = (from = db, requeue = {}, more = {}) =>
    ({
      ...store.context,
      ...{ db: from, config: () => configSchema.parse({ requeue, ...more }), log: { error: () => undefined } },
      stopping: new AbortController().signal,
    }) as unknown as Context
  return {
    ...{ store, contextOf, reset: () => store.reset(), close: () => store.close() },
    pass: (requeue = {}, decide = nothing) => requeueDue(contextOf(db, requeue), decide),
    fail: async (id, meta, trigger = 'rework_needed') => {
      const runId = `r-${(runs += 1)}`
      await db.query(sql`update task set ready = (id = ${id}) where state = 'queued'`)
      await db.transaction((tx) => claimTask(tx, { agentId: 'agent-1', runId, ttlSeconds: 60 }))
      await db.transaction(async (tx) => {
        const run = await getRun(tx, runId)
        if (run === undefined) throw new Error('nothing was claimed')
        mustSucceed(await finishRun(tx, run, 'failed', meta))
        const retry = { reason: 'x', at: new Date(0), count: 1, limit: 1 }
        mustSucceed(await moveTask(tx, (await getTask(tx, id)) as Task, trigger, { retry, runId }))
      })
    },
    newGoal: async (count = 1, commands = []) => {
      const { goal, tasks } = await store.goal(count)
      const list = JSON.stringify(commands)
      await db.query(
        sql`update task set allowed_paths = '["src/**"]'::jsonb, commands = ${list}::jsonb, original_commands = ${list}::jsonb where goal_id = ${goal.id}`,
      )
      return { goal: goal.id, tasks: tasks.map(({ id }) => id) }
    },
    payloads: async (taskId, type) =>
      (await readEvents(db, { taskId, after: 0, limit: 500 }))
        .filter((event) => event.type === type)
        .map(({ payload }) => payload),
    causes: async (taskId) => (await requeuesOf(db, taskId)).map(({ cause }) => cause),
  }
}
