/** A lease: an agent's exclusive, expiring, renewed claim on a task. `epoch` rises with every claim of that task. */
export interface Lease {
  taskId: string
  runId: string
  agentId: string
  epoch: number
  expiresAt: Date
}

/** The stop of an unattended agent begins this long before the lease could be reclaimed, so that the tree is gone by then. */
export const stopLeadSeconds = 30

/** How long a shim waits for a sign of its engine. Short leases (tests) keep half their life. */
export const keepAliveMs = (ttlSeconds: number): number => 1000 * Math.max(ttlSeconds - stopLeadSeconds, ttlSeconds / 2)

/** Leases and keep-alives are renewed five times within a TTL, at most every 60 s. */
export const renewMs = (ttlSeconds: number): number => Math.min(60_000, (1000 * ttlSeconds) / 5)
