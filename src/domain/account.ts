/**
 * An account that is at its limit. Until the limit resets no goal launches anything on it, because the provider would
 * refuse every launch as it refused the first.
 */
export interface AccountLimit {
  /** Harness and credential, by a digest. */
  account: string
  /** Harnesses that use the account, by their names on the engine that met the limit. */
  harnesses: string[]
  evidence: string
  until: Date
  /** The task and the run that met the limit. */
  taskId: string
  runId: string
  openedAt: Date
}
