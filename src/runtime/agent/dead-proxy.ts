/** A proxy of the owner's environment that does not answer: an agent without its provider is told by its variable, not by its symptom. */
import type { Evidence } from '../../recovery/evidence.ts'
import type { MachineView } from '../core/context.ts'
import { proxyOf } from '../checks/registries.ts'

const reachMs = 3_000

/** The evidence of a launch that failed or fell silent, with what is wrong with the proxy that its CLI uses. Nothing is sent to it. */
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
