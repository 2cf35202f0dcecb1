import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  checkPromises,
  endedOf,
  illegalTarget,
  someCommands,
  someGoals,
  someProbes,
} from '../../test/support/commands.ts'
import { commands, machine, movesOf } from '../../test/support/model.ts'
import { apply, newWorld, type World } from '../../test/support/world.ts'
import { mustTransition, transitionOf } from './flow.ts'
import { samples } from '../../test/support/samples.ts'

const settings = { numRuns: samples(200) }

/** Runs the engine alone until it has nothing left to do; `choices` decides how attempts and merges end. */
const drain = (world: World, choices: readonly number[]): void => {
  const kinds = Object.keys(machine)
  for (let step = 0; ; step += 1) {
    if (step > 5000) throw new Error('the engine goes on for ever')
    const first = choices[step % choices.length] ?? 0
    const order = kinds.map((_kind, index) => kinds[(first + index) % kinds.length] ?? '')
    const moves = order.map((kind) => movesOf(world, { kind, pick: step })).find((found) => found.length > 0)
    if (moves === undefined) return
    apply(world, moves)
  }
}

describe('the model of the flow tables', () => {
  it('keeps one owner per task and a next step for every task, whatever happens', () => {
    fc.assert(
      fc.property(someGoals, someCommands(80), (goals, list) => {
        const world = newWorld(goals)
        for (const command of list) {
          apply(world, movesOf(world, command))
          checkPromises(world)
        }
      }),
      settings,
    )
  })

  it('never lets what has ended move again, but for a retry by a person and work that does not fit', () => {
    fc.assert(
      fc.property(someGoals, someCommands(80), (goals, list) => {
        const world = newWorld(goals)
        for (const command of list) {
          const before = endedOf(world)
          apply(world, movesOf(world, command))
          const after = endedOf(world)
          const moved = [...before].filter(([id, state]) => after.get(id) !== state)
          if (command.kind === 'retry')
            expect(moved.every(([, state]) => state === 'cancelled' || state === 'failed')).toBe(true)
          else if (command.kind.startsWith('outdate'))
            expect(moved.filter(([id]) => id.includes('-t'))).toHaveLength(moved.length)
          else expect(moved).toEqual([])
        }
      }),
      settings,
    )
  })

  it('refuses every move that has no row, as a value and as a bug', () => {
    fc.assert(
      fc.property(someGoals, someCommands(40), someProbes, (goals, list, probes) => {
        const world = newWorld(goals)
        for (const command of list) apply(world, movesOf(world, command))
        for (const probe of probes) {
          const target = illegalTarget(world, probe)
          if (target === undefined) continue
          expect(transitionOf(target.flow, target.from, probe.trigger)).toMatchObject({ ok: false, code: 'illegal' })
          expect(() => mustTransition(target.flow, target.from, probe.trigger)).toThrow(target.from)
        }
      }),
      settings,
    )
  })

  it('ends everything by itself, in an end or in a question to a person', () => {
    fc.assert(
      fc.property(someGoals, someCommands(40), fc.array(fc.nat(20), { minLength: 1 }), (goals, list, choices) => {
        const world = newWorld(goals)
        for (const command of list) apply(world, movesOf(world, command))
        drain(world, choices)
        checkPromises(world)
        for (const goal of world.goals) {
          expect(['paused', 'awaiting_human', 'ready', 'done', 'failed', 'cancelled']).toContain(goal.state)
          const asked = world.escalations.some((entry) => entry.goalId === goal.id && entry.state === 'pending')
          if (goal.state === 'awaiting_human') expect(asked).toBe(true)
        }
      }),
      settings,
    )
  })

  it('reaches every command and every state that a row leads to', () => {
    const seen = new Set<string>()
    const done = new Set<string>()
    for (const { goals, list } of fc.sample(fc.record({ goals: someGoals, list: someCommands(160, 120) }), {
      numRuns: 1500,
      seed: 7,
    })) {
      const world = newWorld(goals)
      for (const command of list) {
        const moves = movesOf(world, command)
        if (moves.length > 0) done.add(command.kind)
        apply(world, moves)
        for (const { status } of world.tasks) seen.add(`task ${status}`)
        for (const { state } of world.goals) seen.add(`goal ${state}`)
        for (const { state } of world.merges) seen.add(`merge ${state}`)
        for (const { state } of world.runs) seen.add(`run ${state}`)
      }
    }
    expect([...done].sort()).toEqual(Object.keys(commands).sort())
    for (const state of [
      'task done',
      'task failed',
      'task blocked(quota_wait)',
      'goal done',
      'goal failed',
      'goal awaiting_human',
      'merge cancelled',
      'run cancelled',
    ])
      expect(seen).toContain(state)
  })
})
