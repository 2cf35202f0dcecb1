/** What the base commit says about a failed check: the same failure without the work is a fact about the machine, not what the output claims. */
import type { ObservedCheck } from '../evidence.ts'
import type { Classification } from './classify.ts'
import type { Label } from './labels.ts'

/** Whether the command fails in the same way on the base commit, so the work is not the cause. */
export const failsAlikeOnBase = ({ baseline }: ObservedCheck, label: string): boolean => baseline?.label === label

/** For these labels, an unreachable registry, or the base commit, confirms as a fact what the check only printed. */
export const outages: ReadonlySet<Label> = new Set<Label>(['network_unreachable', 'network_transient'])

/** The system ended it, as opposed to a program that reports that its own limit is reached. */
const wasKilled = ({ signal, exitCode }: ObservedCheck, evidence: string): boolean =>
  signal === 'SIGKILL' || exitCode === 137 || /\b137\b|\bKilled\b|\bSIGKILL\b/.test(evidence)

/** Faults of a machine that come and go while nothing of the repository changes. */
const passing = new Set<Label>([...outages, 'service_unavailable', 'port_in_use', 'disk_full', 'resource_limit'])

/**
 * What a check shows that fails in the same way without the work: this machine lacks something, also where no probe can look (another
 * host, a disk that is elsewhere, a container whose kills the kernel does not count).
 */
export const alikeText = (
  check: ObservedCheck,
  { label, evidence }: Classification,
  seen: string,
): string | undefined => {
  if (!failsAlikeOnBase(check, label)) return undefined
  if (label === 'out_of_memory' && wasKilled(check, evidence))
    return `the system killed ${check.command}, also without this work, as it does when memory runs out${seen}; it needs more memory, or a higher limit of its container`
  return passing.has(label) ? `${check.command} fails without this work as well: ${evidence}${seen}` : undefined
}
