/** What the base commit says about a failed check: the same failure without the work is a fact about the machine, not what the output claims. */
import type { ObservedCheck } from '../evidence.ts'
import type { Classification } from './classify.ts'
import type { Label } from './labels.ts'

/** Whether the command fails in the same way on the base commit, so the work is not the cause. */
export const failsAlikeOnBase = ({ baseline }: ObservedCheck, label: string): boolean => baseline?.label === label

/** A base commit on which the check could not be run says nothing. */
export const failsOnBaseToo = ({ baseline }: ObservedCheck): boolean =>
  baseline !== undefined &&
  (baseline.state === 'fails' || baseline.state === 'no tests' || baseline.label !== undefined)

/**
 * What the agent wrote and git ignores, so that the check misses it. Not the output of a build that is missing without the work as well:
 * no agent can mend that.
 */
export const unkeptIn = (check: ObservedCheck): string[] =>
  (check.unkept ?? []).filter(({ asks }) => !asks || !failsOnBaseToo(check)).map(({ path }) => path)

/** For these labels, an unreachable registry, or the base commit, confirms as a fact what the check only printed. */
export const outages: ReadonlySet<Label> = new Set<Label>(['network_unreachable', 'network_transient'])

/** The system ended it, as opposed to a program that reports that its own limit is reached. */
const wasKilled = ({ signal, exitCode }: ObservedCheck, evidence: string): boolean =>
  signal === 'SIGKILL' || exitCode === 137 || /\b137\b|\bKilled\b|\bSIGKILL\b/.test(evidence)

/** Faults of a machine that come and go while nothing of the repository changes. */
const passing = new Set<Label>([...outages, 'service_unavailable', 'port_in_use', 'disk_full', 'resource_limit'])

type Named = Pick<Classification, 'label' | 'evidence'>

/**
 * Whether a check that fails in the same way without the work shows what this machine lacks, also where no probe can look (another host, a
 * disk that is elsewhere, a container whose kills the kernel does not count). `seen`: what the probes found.
 */
const lacksForAll = (check: ObservedCheck, { label, evidence }: Named, seen: readonly string[]): boolean => {
  if (!failsAlikeOnBase(check, label)) return false
  if (label === 'out_of_memory') return wasKilled(check, evidence)
  // A probe that finds the port free again, and a base commit that fails: the check takes its port itself, and that is for the agent.
  return passing.has(label) && (label !== 'port_in_use' || seen.length === 0)
}

/** What a check has in a person's shell and not here; it does not appear by waiting. */
const lacking = new Set<string>(['missing_env_var', 'terminal_missing'])

/** The fault that only time or a person can put right, for the checks to run again then. */
export const isFaultForAll = (check: ObservedCheck, found: Named, seen: readonly string[]): boolean =>
  lacksForAll(check, found, seen) || (lacking.has(found.label) && failsAlikeOnBase(check, found.label))

/** The fault that may be over soon, in words; undefined = there is none. */
export const alikeText = (check: ObservedCheck, found: Named, seen: readonly string[]): string | undefined => {
  if (!lacksForAll(check, found, seen)) return undefined
  const more = seen.length === 0 ? '' : ` (${seen.join('; ')})`
  return found.label === 'out_of_memory'
    ? `the system killed ${check.command}, also without this work, as it does when memory runs out${more}; it needs more memory, or a higher limit of its container`
    : `${check.command} fails without this work as well: ${found.evidence}${more}`
}
