/**
 * An account that is at its limit. While its time has not come nothing new is launched on it, whichever goal it belongs to:
 * each launch would only be refused, and the first refusal has said so.
 */
export interface AccountLimit {
  /** Harness and credential, by a digest. */
  account: string
  /** Names of the harnesses that use it where the limit was met. */
  harnesses: string[]
  evidence: string
  until: Date
  /** Whose run met it. */
  taskId: string
  runId: string
  openedAt: Date
}
