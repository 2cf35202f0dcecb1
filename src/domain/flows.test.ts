import { describe, expect, it } from 'vitest'
import { agentDerivation, agentStates } from './agent.ts'
import { transitionOf, triggerText, type Flow, type FlowRow } from './flow.ts'
import { flows } from './flows.ts'
import { blockReasonOf, blockReasons, statusOf, readBlockReason, stateOf, taskFlow, taskStates } from './task.ts'

/** The public states, word for word: stores and programs of users hold them. */
const listed: Record<string, string> = {
  goal: 'planning active paused awaiting_human ready done failed cancelled',
  run: 'running success failed cancelled',
  engine: 'online draining offline',
  judgement: 'claimed waiting asked decided withdrawn',
  'merge entry': 'pending processing merged failed cancelled',
  escalation: 'pending approved rejected resolved expired',
  'recovery proposal': 'open asked approved succeeded rejected resolved denied',
}

const reachable = (flow: Flow, from: string): Set<string> => {
  const seen = new Set([from])
  for (const state of seen) for (const row of flow.rows) if (row.from === state) seen.add(row.to)
  return seen
}

describe('states', () => {
  it.each(Object.entries(listed))('of a %s are exactly the listed ones', (entity, states) => {
    expect(flows.find((flow) => flow.entity === entity)?.states).toEqual(states.split(' '))
  })

  it('of a task are exactly the listed ones, each blocked one with its reason', () => {
    expect(taskStates).toEqual('queued running done failed blocked cancelled'.split(' '))
    expect(blockReasons).toEqual('awaiting_judge quota_wait needs_rework issue_linking awaiting_human'.split(' '))
    expect([...taskFlow.states].sort()).toEqual(
      [
        ...taskStates.filter((state) => state !== 'blocked'),
        ...blockReasons.map((reason) => `blocked(${reason})`),
      ].sort(),
    )
  })

  it('of an agent are exactly the listed ones, each derived by one row', () => {
    expect(agentStates).toEqual('idle busy offline'.split(' '))
    expect(agentDerivation.map(({ state }) => state).sort()).toEqual([...agentStates].sort())
  })

  it('of a task survive being split into state and block reason', () => {
    for (const place of taskFlow.states) expect(statusOf(stateOf(place), blockReasonOf(place))).toBe(place)
  })

  it('needs_human of older data is awaiting_judge', () => {
    expect(readBlockReason('needs_human')).toBe('awaiting_judge')
    for (const reason of blockReasons) expect(readBlockReason(reason)).toBe(reason)
  })

  it('belong to one table per entity', () => {
    expect(flows.map((flow) => flow.entity).sort()).toEqual([...Object.keys(listed), 'task'].sort())
  })
})

describe.each(flows.map((flow) => [flow.entity, flow] as const))('the flow of a %s', (_entity, flow) => {
  it('names only its own states', () => {
    for (const row of flow.rows) {
      expect(flow.states).toContain(row.to)
      expect(['', ...flow.states]).toContain(row.from)
    }
    for (const state of flow.terminal) expect(flow.states).toContain(state)
  })

  it('has one row per state and trigger', () => {
    const keys = flow.rows.map((row) => `${row.from} ${row.trigger}`)
    expect(keys).toEqual([...new Set(keys)])
  })

  it('begins in one state, or waits for its link first, and reaches every state from there', () => {
    // What the gates decide is stored with its verdict at once.
    const begins = flow.entity === 'judgement' ? ['claimed', 'decided', 'asked'] : [flow.rows[0]?.to]
    const first = flow.rows.filter((row) => row.from === '').map((row) => row.to)
    expect(first.filter((state) => state !== 'blocked(issue_linking)')).toEqual(begins)
    const reached = reachable(flow, '')
    expect(flow.states.filter((state) => !reached.has(state))).toEqual([])
  })

  it('lets every state that is not an end reach one', () => {
    if (flow.terminal.length === 0) return expect(flow.entity).toBe('engine')
    for (const state of flow.states) {
      const ends = [...reachable(flow, state)].filter((next) => flow.terminal.includes(next))
      expect(ends, state).not.toEqual([])
    }
  })

  it('leaves an end only when a person retries, plans or answers again or lands what is done, or when work that was done does not fit where its target went', () => {
    const ways = flow.rows.filter((row) => flow.terminal.includes(row.from))
    expect(ways.map(({ from, trigger, owner }) => `${from} ${trigger} ${owner}`)).toEqual(
      {
        goal: ['failed landed_in_part person', 'cancelled landed_in_part person', 'failed retried person'],
        'merge entry': ['failed approved person'],
        judgement: ['decided answered person', 'withdrawn answered person'],
        task: [
          'done conflict_left_to_agent merge queue',
          'done conflicted merge queue',
          'done escalated merge queue',
          'cancelled retried person',
          'done planned_again person',
        ],
      }[flow.entity] ?? [],
    )
  })

  it('says of an illegal move what a person could do instead', () => {
    for (const state of flow.states) {
      const answer = transitionOf(flow, state, 'nonsense')
      expect(answer.ok).toBe(false)
      const rows: readonly FlowRow[] = flow.rows.filter((row) => row.from === state)
      const legal = rows.filter((row) => row.owner === 'person' && row.isConditional !== true).map((row) => row.trigger)
      const message = answer.ok ? '' : answer.message
      expect(message).toContain(state)
      if (rows.length === 0) expect(message).toContain('it has ended')
      for (const trigger of legal) expect(message).toContain(triggerText(trigger))
    }
  })

  it('finds each of its rows by state and trigger', () => {
    for (const row of flow.rows) expect(transitionOf(flow, row.from, row.trigger)).toEqual({ ok: true, row })
  })
})
