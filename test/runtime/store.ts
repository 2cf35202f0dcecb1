/** A real store with ways to bring goals and tasks into any state along their flow tables. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EscalationKind } from '../../src/domain/escalation.ts'
import { noSpend } from '../../src/domain/budget.ts'
import type { Goal } from '../../src/domain/goal.ts'
import type { Task } from '../../src/domain/task.ts'
import { approveChoice, cancelChoice, resumeChoice, retryChoice } from '../../src/runtime/core/choices.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { realPorts } from '../../src/runtime/core/ports.ts'
import { systemClock } from '../../src/runtime/core/system-clock.ts'
import { registerAgents } from '../../src/store/agent.ts'
import { claimTask } from '../../src/store/claim.ts'
import { mustSucceed, sql, type Db } from '../../src/store/db.ts'
import { openEscalation } from '../../src/store/escalation.ts'
import { getGoal, insertGoal, moveGoal } from '../../src/store/goal.ts'
import { finishRun, getRun, saveRun } from '../../src/store/run.ts'
import { getTask, insertTasks, moveTask } from '../../src/store/task.ts'
import { empty } from '../store/scene.ts'
import { openTestDb } from '../support/test-db.ts'

export interface Store {
  db: Db
  context: Context
  wakes(): number
  /** An active goal with so many queued tasks. */
  goal(tasks?: number): Promise<{ goal: Goal; tasks: Task[] }>
  move(id: string, trigger: string): Promise<Goal>
  /** Claims the task and lets its run end so that a person is asked. */
  ask(id: string, kind?: EscalationKind): Promise<void>
  /** Claims the task and lets its run succeed with this commit, which a person is to approve. */
  hold(id: string, commit: string): Promise<void>
  task(id: string): Promise<Task>
  /** As it was when it was opened, for the next test: to open another store takes forty times as long. */
  reset(): Promise<void>
  close(): Promise<void>
}

export const openTestStore = async (): Promise<Store> => {
  const db = await openTestDb()
  const register = (): Promise<void> => db.transaction((tx) => registerAgents(tx, ['agent-1'], 'here'))
  await register()
  let number = 0
  let wakes = 0
  const next = (prefix: string): string => `${prefix}-${(number += 1)}`
  const goalOf = async (id: string): Promise<Goal> => (await getGoal(db, id)) as Goal
  const taskOf = async (id: string): Promise<Task> => (await getTask(db, id)) as Task
  // Of the whole context the answers use these alone.
  const wake = (): void => void (wakes += 1)
  const context = {
    ...{ db, wake, newId: next, ports: realPorts, environment: {}, clock: systemClock },
    // No other repository is beside it.
    stateDir: join(tmpdir(), 'unstuck-no-home', 'state'),
  } as unknown as Context
  const newGoal = (id: string) =>
    insertGoal(db, {
      ...{ id, title: 'A goal', requirement: 'x', repoMode: 'local', targetBranch: 'main', baseCommit: null },
      ...{ headCommit: null, autoMerge: false, allowedDirs: [], limits: {}, spend: noSpend },
    })
  const newTask = (id: string, goalId: string, index: number) => ({
    ...{ id, goalId, number: index + 1, title: `Task ${index + 1}`, instructions: 'x', role: 'worker' as const },
    ...{ allowedPaths: ['**'], deniedPaths: [], commands: [], commandSource: 'task' as const, dependsOn: [] },
    ...{ targetArea: null, harness: 'x', model: null, priority: 0 },
  })
  const claimed = async (id: string): Promise<string> => {
    const runId = next('r')
    const others = await db.query<{ id: string }>({
      text: "update task set ready = (id = $1) where state = 'queued' returning id",
      values: [id],
    })
    if (others.length === 0) throw new Error('nothing is queued')
    const claim = await db.transaction((tx) => claimTask(tx, { agentId: 'agent-1', runId, ttlSeconds: 60 }))
    if (claim?.task.id !== id) throw new Error(`claimed ${claim?.task.id} instead of ${id}`)
    return runId
  }
  const asked = async (
    id: string,
    kind: EscalationKind,
    kinds: ('approve' | 'retry' | 'cancel' | 'resume')[],
    commit?: string,
  ): Promise<void> => {
    const runId = await claimed(id)
    await db.transaction(async (tx) => {
      const started = await getRun(tx, runId)
      if (started === undefined) throw new Error('no run')
      const run = commit === undefined ? started : mustSucceed(await saveRun(tx, started, { commit }))
      mustSucceed(await finishRun(tx, run, commit === undefined ? 'failed' : 'succeeded', null))
      const task = mustSucceed(await moveTask(tx, await taskOf2(tx, id), 'escalated', { runId }))
      const offered = {
        approve: (task: string) => approveChoice(task, { commit: commit ?? null }),
        retry: retryChoice,
        cancel: cancelChoice,
        resume: () => resumeChoice(task.goalId),
      }
      const choices = kinds.map((kind) => offered[kind](id))
      const told = { happened: '?', tried: [], question: '?', details: '', choices }
      await openEscalation(tx, { ...told, id: next('q'), goalId: task.goalId, taskId: id, runId, kind })
    })
  }
  return {
    db,
    context,
    wakes: () => wakes,
    goal: async (count = 1) => {
      const id = next('g')
      const created = await newGoal(id)
      const ids = Array.from({ length: count }, () => next('t'))
      await insertTasks(
        db,
        ids.map((taskId, index) => newTask(taskId, id, index)),
      )
      mustSucceed(await moveGoal(db, created, 'planned'))
      return { goal: await goalOf(id), tasks: await Promise.all(ids.map(taskOf)) }
    },
    move: async (id, trigger) => mustSucceed(await moveGoal(db, await goalOf(id), trigger)),
    ask: (id, kind = 'exhausted') =>
      asked(id, kind, kind === 'blocker' ? ['resume', 'retry', 'cancel'] : ['retry', 'cancel']),
    hold: (id, commit) => asked(id, 'exhausted', ['approve', 'retry', 'cancel'], commit),
    task: taskOf,
    reset: async () => {
      ;[number, wakes] = [0, 0]
      await empty(db)
      await db.query(sql`update leader set engine_id = null, term = 0`)
      await db.query(sql`update hatch set state = 'idle', changed_by = ''`)
      await register()
    },
    close: () => db.close(),
  }
}

const taskOf2 = async (tx: Parameters<typeof getTask>[0], id: string): Promise<Task> => (await getTask(tx, id)) as Task
