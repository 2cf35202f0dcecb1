/** A lease: an agent's exclusive, expiring, renewed claim on a task. `epoch` rises with every claim of that task. */
export interface Lease {
  taskId: string
  runId: string
  agentId: string
  epoch: number
  expiresAt: Date
}

/** An agent without an engine is stopped this long before its lease can be reclaimed, so that its processes have ended by then. */
export const stopMarginSeconds = 30

/** Milliseconds that a shim waits for its engine before it stops the agent. Short leases (tests) use half their lifetime. */
export const keepAliveMs = (ttlSeconds: number): number =>
  1000 * Math.max(ttlSeconds - stopMarginSeconds, ttlSeconds / 2)

/** Milliseconds between two renewals of leases and keep-alives: a fifth of the TTL, at most 60 s. */
export const renewIntervalMs = (ttlSeconds: number): number => Math.min(60_000, (1000 * ttlSeconds) / 5)
