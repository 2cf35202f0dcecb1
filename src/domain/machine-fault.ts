/**
 * What is at fault on this machine when a check failed, as a probe, the base commit or the system itself showed. The work is not to blame: its checks run
 * again as soon as this has passed.
 */
export type MachineFault = {
  /** Label of the failed check: it decides what a measurement means. */
  label: string
} & (
  | { probe: 'port'; port: number }
  | { probe: 'disk'; folders: string[] }
  | { probe: 'network'; hosts: { host: string; port: number }[] }
  /** The base commit fails in the same way. Only the checks themselves can tell whether that has passed. */
  | { probe: 'base' }
  /** Nothing that could be looked at again later. */
  | { probe: 'other' }
)
