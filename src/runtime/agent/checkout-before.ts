/** The owner's repository and checkout before the agent ran. landing/checkout-guard.ts compares them after it has ended. */
import { join } from 'node:path'
import type { CheckoutState } from '../../workspace/checkout-state.ts'
import type { Refs } from '../../workspace/refs.ts'
import type { RunContext } from '../core/run-context.ts'

/** What is compared before and after a launch. */
export interface CheckoutBefore {
  refs: Refs
  checkout: CheckoutState
  /** When it was read, in ISO format. */
  at: string
}

const recordOf = (runContext: RunContext): string => join(runContext.paths.root, 'checkout.json')

export const readNow = async (runContext: RunContext): Promise<CheckoutBefore> => {
  const { clock, ports, repository } = runContext.context
  const at = clock.now().toISOString()
  const [refs, checkout] = await Promise.all([ports.git.readRefs(repository), ports.git.readCheckout(repository)])
  return { refs, checkout, at }
}

/** The copy in memory is preferred: an agent can write the file. The file is for an engine that re-attaches. */
export const storeCheckout = (runContext: RunContext, before: CheckoutBefore): void => {
  const { clock, ports } = runContext.context
  runContext.before = { ...before, readAt: clock.elapsed() }
  ports.files.writeFileSync(recordOf(runContext), JSON.stringify(before), { mode: 0o600 })
}

/** Milliseconds. A relaunch follows the end of a launch at once, and what was read at that end is used again. */
const freshMs = 1_000

/** Call before the gate opens: afterwards the agent may have changed the checkout. */
export const recordCheckoutBefore = async (runContext: RunContext): Promise<void> => {
  const { clock } = runContext.context
  if (runContext.before !== undefined && clock.elapsed() - runContext.before.readAt < freshMs) return
  storeCheckout(runContext, await readNow(runContext))
}

export const checkoutBefore = (runContext: RunContext): CheckoutBefore | undefined => {
  if (runContext.before !== undefined) return runContext.before
  // After a restart of the engine only the file is left.
  const { files } = runContext.context.ports
  const path = recordOf(runContext)
  return files.existsSync(path) ? (JSON.parse(files.readFileSync(path, 'utf8')) as CheckoutBefore) : undefined
}
