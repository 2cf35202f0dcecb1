/**
 * Every action that a view lists is accepted by its command on a real store, and every other action is refused, for each
 * status of a task and state of a goal with the facts that matter.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { goalActions, taskActions, type GoalAction, type TaskAction } from '../../src/domain/allowed-actions.ts'
import { tellAgent } from '../../src/runtime/people/tell-agent.ts'
import { goalStates, type Goal, type GoalLanding, type GoalState } from '../../src/domain/goal.ts'
import { taskEnded, taskFlow, type TaskStatus } from '../../src/domain/task.ts'
import { AppError } from '../../src/errors.ts'
import {
  cancelGoal,
  cancelTask,
  pauseGoal,
  resumeGoals,
  retryGoal,
  retryTask,
} from '../../src/runtime/people/commands.ts'
import { landGoal } from '../../src/runtime/people/ask-landing.ts'
import { approveTask, rejectTask } from '../../src/runtime/people/approve.ts'
import { requestEdit } from '../../src/runtime/people/edit-task.ts'
import { giveBackTask, takeOverTask } from '../../src/runtime/people/take-over-task.ts'
import { goalView } from '../../src/runtime/people/views.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { claimTask } from '../../src/store/claim.ts'
import { mustSucceed } from '../../src/store/db.ts'
import { listEscalations } from '../../src/store/escalation.ts'
import { getGoal, progressGoal } from '../../src/store/goal.ts'
import { listMerges, moveMerge } from '../../src/store/merge.ts'
import { finishRun, listRuns } from '../../src/store/run.ts'
import { getTask, moveTask } from '../../src/store/task.ts'
import { openTestStore, type Store } from '../runtime/store.ts'

let store: Store
let context: Context
let top: string
let folder: string
beforeAll(async () => {
  store = await openTestStore()
  top = mkdtempSync(join(tmpdir(), 'unstuck-allowed-'))
  folder = join(top, 'taken-over')
  mkdirSync(folder)
  const { ports } = store.context
  context = {
    ...store.context,
    // The folder of a taken-over task is not the subject here.
    ports: { ...ports, git: { ...ports.git, captureBase: async () => 'base', snapshot: async () => undefined } },
    ...{
      stateDir: top,
      repository: { root: top },
      shadow: {},
      config: () => loadConfig({ root: top, environment: {} }),
    },
    ...{ clock: { now: () => new Date() }, log: { info: () => {}, warn: () => {}, error: () => {} } },
  } as unknown as Context
})
afterAll(async () => {
  await store.close()
  rmSync(top, { recursive: true, force: true })
})

const execute = (text: string, ...values: unknown[]) => store.db.query({ text, values })

/** Nothing of the previous case keeps a task from being claimed. */
const empty = async (): Promise<void> => {
  await execute('delete from lease')
  await execute("update task set state = 'cancelled', block_reason = null where state <> 'cancelled'")
}

const endRun = async (id: string): Promise<void> => {
  for (const run of await listRuns(store.db, { taskId: id, state: 'running' }))
    mustSucceed(await store.db.transaction((tx) => finishRun(tx, run, 'failed', null)))
  const task = await store.task(id)
  if (task.status === 'running') mustSucceed(await moveTask(store.db, task, 'interrupted'))
}

const claim = async (id: string): Promise<void> => {
  await execute("update task set ready = (id = $1) where state = 'queued'", id)
  const claimed = await store.db.transaction((tx) =>
    claimTask(tx, { agentId: 'agent-1', runId: context.newId('r'), ttlSeconds: 60 }),
  )
  expect(claimed?.task.id).toBe(id)
}

const endAs = (trigger: string) => async (id: string) => {
  await claim(id)
  for (const run of await listRuns(store.db, { taskId: id, state: 'running' }))
    mustSucceed(await store.db.transaction((tx) => finishRun(tx, run, 'failed', null)))
  mustSucceed(await moveTask(store.db, await store.task(id), trigger))
}

const holdMerge =
  (processing: boolean) =>
  async (id: string): Promise<void> => {
    await store.hold(id, 'c0ffee')
    await approveTask(context, id)
    const [entry] = (await listMerges(store.db, {})).filter(({ taskId }) => taskId === id)
    if (processing && entry !== undefined) mustSucceed(await moveMerge(store.db, entry, 'claimed'))
  }

const block = (reason: string) => (id: string) =>
  execute("update task set state = 'blocked', block_reason = $2 where id = $1", id, reason)

const takeOver = async (id: string): Promise<void> => {
  const takenOver = { folder, base: 'base', runId: null, command: `cd ${folder}`, by: 'me', givenBack: false }
  mustSucceed(await moveTask(store.db, await store.task(id), 'taken_over', { takenOver }))
}

interface Situation {
  status: TaskStatus
  prepare: (id: string) => Promise<unknown>
  repoMode?: Goal['repoMode']
}

const none = async (): Promise<void> => undefined

const situations: Record<string, Situation> = {
  queued: { status: 'queued', prepare: none },
  'given back, and not begun': {
    status: 'queued',
    prepare: async (id) => {
      await takeOver(id)
      await giveBackTask(context, id)
    },
  },
  running: { status: 'running', prepare: claim },
  failed: { status: 'failed', prepare: endAs('run_failed') },
  'at the limit of an account': { status: 'blocked(quota_wait)', prepare: endAs('quota_reached') },
  'waiting to be merged': { status: 'blocked(awaiting_judge)', prepare: holdMerge(false) },
  'being merged': { status: 'blocked(awaiting_judge)', prepare: holdMerge(true) },
  'needs rework': {
    status: 'blocked(needs_rework)',
    prepare: async (id) => {
      await block('needs_rework')(id)
      const retry = JSON.stringify({ reason: 'needs_rework', count: 1, limit: 1 })
      await execute('update task set retry = $2::jsonb, retry_at = unstuck_now() where id = $1', id, retry)
    },
  },
  'links an issue': { status: 'blocked(issue_linking)', prepare: block('issue_linking') },
  'asks a question': { status: 'blocked(awaiting_human)', prepare: (id) => store.ask(id) },
  'asks for an approval': { status: 'blocked(awaiting_human)', prepare: (id) => store.hold(id, 'c0ffee') },
  'asks for an approval in status': {
    status: 'blocked(awaiting_human)',
    prepare: (id) => store.hold(id, 'c0ffee'),
    repoMode: 'direct',
  },
  'taken over': { status: 'blocked(awaiting_human)', prepare: takeOver },
  cancelled: { status: 'cancelled', prepare: (id) => cancelTask(context, id, endRun) },
  done: {
    status: 'done',
    prepare: async (id) => {
      await claim(id)
      for (const run of await listRuns(store.db, { taskId: id, state: 'running' }))
        mustSucceed(await store.db.transaction((tx) => finishRun(tx, run, 'succeeded', null)))
      mustSucceed(await moveTask(store.db, await store.task(id), 'verdict_recorded'))
    },
  },
}

const triggersTo: Record<GoalState, string[]> = {
  planning: [],
  active: [],
  paused: ['paused'],
  awaiting_human: ['only_questions_left'],
  ready: ['all_done'],
  done: ['all_done', 'landed'],
  failed: ['work_cancelled'],
  cancelled: ['cancelled'],
}

/** A goal ends when its tasks have ended, and becomes ready only when all of them are done. */
const goalStatesFor = (status: TaskStatus): GoalState[] => {
  if (!taskEnded(status)) return ['active', 'paused', 'awaiting_human']
  return status === 'done'
    ? ['active', 'paused', 'ready', 'done', 'cancelled']
    : ['active', 'paused', 'failed', 'cancelled']
}

const accepted = async (work: Promise<unknown>): Promise<boolean> => {
  try {
    await work
    return true
  } catch (error) {
    if (error instanceof AppError && (error.code === 'ILLEGAL' || error.code === 'STALE')) return false
    throw error
  }
}

describe('a task', () => {
  const commands: Record<TaskAction, (id: string) => Promise<unknown>> = {
    approve: (id) => approveTask(context, id),
    reject: (id) => rejectTask(context, id, { note: 'Not like this' }),
    'give-back': (id) => giveBackTask(context, id),
    tell: (id) => tellAgent(context, id, { message: 'Use blue' }),
    retry: (id) => retryTask(context, id),
    'take-over': (id) => takeOverTask(context, id),
    edit: (id) => requestEdit(context, id, { title: 'Another title' }),
    cancel: (id) => cancelTask(context, id, endRun),
  }

  /** `isDirect`: a take-over needs no clone there, and its rule does not depend on the mode. */
  const make = async ({ status, prepare, repoMode }: Situation, state: GoalState, isDirect: boolean) => {
    await empty()
    const { goal, tasks } = await store.goal()
    const id = tasks[0]?.id ?? ''
    if (repoMode !== undefined) await execute('update goal set repo_mode = $2 where id = $1', goal.id, repoMode)
    await prepare(id)
    for (const trigger of triggersTo[state]) await store.move(goal.id, trigger)
    if (isDirect) await execute("update goal set repo_mode = 'direct' where id = $1", goal.id)
    const view = (await goalView(store.db, goal.id))?.tasks[0]
    expect(view?.status).toBe(status)
    return { id, listed: view?.actions ?? [], version: view?.version }
  }

  const cases = Object.entries(situations).flatMap(([name, situation]) =>
    goalStatesFor(situation.status).map((state) => [name, state, situation] as const),
  )

  test('every status has a situation', () => {
    expect(new Set(Object.values(situations).map(({ status }) => status))).toEqual(new Set(taskFlow.states))
  })

  test.each(cases)('%s, in a goal that is %s', async (_name, state, situation) => {
    for (const action of taskActions) {
      const { id, listed, version } = await make(situation, state, action === 'take-over')
      const done = await accepted(commands[action](id))
      // To repeat a command that was carried out is no error where it changes nothing.
      // What an agent at work is told leaves the version, so that its executor does not lose the task.
      const now = await getTask(store.db, id)
      const changed = done && (now?.version !== version || now?.hint !== null)
      expect([action, changed]).toEqual([action, listed.includes(action)])
    }
  })
})

describe('a goal', () => {
  const commands: Record<GoalAction, (id: string) => Promise<unknown>> = {
    land: (id) => landGoal(context, id),
    resume: (id) => resumeGoals(context, id),
    pause: (id) => pauseGoal(context, id),
    retry: (id) => retryGoal(context, id),
    cancel: (id) => cancelGoal(context, id, endRun),
  }
  const lost = { reason: 'lost', detail: 'x', tries: 3, question: null, again: false } as const
  const refusal = { reason: 'x', detail: 'x', paths: [] }
  interface Facts {
    autoMerge?: boolean
    targetBranch?: null
    landing?: Partial<GoalLanding>
  }
  const facts: Record<string, Facts> = {
    'nothing special': {},
    'no target branch': { targetBranch: null },
    'merges by itself': { autoMerge: true },
    'landing was requested': { landing: { asked: true } },
    'goes to a newer base': { landing: { outdated: true } },
    'is checked on a newer base': { landing: { unverified: true } },
    'is checked on a newer base, and lands by itself': { autoMerge: true, landing: { unverified: true } },
    'landing was refused': { autoMerge: true, landing: { refused: refusal } },
    'its branch is lost': { landing: { broken: lost } },
    'its branch is lost, and the work is done again': { landing: { broken: { ...lost, again: true } } },
  }
  const contents = ['done', 'queued', 'failed', 'asks a question', 'taken over', 'cancelled'] as const

  const make = async (
    state: GoalState,
    content: (typeof contents)[number],
    { autoMerge, targetBranch, landing }: Facts,
  ) => {
    await empty()
    const { goal, tasks } = await store.goal()
    await situations[content]?.prepare(tasks[0]?.id ?? '')
    for (const trigger of triggersTo[state]) await store.move(goal.id, trigger)
    if (autoMerge === true) await execute('update goal set auto_merge = true where id = $1', goal.id)
    if (targetBranch === null) await execute('update goal set target_branch = null where id = $1', goal.id)
    if (landing !== undefined) await store.db.transaction((tx) => progressGoal(tx, goal.id, { landing }))
    if (state === 'planning') await execute("update goal set state = 'planning' where id = $1", goal.id)
    return { id: goal.id, listed: (await goalView(store.db, goal.id))?.actions ?? [] }
  }

  const statesOf = (content: (typeof contents)[number]): GoalState[] => [
    'planning',
    ...goalStatesFor(situations[content]?.status ?? 'queued'),
  ]
  const cases = [
    ...contents.flatMap((content) => statesOf(content).map((state) => [state, content, 'nothing special'] as const)),
    ...(['active', 'ready'] as const).flatMap((state) =>
      Object.keys(facts).map((fact) => [state, 'done', fact] as const),
    ),
  ]

  test('every state is covered', () => {
    expect(new Set(cases.map(([state]) => state))).toEqual(new Set(goalStates))
  })

  test.each(cases)('%s, with a task that is %s: %s', async (state, content, fact) => {
    for (const action of goalActions) {
      const { id, listed } = await make(state, content, facts[fact] ?? {})
      const before = await getGoal(store.db, id)
      const done = await accepted(commands[action](id))
      // To repeat a command that was carried out is no error: the goal has landed, or is landing.
      const repeated =
        action === 'land' &&
        (before?.state === 'done' ||
          (before?.state === 'ready' && !listed.includes('land')) ||
          (before?.state === 'active' && before.autoMerge))
      expect([action, done && !repeated]).toEqual([action, listed.includes(action)])
    }
  })
})

test('a question about another task does not make a task approvable', async () => {
  await empty()
  const { goal, tasks } = await store.goal(2)
  const [one, other] = [tasks[0]?.id ?? '', tasks[1]?.id ?? '']
  await store.hold(one, 'c0ffee')
  await store.ask(other)
  const view = await goalView(store.db, goal.id)
  expect(view?.tasks.map(({ actions }) => actions.includes('approve'))).toEqual([true, false])
  expect(await listEscalations(store.db, { goalId: goal.id, pendingOnly: true })).toHaveLength(2)
})
