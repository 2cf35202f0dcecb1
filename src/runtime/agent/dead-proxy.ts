/** Checks whether the proxy from the owner's environment answers, so that a failed launch names the proxy variable and not just a network error. */
import type { Evidence } from '../../recovery/evidence.ts'
import type { MachineView } from '../core/context.ts'
import { proxyOf } from '../checks/registries.ts'

const reachMs = 3_000

/** Adds a proxy that refuses connections to the evidence of a failed or silent launch. Only connects; sends nothing. */
export const withDeadProxy = async <E extends Evidence>(
  evidence: E,
  environment: Readonly<Record<string, string | undefined>>,
  reach: MachineView['reach'] | undefined,
): Promise<E> => {
  const proxy = proxyOf(environment)
  if (proxy === undefined || reach === undefined) return evidence
  if (evidence.kind !== 'launch' && evidence.kind !== 'stall') return evidence
  const trouble = await reach(proxy.host, proxy.port, reachMs)
  if (trouble === undefined) return evidence
  return { ...evidence, proxy: `the proxy of ${proxy.from}, ${proxy.host}:${proxy.port}, does not answer (${trouble})` }
}
