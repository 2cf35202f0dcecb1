/** The real store and the model of the flow tables take the same random commands and must stand alike after each. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { cancelChoice, retryChoice } from '../../src/runtime/core/choices.ts'
import { listAgents } from '../../src/store/agent.ts'
import { claimTask } from '../../src/store/claim.ts'
import { mustSucceed, sql, type Db, type Queryable } from '../../src/store/db.ts'
import { answerEscalation, listEscalations, openEscalation } from '../../src/store/escalation.ts'
import { insertGoal, listGoals, moveGoal } from '../../src/store/goal.ts'
import { enqueueMerge, listMerges, moveMerge } from '../../src/store/merge.ts'
import { finishRun, getRun, judgeRun, listRuns, saveRun } from '../../src/store/run.ts'
import { insertTasks, listTasks, moveTask } from '../../src/store/task.ts'
import { illegalTarget, someCommands, someGoals, someProbes, type CommandProbe } from '../support/commands.ts'
import { movesOf } from '../support/model.ts'
import { apply, newWorld, waitLimit, type Move, type World } from '../support/world.ts'
import { agents, empty, goal, task } from './scene.ts'
import { openTestDb } from '../support/test-db.ts'
import { samples } from '../support/samples.ts'

let db: Db
beforeAll(async () => {
  db = await openTestDb()
})
afterAll(() => db?.close())

const mergeNamed = async (tx: Queryable, id: string) => (await listMerges(tx, {})).find((entry) => entry.id === id)!
const runNamed = async (tx: Queryable, id: string) => (await getRun(tx, id))!

const endRun = async (tx: Queryable, move: Extract<Move, { entity: 'run' }>): Promise<void> => {
  const run = await runNamed(tx, move.id)
  const saved = move.trigger === 'succeeded' ? mustSucceed(await saveRun(tx, run, { commit: 'c'.repeat(40) })) : run
  mustSucceed(await finishRun(tx, saved, move.trigger, null))
}

const moveOneTask = async (tx: Queryable, move: Extract<Move, { entity: 'task' }>): Promise<void> => {
  const retry = { reason: 'overload', at: new Date(0), count: 1, limit: waitLimit }
  const change = { ...(move.wait === true ? { retry } : {}), resetBudget: move.resetBudget === true }
  mustSucceed(await moveTask(tx, await task(tx, move.id), move.trigger, change))
}

const play = async (tx: Queryable, move: Move): Promise<void> => {
  switch (move.entity) {
    case 'goal':
      mustSucceed(await moveGoal(tx, await goal(tx, move.id), move.trigger))
      return
    case 'task':
      return moveOneTask(tx, move)
    case 'claim': {
      const taken = await claimTask(tx, { agentId: move.agentId, runId: move.runId, ttlSeconds: 300 })
      expect(taken?.task.id).toBe(move.taskId)
      return
    }
    case 'run':
      return endRun(tx, move)
    case 'judge':
      expect(await judgeRun(tx, move.runId)).toBeDefined()
      return
    case 'enqueue':
      return enqueueMerge(tx, move.id, await runNamed(tx, move.runId))
    case 'merge':
      mustSucceed(await moveMerge(tx, await mergeNamed(tx, move.id), move.trigger))
      return
    case 'ask': {
      const { id, goalId, taskId, kind } = move
      const choices = [retryChoice('t'), cancelChoice('t')]
      return openEscalation(tx, {
        id,
        goalId,
        taskId,
        runId: null,
        kind,
        question: '',
        details: '',
        ...{ happened: '', tried: [] },
        choices,
      })
    }
    case 'answer': {
      const entry = (await listEscalations(tx, {})).find((candidate) => candidate.id === move.id)!
      mustSucceed(await answerEscalation(tx, entry, move.trigger))
    }
  }
}

const tryIllegal = async (tx: Queryable, world: World, probe: CommandProbe): Promise<void> => {
  const target = illegalTarget(world, probe)
  if (target === undefined) return
  const moved =
    probe.entity === 'goal'
      ? await moveGoal(tx, await goal(tx, target.id), probe.trigger)
      : probe.entity === 'task'
        ? await moveTask(tx, await task(tx, target.id), probe.trigger)
        : await moveMerge(tx, await mergeNamed(tx, target.id), probe.trigger)
  expect(moved).toMatchObject({ ok: false, code: 'illegal' })
}

const sorted = (lines: string[]): string[] => lines.sort()

const modelPicture = (world: World): Record<string, string[]> => ({
  goals: sorted(world.goals.map(({ id, state }) => `${id} ${state}`)),
  tasks: sorted(
    world.tasks.map(({ id, status, epoch, ready, retry }) => `${id} ${status} ${epoch} ${ready} ${retry !== null}`),
  ),
  runs: sorted(world.runs.map(({ id, state, number, epoch }) => `${id} ${state} ${number} ${epoch}`)),
  agents: sorted(world.agents.map(({ id, state }) => `${id} ${state}`)),
  leases: sorted(world.leases.map(({ taskId, runId, agentId, epoch }) => `${taskId} ${runId} ${agentId} ${epoch}`)),
  merges: sorted(world.merges.map(({ id, state, attempts }) => `${id} ${state} ${attempts}`)),
  escalations: sorted(world.escalations.map(({ id, state, taskId }) => `${id} ${state} ${taskId}`)),
})

const storePicture = async (): Promise<Record<string, string[]>> => {
  const leases = await db.query<{ line: string }>(
    sql`select task_id || ' ' || run_id || ' ' || agent_id || ' ' || epoch as line from lease`,
  )
  return {
    goals: sorted((await listGoals(db)).map(({ id, state }) => `${id} ${state}`)),
    tasks: sorted(
      (await listTasks(db, null)).map(
        ({ id, status, epoch, ready, retry }) => `${id} ${status} ${epoch} ${ready} ${retry !== null}`,
      ),
    ),
    runs: sorted((await listRuns(db, {})).map(({ id, state, number, epoch }) => `${id} ${state} ${number} ${epoch}`)),
    agents: sorted((await listAgents(db)).map(({ id, state }) => `${id} ${state}`)),
    leases: sorted(leases.map(({ line }) => line)),
    merges: sorted((await listMerges(db, {})).map(({ id, state, attempts }) => `${id} ${state} ${attempts}`)),
    escalations: sorted((await listEscalations(db, {})).map(({ id, state, taskId }) => `${id} ${state} ${taskId}`)),
  }
}

const found = async (world: World): Promise<void> => {
  await empty(db)
  await db.transaction(async (tx) => {
    for (const entry of world.goals) await insertGoal(tx, entry)
    await insertTasks(tx, world.tasks)
  })
  await agents(db, ...world.agents.map((agent) => agent.id))
}

it(
  'the store does what the model does, command by command, and refuses what it refuses',
  { timeout: 300_000 },
  async () => {
    let compared = 0
    await fc.assert(
      fc.asyncProperty(someGoals, someCommands(60, 30), someProbes, async (goals, list, probes) => {
        const world = newWorld(goals)
        await found(world)
        for (const command of list) {
          const moves = movesOf(world, command)
          if (moves.length === 0) continue
          apply(world, moves)
          await db.transaction(async (tx) => {
            for (const move of moves) await play(tx, move)
          })
          expect(await storePicture(), `after ${command.kind}`).toEqual(modelPicture(world))
          compared += 1
        }
        for (const probe of probes) await db.transaction((tx) => tryIllegal(tx, world, probe))
        expect(await storePicture()).toEqual(modelPicture(world))
      }),
      { numRuns: samples(25) },
    )
    // A generator that produced nothing but idle commands would compare nothing.
    expect(compared).toBeGreaterThan(samples(50))
  },
)
