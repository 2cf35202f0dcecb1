import { describe, expect, it } from 'vitest'
import type { ProcessIdentity } from '../../platform/process.ts'
import type { EngineVitals, LeaseVitals, Vitals } from '../../store/vitals.ts'
import { reapsOf, type LivenessProbe } from './reaper.ts'

const nothing: Vitals = { leases: [], unleased: [], orphans: [], engines: [] }
const place = (host: string): ProcessIdentity => ({ host, bootId: 'b', pid: 1, startTime: '1' })
const signs: EngineVitals = {
  engineId: 'e-2',
  engineState: 'online',
  silent: 1,
  ttlSeconds: 60,
  engine: place('other'),
}
const lease: LeaseVitals = {
  ...signs,
  ...{ taskId: 't', runId: 'r', agentId: 'e-2-1', epoch: 3, expired: 10, used: true, shim: null },
}
const engine = { ...signs, engineId: 'e-2', silent: 100, leases: 0, expiredLeases: 0, mute: false }

/** Processes on `gone` are dead, on `here` alive, elsewhere unknown. */
const witness: LivenessProbe = {
  engineId: 'e-1',
  liveness: ({ host }) => (host === 'gone' ? 'dead' : host === 'here' ? 'alive' : 'elsewhere'),
}
const healed = (vitals: Partial<Vitals>): string[] =>
  reapsOf({ ...nothing, ...vitals }, witness).map((heal) => `${heal.kind}: ${'evidence' in heal ? heal.evidence : ''}`)

describe('a lease that has ended', () => {
  it.each<[string, Partial<LeaseVitals>]>([
    ['of an engine that gives signs of life', {}],
    ['of an engine here whose process lives', { engine: place('here') }],
    ['of this engine, which looks after its own', { engineId: 'e-1', silent: 100 }],
    ['not yet', { expired: -1, silent: 100 }],
    ['with a shim that lives', { shim: place('here') }],
  ])('%s is left alone: one signal is none', (_title, more) => {
    expect(healed({ leases: [{ ...lease, ...more }] })).toEqual([])
  })

  it.each<[string, Partial<LeaseVitals>, string]>([
    ['its engine is silent', { silent: 61 }, 'its engine sent no heartbeat for 61 s'],
    ['its engine left', { engineState: 'offline' }, 'its engine is offline'],
    ["its engine's process is gone", { engine: place('gone') }, "its engine's process is gone"],
    ['the shim of its agent is gone', { shim: place('gone') }, 'the shim of its agent is gone'],
    ['no engine owns its agent', { engineId: null, engine: null }, 'no engine owns its agent'],
  ])('is taken back when also %s', (_title, more, second) => {
    expect(healed({ leases: [{ ...lease, ...more }] })).toEqual([`lease: the lease expired 10 s ago; ${second}`])
  })

  it('or has not, dangles when its run or task is not running', () => {
    expect(healed({ leases: [{ ...lease, expired: -5, used: false }] })).toEqual([
      'dangling: its run or task is not running',
    ])
  })
})

describe('an engine that was silent', () => {
  it.each<[string, object]>([
    ['and nothing else', {}],
    ['with a lease that lives', { leases: 2, expiredLeases: 1 }],
    ['but is this one', { engineId: 'e-1', mute: true }],
  ])('%s is left alone', (_title, more) => {
    expect(healed({ engines: [{ ...engine, ...more }] })).toEqual([])
  })

  it.each<[string, object, string]>([
    ['its process is gone', { engine: place('gone') }, 'its process is gone'],
    ['all its leases ended', { leases: 2, expiredLeases: 2 }, 'all of its 2 lease(s) expired'],
    ['the server hears nothing of it', { mute: true }, 'its connections to the store are closed or idle'],
  ])('is dead when also %s', (_title, more, second) => {
    expect(healed({ engines: [{ ...engine, ...more }] })).toEqual([`engine: no heartbeat for 100 s; ${second}`])
  })
})

describe('what does not fit together', () => {
  it('is healed as the store shows it', () => {
    expect(
      healed({
        unleased: [{ ...signs, runId: 'r', taskId: 't', seconds: 20 }],
        orphans: [{ taskId: 't', seconds: 30 }],
      }),
    ).toEqual([
      'unleased: the run has no lease; it started 20 s ago',
      "orphan: none of the task's runs is running; it did not change for 30 s",
    ])
  })

  it('is nothing where nothing is wrong', () => expect(healed({})).toEqual([]))
})
