/** Which fault hits which call. Calls are counted by name from the beginning of the world, so that a plan can name one. */
import { AppError } from '../../src/errors.ts'
import type { Fault, FaultKind } from './plan.ts'

export interface Faults {
  /** Counts one call of this name; gives the fault that is due, among the kinds that the caller can carry out. */
  take(op: string, kinds: readonly FaultKind[]): Fault | undefined
  fired: Map<FaultKind, number>
}

export const createFaults = (planned: readonly Fault[], told: (fault: Fault) => void): Faults => {
  const counts = new Map<string, number>()
  const due = new Map<string, Fault[]>()
  for (const fault of planned) due.set(fault.op, [...(due.get(fault.op) ?? []), fault])
  const fired = new Map<FaultKind, number>()
  return {
    fired,
    take: (op, kinds) => {
      const count = (counts.get(op) ?? 0) + 1
      counts.set(op, count)
      const fault = due.get(op)?.find(({ nth, kind }) => nth === count && kinds.includes(kind))
      if (fault === undefined) return undefined
      fired.set(fault.kind, (fired.get(fault.kind) ?? 0) + 1)
      told(fault)
      return fault
    },
  }
}

/** Marks an error as the world's own, so that the oracle does not take it for a bug of the product. */
export const injected = <E extends Error>(error: E): E => Object.assign(error, { injected: true })

export const faultError = (op: string): Error => {
  if (op.startsWith('store.')) return injected(new AppError('STORE_UNAVAILABLE', `injected: the store broke at ${op}`))
  if (op.startsWith('git.')) return injected(new AppError('GIT_FAILED', `injected: git failed at ${op}`))
  if (op.startsWith('process.')) return injected(new AppError('SPAWN_FAILED', `injected: ${op} failed`))
  return injected(Object.assign(new Error(`injected: ENOSPC at ${op}`), { code: 'ENOSPC' }))
}

export const diskFull = (): Error =>
  injected(Object.assign(new Error('injected: could not extend file'), { code: '53100' }))
