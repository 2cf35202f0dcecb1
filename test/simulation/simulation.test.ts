/**
 * The real runtime in the simulated world. The fixed seeds are the short form; more by `npm run simulate -- --seeds 1000`
 * or, here, by UNSTUCK_SIMULATE_SEEDS.
 */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { cancelGraceSeconds } from '../../src/runtime/people/commands.ts'
import { makePlan, planParts, simulatedReviews, solvings, without, type Plan } from './plan.ts'
import { planted } from './planted.ts'
import { aGoal, aPlan, aTask } from './plans.ts'
import { runPlan, type Outcome } from './run.ts'
import { shrink } from './shrink.ts'
import { openSyncStore, type SyncStore } from './sync-store.ts'

let store: SyncStore
beforeAll(async () => {
  store = await openSyncStore(inject('simulationSocket'))
})
afterAll(() => store.close())

const seeds = Number(process.env.UNSTUCK_SIMULATE_SEEDS ?? '8')
const run = (seed: number): Promise<Outcome> => runPlan(makePlan(String(seed)), store)

/** What to say when a seed breaks a promise: everything needed to see it again. */
const broken = (seed: number, { violation, recent }: Outcome): string =>
  `npm run simulate -- --seed ${seed}: ${violation?.promise}: ${violation?.text}\n${recent.slice(-30).join('\n')}`

describe('the real runtime under a simulated clock, with faults at every port', () => {
  test(`keeps its promises in ${seeds} seeds`, async () => {
    const faults = new Set<string>()
    const ends = new Set<string>()
    let transitions = 0
    for (let seed = 1; seed <= seeds; seed += 1) {
      const outcome = await run(seed)
      expect(outcome.violation, broken(seed, outcome)).toBeUndefined()
      transitions += outcome.transitions
      for (const kind of outcome.faults.keys()) faults.add(kind)
      for (const state of Object.keys(outcome.ends)) ends.add(state)
    }
    // A simulation in which nothing happens keeps every promise.
    expect(transitions).toBeGreaterThan(100 * seeds)
    expect([...faults].sort()).toEqual(
      ['disk-full', 'error-after', 'error-before', 'kill-after', 'kill-before', 'mid-transaction', 'slow'].sort(),
    )
    expect([...ends].sort()).toEqual(['cancelled', 'done', 'failed', 'ready'])
  })

  test.each([3])('seed %i gives the same trace, byte for byte, every time', async (seed) => {
    const [first, second] = [await run(seed), await run(seed)]
    expect(second.fingerprint).toBe(first.fingerprint)
    expect(second.recent).toEqual(first.recent)
    expect((await run(seed + 1)).fingerprint).not.toBe(first.fingerprint)
  })
})

describe('planted bugs', () => {
  test.each(planted.map((bug) => [bug.name, bug] as const))('%s is found', async (_name, bug) => {
    let found: string | undefined
    const last = bug.plan === undefined ? bug.from + 60 : bug.from
    for (let seed = bug.from; seed <= last && found !== bug.breaks; seed += 1) {
      const { violation } = await runPlan(bug.plan ?? makePlan(String(seed)), store, { hooks: bug.hooks() })
      found = violation?.promise
    }
    expect(found).toBe(bug.breaks)
  })

  test.each(planted.flatMap(({ name, plan }) => (plan === undefined ? [] : [[name, plan] as const])))(
    'the world of %s keeps its promises without the bug',
    async (_name, plan) => {
      const { violation, recent } = await runPlan(plan, store)
      expect(violation, recent.slice(-30).join('\n')).toBeUndefined()
    },
  )

  test('one is shrunk to a handful of parts that still break the same promise', async () => {
    const bug = planted.find(({ name }) => name === 'epoch-not-rising')!
    let seed = bug.from
    for (; seed <= bug.from + 60; seed += 1)
      if ((await runPlan(makePlan(String(seed)), store, { hooks: bug.hooks() })).violation !== undefined) break
    const small = await shrink(
      { seed: String(seed), start: new Set(), hooks: bug.hooks, steps: 100_000, most: 25 },
      store,
    )
    const left = planParts(without(makePlan(String(seed)), small.without))
    expect(small.outcome.violation?.promise).toBe(bug.breaks)
    expect(left.length).toBeLessThan(planParts(makePlan(String(seed))).length / 2)
  })
})

describe('what the simulation found stays mended', () => {
  test('a run whose supervision fails ends its agent before it ends', async () => {
    const plan = aPlan(
      [aGoal([aTask('t1', ['hang', 'success'])])],
      [{ kind: 'error-after', op: 'process.follow', nth: 1 }],
    )
    const outcome = await runPlan(plan, store)
    expect(outcome.violation).toBeUndefined()
    // A person is asked, and their answer decides how the goal ends.
    expect(Object.values(outcome.ends)).toEqual([1])
  })

  test.each([2_600, 3_300])(
    'what an agent wrote after it was told to stop at %i ms is kept before clean takes its workspace',
    async (atMs) => {
      const events = [
        { id: 'e1', kind: 'cancel-task' as const, atMs, pick: 1 },
        { id: 'e2', kind: 'retry-goal' as const, atMs: atMs + 9_000, pick: 1 },
        { id: 'e3', kind: 'clean' as const, atMs: 70_000, pick: 1 },
      ]
      const outcome = await runPlan(aPlan([aGoal([aTask('t1', ['success'])])], [], events), store)
      expect(outcome.violation).toBeUndefined()
      expect(outcome.ends).toEqual({ ready: 1 })
    },
  )

  test('a cancel that is cut short by the store is finished without a restart', async () => {
    const events = [{ id: 'e1', kind: 'cancel-goal' as const, atMs: 2_500, pick: 1 }]
    const tasks = [aTask('t1', ['success']), aTask('t2', ['success'], { after: ['t1'] })]
    let finished = 0
    // One of these is the second of the cancel.
    for (let nth = 15; nth <= 28; nth += 1) {
      const lines: string[] = []
      const plan = aPlan([aGoal(tasks)], [{ kind: 'error-before', op: 'store.transaction', nth }], events)
      const { violation, recent } = await runPlan(plan, store, { each: (line) => lines.push(line) })
      expect(violation, `transaction ${nth}\n${recent.slice(-30).join('\n')}`).toBeUndefined()
      const cancelled = lines.filter((line) => line.includes(' task.cancelled ')).map((line) => Number.parseFloat(line))
      finished += cancelled.filter((seconds) => seconds > cancelGraceSeconds).length
    }
    expect(finished).toBe(1)
  })

  test('two transactions that fail in a row, whichever they are, leave nothing without an owner', async () => {
    for (let nth = 1; nth <= 24; nth += 1) {
      const plan = aPlan(
        [aGoal([aTask('t1', ['success'])])],
        [
          { kind: 'disk-full', op: 'store.transaction', nth },
          { kind: 'disk-full', op: 'store.transaction', nth: nth + 1 },
        ],
      )
      const { violation, recent } = await runPlan(plan, store)
      expect(violation, `transactions ${nth} and ${nth + 1}\n${recent.slice(-30).join('\n')}`).toBeUndefined()
    }
  })
  test('a check on the base commit that could not be followed is ended before its run is', async () => {
    for (let nth = 1; nth <= 4; nth += 1) {
      const plan = aPlan([aGoal([aTask('t1', ['broken'])])], [{ kind: 'error-after', op: 'process.runCommand', nth }])
      const { violation, recent } = await runPlan(plan, store)
      expect(violation, `command ${nth}\n${recent.slice(-30).join('\n')}`).toBeUndefined()
    }
  })

  test('a clone of the checks that cannot be removed takes nothing from its run', async () => {
    // The first two calls make room for the agent's clone and for that of the checks.
    for (const kind of ['error-before', 'error-after'] as const) {
      const fault = { kind, op: 'git.removeWorkspace', nth: 3 }
      const lines: string[] = []
      const outcome = await runPlan(aPlan([aGoal([aTask('t1', ['success'])])], [fault]), store, {
        each: (line) => lines.push(line),
      })
      const told = `${kind}\n${outcome.recent.slice(-40).join('\n')}`
      expect(outcome.violation, told).toBeUndefined()
      expect(outcome.ends, told).toEqual({ ready: 1 })
      expect(
        lines.filter((line) => / run\.launched | escalation\.opened /.test(line)),
        told,
      ).toHaveLength(1)
    }
  })

  test('an account whose limit has reset is told free', async () => {
    const lines: string[] = []
    const plan = aPlan([aGoal([aTask('t1', ['quota', 'success'])])])
    const outcome = await runPlan(plan, store, { each: (line) => lines.push(line) })
    expect(outcome.violation).toBeUndefined()
    expect(lines.filter((line) => / account\.available .*the limit has reset/.test(line))).toHaveLength(1)
  })

  test('what an agent was about to be told when its account met a limit is told in its next attempt', async () => {
    let met = 0
    // Its limit is met at some of these times while the first one is verified.
    for (let worksMs = 6_000; worksMs <= 12_000; worksMs += 1_000) {
      const lines: string[] = []
      const told = aTask('t1', ['told'], { area: 'one' })
      const limited = aTask('t2', ['quota', 'success'], { area: 'two', worksMs })
      const outcome = await runPlan(aPlan([aGoal([told, limited])]), store, { each: (line) => lines.push(line) })
      expect(outcome.violation).toBeUndefined()
      const [task] = lines.flatMap((line) => /task\.created \S+ (\S+) .*"t1"/.exec(line)?.[1] ?? [])
      const ofTask = lines.filter((line) => line.includes(task!))
      met += ofTask.filter((line) => line.includes('account_limited')).length
      expect(ofTask.filter((line) => line.includes(' run.launched '))).toHaveLength(2)
    }
    expect(met).toBeGreaterThan(0)
  })
})

describe('what is given twice', () => {
  test('a task that another goal holds in the same words gets the answer that was given about its paths', async () => {
    const lines: string[] = []
    const goals = ['one', 'two'].map((id, index) =>
      aGoal([aTask('t1', ['stray'], { answers: ['allow'] })], { id, atMs: index * 60_000 }),
    )
    const outcome = await runPlan(aPlan(goals), store, { each: (line) => lines.push(line) })
    expect(outcome.violation, outcome.recent.slice(-30).join('\n')).toBeUndefined()
    expect(outcome.ends).toEqual({ ready: 2 })
    const answered = lines.flatMap((line) => / ask\.answered .*"cached":(true|false)/.exec(line)?.[1] ?? [])
    expect(answered).toEqual(['false', 'true'])
  })
})

describe('an agent that does not get on', () => {
  const points = [
    'agent-ended',
    'recovery-intended',
    'launch-intended',
    'after-spawn',
    'identity-committed',
    'gate-open',
  ]

  test.each([
    ['hang', 'stall-restart'],
    ['circles', 'doom-loop-restart'],
  ] as const)('%s: is restarted and ends, wherever the engine is killed meanwhile', async (behaviour, playbook) => {
    for (const point of points) {
      const fault = { kind: 'kill-before' as const, op: `point.${point}`, nth: point.includes('-ended') ? 1 : 2 }
      const lines: string[] = []
      const plan = aPlan([aGoal([aTask('t1', [behaviour, 'success'])])], [fault])
      const outcome = await runPlan(plan, store, { each: (line) => lines.push(line) })
      const told = `${point}\n${outcome.recent.slice(-40).join('\n')}`
      expect(outcome.violation, told).toBeUndefined()
      expect(outcome.ends, told).toEqual({ ready: 1 })
      expect(
        lines.some((line) => line.includes(playbook)),
        told,
      ).toBe(true)
    }
  })

  test('an agent without work is done where the checks say so, wherever the engine is killed meanwhile', async () => {
    for (const point of ['collected', 'check-passed', 'verified', 'run-finished']) {
      const fault = { kind: 'kill-before' as const, op: `point.${point}`, nth: 1 }
      const outcome = await runPlan(aPlan([aGoal([aTask('t1', ['no-change'])])], [fault]), store)
      const told = `${point}\n${outcome.recent.slice(-40).join('\n')}`
      expect(outcome.violation, told).toBeUndefined()
      expect(outcome.ends, told).toEqual({ done: 1 })
    }
  })
})

describe('finished work, with the engine killed while it is judged or corrected', () => {
  const killed = (atMs: number): Plan['events'] => [{ id: 'e1', kind: 'kill', atMs, pick: 1 }]
  const played = async (plan: Plan): Promise<ReadonlyMap<string, number>> => {
    const { violation, recent, ends, met } = await runPlan(plan, store)
    const told = `${violation?.text}\n${recent.slice(-60).join('\n')}`
    expect(violation, told).toBeUndefined()
    expect(Object.keys(ends), told).not.toContain('active')
    return met
  }

  test.each(simulatedReviews)(
    'a reviewer that goes "%s" lets nothing land unseen, and everything ends',
    async (review) => {
      const task = aTask('t1', ['success'], { judge: 'llm', reviews: [review, review, 'approve'] })
      const met = await played(aPlan([aGoal([task])], [], killed(12_000)))
      expect(met.get('judge.claimed')).toBeGreaterThan(0)
    },
  )

  test.each(solvings)('an agent that "%s" where work conflicts leaves no marker and nothing stuck', async (solving) => {
    const tasks = ['t1', 't2'].map((id, index) =>
      aTask(id, ['success'], {
        ...{
          area: id,
          solves: [solving, 'solves'],
          worksMs: 3_000 + index * 800,
          paths: [`src/${id}`, 'src/shared-1'],
        },
      }),
    )
    const met = await played(aPlan([aGoal(tasks)], [], killed(14_000)))
    expect(met.get('judge.conflict_autofix_task_created')).toBeGreaterThan(0)
  })
})

describe('without a person', () => {
  const playedOut = async (plan: Plan): Promise<Outcome & { told: string; lines: string[] }> => {
    const lines: string[] = []
    const outcome = await runPlan(plan, store, { each: (line) => lines.push(line) })
    return { ...outcome, lines, told: `${outcome.violation?.text}\n${lines.slice(-60).join('\n')}` }
  }
  const questions = (lines: string[]): string[] => lines.filter((line) => line.includes(' escalation.opened '))

  test('goals that touch the same file land one after the other, with what a user commits meanwhile', async () => {
    const goals = ['one', 'two', 'three'].map((id, index) =>
      aGoal([aTask(`${id}t`, ['success'], { paths: [`src/${id}`, 'src/shared-1'] })], {
        ...{ id, atMs: index * 300, autoMerge: true },
      }),
    )
    const events = [3_000, 9_000, 20_000].map((atMs, index) => ({
      ...{ id: `e${index}`, kind: 'commit-by-hand' as const, atMs, pick: 1 },
    }))
    const outcome = await playedOut(aPlan(goals, [], events))
    expect(outcome.violation, outcome.told).toBeUndefined()
    expect(outcome.ends, outcome.told).toEqual({ done: 3 })
    expect(questions(outcome.lines)).toEqual([])
  })

  test('a user who commits to the same file as the work costs another run, not a question', async () => {
    const plan = aPlan(
      [aGoal([aTask('t1', ['success'], { paths: ['src/shared-1', 'src/shared-2'] })], { autoMerge: true })],
      [],
      [2, 3, 4].map((pick) => ({ id: `e${pick}`, kind: 'conflict-by-hand' as const, atMs: 3_000 * pick, pick })),
    )
    const outcome = await playedOut(plan)
    expect(outcome.violation, outcome.told).toBeUndefined()
    expect(outcome.ends, outcome.told).toEqual({ done: 1 })
    expect(questions(outcome.lines)).toEqual([])
  })

  test.each(['told', 'shrinks', 'stray', 'crash'] as const)(
    'an agent that first behaves as "%s" and mends it is not a question',
    async (behaviour) => {
      for (const harness of ['claude', 'codex', 'tool'] as const) {
        const tasks = [
          aTask('t1', [behaviour, behaviour === 'crash' ? 'success' : behaviour], {
            harness,
          }),
        ]
        const outcome = await playedOut(aPlan([aGoal(tasks)]))
        expect(outcome.violation, outcome.told).toBeUndefined()
        expect(outcome.ends, outcome.told).toEqual({ ready: 1 })
        expect(questions(outcome.lines), outcome.told).toEqual([])
      }
    },
  )

  test.each(['broken', 'wanders', 'crash', 'outside'] as const)(
    'an agent that always behaves as "%s" is one question, after more than one start',
    async (behaviour) => {
      const outcome = await playedOut(aPlan([aGoal([aTask('t1', [behaviour])])]))
      expect(outcome.violation, outcome.told).toBeUndefined()
      const upToFirst = outcome.lines.slice(
        0,
        outcome.lines.findIndex((line) => line.includes(' escalation.opened ')),
      )
      expect(upToFirst.filter((line) => line.includes(' run.launched ')).length).toBeGreaterThan(1)
    },
  )

  test('a test that was red before keeps a goal from landing by itself, until its owner mended it', async () => {
    const goal = aGoal([aTask('t1', ['success'], { commands: [] })], { autoMerge: true })
    const red = { ...aPlan([goal]), redBase: true }
    const waiting = await playedOut(red)
    expect(waiting.violation, waiting.told).toBeUndefined()
    expect(waiting.ends, waiting.told).toEqual({ ready: 1 })
    const mended = await playedOut({ ...red, events: [{ id: 'e1', kind: 'mend-base', atMs: 60_000, pick: 1 }] })
    expect(mended.violation, mended.told).toBeUndefined()
    expect(mended.ends, mended.told).toEqual({ done: 1 })
  })
})
