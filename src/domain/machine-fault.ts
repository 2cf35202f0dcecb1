/**
 * What a probe found at fault on this machine when a check failed, as far as it can be looked at again. The work is not to blame: its
 * checks run again as soon as this has passed.
 */
export type MachineFault = {
  /** Label of the failed check: it decides what a measurement means. */
  label: string
} & (
  | { probe: 'port'; port: number }
  | { probe: 'disk'; folders: string[] }
  | { probe: 'network'; hosts: { host: string; port: number }[] }
)
