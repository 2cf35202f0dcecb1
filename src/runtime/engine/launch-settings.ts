/** The context of a run: within a launch its settings can only become narrower; the next launch begins with those of its moment. */
import { narrowedSettings } from '../../domain/config-change.ts'
import type { Context } from '../core/context.ts'

/** Computed again only when one of the two has changed: both are asked for at every use. */
const narrowing = <T extends object>(now: () => T, ...under: string[]): { view: () => T; renew: () => void } => {
  let begun = now()
  let last = { from: begun, to: begun, view: begun }
  return {
    view: () => {
      const to = now()
      if (last.from !== begun || last.to !== to) last = { from: begun, to, view: narrowedSettings(begun, to, ...under) }
      return last.view
    },
    renew: () => (begun = now()),
  }
}

export const launchSettings = (context: Context): Context => {
  // Only an engine has settings that change; elsewhere there is nothing to hold.
  if (context.refreshSettings === undefined) return context
  const config = narrowing(context.config)
  const pathPolicy = narrowing(context.pathPolicy, 'policy-recovery')
  const contract = context.contract && narrowing(context.contract, 'verify.contract')
  return {
    ...context,
    config: config.view,
    pathPolicy: pathPolicy.view,
    ...(contract && { contract: contract.view }),
    renewSettings: async () => {
      await context.refreshSettings?.()
      for (const part of [config, pathPolicy, contract]) part?.renew()
    },
  }
}
