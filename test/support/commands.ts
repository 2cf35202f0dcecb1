/** Random worlds and commands for the model, and the promises that must hold after each command. */
import fc from 'fast-check'
import { expect } from 'vitest'
import { escalationFlow } from '../../src/domain/escalation.ts'
import { transitionOf, type Flow } from '../../src/domain/flow.ts'
import { flows } from '../../src/domain/flows.ts'
import { goalFlow } from '../../src/domain/goal.ts'
import { mergeFlow } from '../../src/domain/merge.ts'
import { runFlow } from '../../src/domain/run.ts'
import { taskEnded, taskFlow } from '../../src/domain/task.ts'
import { waitingOn } from '../../src/runtime/people/waiting-on.ts'
import { machine, person, type Command } from './model.ts'
import type { World } from './world.ts'

const aTask = fc.record({
  after: fc.array(fc.nat(4), { maxLength: 2 }),
  area: fc.boolean(),
  priority: fc.integer({ min: 0, max: 2 }),
})

export const someGoals = fc.array(
  fc.record({ direct: fc.boolean(), tasks: fc.array(aTask, { minLength: 1, maxLength: 5 }) }),
  { minLength: 1, maxLength: 2 },
)

/** The engine acts more often than people do, else little work gets far. */
const kinds = [...Object.keys(machine), ...Object.keys(machine), 'claim', 'claim', 'succeed', ...Object.keys(person)]

export const someCommands = (most: number, least = 0): fc.Arbitrary<Command[]> =>
  fc.array(fc.record({ kind: fc.constantFrom(...kinds), pick: fc.nat(20) }), {
    minLength: least,
    maxLength: most,
    size: 'max',
  })

const allTriggers = [...new Set(flows.flatMap((flow) => flow.rows.map((row) => row.trigger)))]

export interface CommandProbe {
  entity: 'goal' | 'task' | 'merge'
  pick: number
  trigger: string
}

/** A move that somebody tries without looking first. */
export const someProbes = fc.array(
  fc.record({
    entity: fc.constantFrom('goal' as const, 'task' as const, 'merge' as const),
    pick: fc.nat(20),
    trigger: fc.constantFrom(...allTriggers),
  }),
  { maxLength: 4 },
)

/** What a probe hits, when its move is illegal there. */
export const illegalTarget = (
  world: World,
  probe: CommandProbe,
): { id: string; flow: Flow; from: string } | undefined => {
  const lists: Record<CommandProbe['entity'], { flow: Flow; list: { id: string; from: string }[] }> = {
    goal: { flow: goalFlow, list: world.goals.map(({ id, state }) => ({ id, from: state })) },
    task: { flow: taskFlow, list: world.tasks.map(({ id, status }) => ({ id, from: status })) },
    merge: { flow: mergeFlow, list: world.merges.map(({ id, state }) => ({ id, from: state })) },
  }
  const { flow, list } = lists[probe.entity]
  const target = list[probe.pick % Math.max(list.length, 1)]
  return target === undefined || transitionOf(flow, target.from, probe.trigger).ok ? undefined : { ...target, flow }
}

const ids = (list: readonly { taskId: string | null }[]): string[] => list.map((entry) => entry.taskId ?? '').sort()

/** Promises 1 and 2 as far as they live in the domain. */
export const checkPromises = (world: World): void => {
  const runs = world.runs.filter((run) => run.state === 'running')
  const busy = world.agents.filter((agent) => agent.state === 'busy')
  const tasksAt = (place: string) =>
    world.tasks
      .filter((task) => task.status === place)
      .map((task) => task.id)
      .sort()
  // One owner: exactly one live lease and one running run per running task, and its agent is the busy one.
  expect(ids(runs)).toEqual(tasksAt('running'))
  expect(ids(world.leases)).toEqual(tasksAt('running'))
  expect(busy.map((agent) => agent.id).sort()).toEqual(world.leases.map((lease) => lease.agentId).sort())
  for (const lease of world.leases) {
    expect(lease.epoch).toBe(world.tasks.find((task) => task.id === lease.taskId)?.epoch)
    expect(lease.epoch).toBe(runs.find((run) => run.id === lease.runId)?.epoch)
  }
  // A question for each task that waits for a person, and for no other.
  const pending = world.escalations.filter((entry) => entry.state === 'pending' && entry.taskId !== null)
  expect(ids(pending)).toEqual(tasksAt('blocked(awaiting_human)'))
  // Nothing is silently stuck.
  for (const task of world.tasks) {
    const goal = world.goals.find((entry) => entry.id === task.goalId)
    if (goal === undefined) throw new Error(`${task.id} has no goal`)
    const tasks = world.tasks.filter((entry) => entry.goalId === goal.id)
    const step = waitingOn({
      task,
      goal,
      tasks,
      runs: world.runs,
      merges: world.merges,
      escalations: world.escalations,
    })
    expect(step, `${task.id} is ${task.status} in a goal that is ${goal.state}`).toBeDefined()
    if (['ready', 'done', 'failed', 'cancelled'].includes(goal.state)) expect(taskEnded(task.status)).toBe(true)
  }
  for (const goal of world.goals) {
    const processing = world.merges.filter((entry) => entry.goalId === goal.id && entry.state === 'processing')
    expect(processing.length).toBeLessThan(2)
  }
}

const finalFlows = { goals: goalFlow, runs: runFlow, merges: mergeFlow, escalations: escalationFlow } as const

/** Who has ended stays ended, but for what a person retries. */
export const endedOf = (world: World): Map<string, string> => {
  const ended = Object.entries(finalFlows).flatMap(([list, flow]) =>
    (world[list as keyof typeof finalFlows] as { id: string; state: string }[])
      .filter(({ state }) => (flow.terminal as readonly string[]).includes(state))
      .map(({ id, state }): [string, string] => [id, state]),
  )
  const tasks = world.tasks
    .filter((task) => taskEnded(task.status))
    .map(({ id, status }): [string, string] => [id, status])
  return new Map([...ended, ...tasks])
}
