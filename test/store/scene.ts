/** Goals, tasks and agents for the store's tests, with no more fields than a test cares about. */
import { noSpend } from '../../src/domain/budget.ts'
import type { Goal } from '../../src/domain/goal.ts'
import type { Run } from '../../src/domain/run.ts'
import type { Task } from '../../src/domain/task.ts'
import { registerAgents } from '../../src/store/agent.ts'
import { claimTask, type Claim } from '../../src/store/claim.ts'
import { mustSucceed, type Db, type Queryable } from '../../src/store/db.ts'
import type { NewEngine } from '../../src/store/engine.ts'
import { getGoal, insertGoal, moveGoal } from '../../src/store/goal.ts'
import type { NewRecovery } from '../../src/store/recovery.ts'
import { finishRun } from '../../src/store/run.ts'
import { getTask, insertTasks, moveTask, type NewTask } from '../../src/store/task.ts'
import { tables } from '../support/tables.ts'

export const taskOf = (goalId: string, number: number, extra: Partial<NewTask> = {}): NewTask => ({
  id: `${goalId}-t${number}`,
  goalId,
  number,
  title: `task ${number}`,
  instructions: 'do it',
  role: 'worker',
  allowedPaths: ['**'],
  deniedPaths: [],
  commands: ['npm test', 'npm run lint'],
  commandSource: 'task',
  dependsOn: [],
  targetArea: null,
  harness: 'codex',
  model: null,
  priority: 0,
  ...extra,
})

export const plannedGoal = (tx: Queryable, id: string): Promise<Goal> =>
  insertGoal(tx, {
    id,
    title: id,
    requirement: 'work',
    repoMode: 'local',
    targetBranch: 'main',
    baseCommit: 'b'.repeat(40),
    headCommit: null,
    autoMerge: false,
    allowedDirs: [],
    limits: {},
    spend: noSpend,
  })

/** An active goal with these tasks; each entry is what differs from a plain task. */
export const activeGoal = (db: Db, id: string, tasks: Partial<NewTask>[]): Promise<Goal> =>
  db.transaction(async (tx) => {
    const goal = await plannedGoal(tx, id)
    await insertTasks(
      tx,
      tasks.map((extra, index) => taskOf(id, index + 1, extra)),
    )
    return mustSucceed(await moveGoal(tx, goal, 'planned'))
  })

export const agents = (db: Db, ...ids: string[]): Promise<void> =>
  db.transaction((tx) => registerAgents(tx, ids, 'host'))

export const engineOf = (id: string, more: Partial<NewEngine> = {}): NewEngine => ({
  id,
  host: 'host',
  bootId: 'boot',
  pid: 1,
  startTime: '1',
  roles: ['control', 'executor'],
  harnesses: ['codex'],
  labels: [],
  ttlSeconds: 60,
  ...more,
})

let runs = 0

export const claim = (db: Db, agentId: string): Promise<Claim | undefined> =>
  db.transaction((tx) => claimTask(tx, { agentId, runId: `run-${(runs += 1)}`, ttlSeconds: 300 }))

export const claimed = async (db: Db, agentId: string): Promise<Claim> => {
  const taken = await claim(db, agentId)
  if (taken === undefined) throw new Error(`${agentId} found nothing to claim`)
  return taken
}

export const task = async (db: Queryable, id: string): Promise<Task> => {
  const found = await getTask(db, id)
  if (found === undefined) throw new Error(`no task ${id}`)
  return found
}

export const goal = async (db: Queryable, id: string): Promise<Goal> => {
  const found = await getGoal(db, id)
  if (found === undefined) throw new Error(`no goal ${id}`)
  return found
}

/** Run, lease, agent and task end together, as the executor does it. */
export const end = (
  db: Db,
  run: Run,
  runTrigger: 'succeeded' | 'failed' | 'interrupted' | 'cancelled',
  taskTrigger: string,
): Promise<void> =>
  db.transaction(async (tx) => {
    mustSucceed(await finishRun(tx, run, runTrigger, null))
    mustSucceed(await moveTask(tx, await task(tx, run.taskId), taskTrigger))
  })

export const recoveryOf = (run: Run, extra: Partial<NewRecovery> = {}): NewRecovery => ({
  id: `rec_${run.id}_${extra.attempt ?? 1}`,
  goalId: run.goalId,
  taskId: run.taskId,
  runId: run.id,
  worker: 'codex',
  playbook: 'git-trust-relaunch',
  rung: 1,
  scope: 'launch',
  label: 'GIT_TRUST_ERROR',
  signature: 's',
  issueDetected: 'Not inside a trusted directory',
  action: { type: 'relaunch', name: 'RELAUNCH_WITH_SKIP_GIT_CHECK' },
  actionKey: 'relaunch:skip-git-check:',
  postCondition: { type: 'session_opens' },
  counted: true,
  attempt: 1,
  ...extra,
})

const emptying = `begin;
  ${tables.map((table) => `delete from ${table};`).join(' ')}
  select setval('event_id_seq', 1, false), setval('merge_entry_number_seq', 1, false), setval('judgement_number_seq', 1, false);
  commit;`

/** Leaves the schema, empties every table that holds work, in one message: it is called before most tests. */
export const empty = (db: Db): Promise<void> => db.script(emptying)
