/** The owner's repository and checkout before the agent ran. landing/checkout-guard.ts compares them after it has ended. */
import { join } from 'node:path'
import { z } from 'zod'
import type { CheckoutState } from '../../workspace/checkout-state.ts'
import type { Refs } from '../../workspace/refs.ts'
import { readStateFile, writeStateFile } from '../core/files.ts'
import type { RunPaths } from '../core/context.ts'
import type { RunContext } from '../core/run-context.ts'

/** What is compared before and after a launch. */
export interface CheckoutBefore {
  refs: Refs
  checkout: CheckoutState
  /** When it was read, in ISO format. */
  at: string
}

/** Its parts are as this engine, or one before it, wrote them: only damage has to be found. */
const shape = {
  parse: (value: unknown) => {
    z.object({ refs: z.record(z.string(), z.unknown()), checkout: z.object({}), at: z.iso.datetime() }).parse(value)
    return value as CheckoutBefore
  },
}

const recordOf = (runContext: RunContext): string => join(runContext.paths.root, 'checkout.json')

export const readNow = async (runContext: RunContext): Promise<CheckoutBefore> => {
  const { clock, ports, repository } = runContext.context
  const at = clock.now().toISOString()
  const [refs, checkout] = await Promise.all([ports.git.readRefs(repository), ports.git.readCheckout(repository)])
  return { refs, checkout, at }
}

/** Copies of what git does not keep of the checkout before. */
export const heldCopies = ({ root }: Pick<RunPaths, 'root'>): string => join(root, 'checkout')

/** The copy in memory is preferred: an agent can write the file. The file is for an engine that re-attaches. */
export const storeCheckout = async (runContext: RunContext, before: CheckoutBefore): Promise<void> => {
  const { clock, ports, repository } = runContext.context
  await ports.git.holdCheckout(repository, before.checkout, heldCopies(runContext.paths))
  runContext.before = { ...before, readAt: clock.elapsed() }
  writeStateFile(ports.files, recordOf(runContext), JSON.stringify(before))
}

/** Milliseconds. A relaunch follows the end of a launch at once, and what was read at that end is used again. */
const freshMs = 1_000

/** Call before the gate opens: afterwards the agent may have changed the checkout. */
export const recordCheckoutBefore = async (runContext: RunContext): Promise<void> => {
  const { clock } = runContext.context
  if (runContext.before !== undefined && clock.elapsed() - runContext.before.readAt < freshMs) return
  await storeCheckout(runContext, await readNow(runContext))
}

export const checkoutBefore = (runContext: RunContext): CheckoutBefore | undefined => {
  if (runContext.before !== undefined) return runContext.before
  // After a restart of the engine only the file is left.
  return readStateFile<CheckoutBefore>(runContext.context, recordOf(runContext), shape)
}
