/** Rung 2: the provider is overloaded or out of reach. The wait is the change; it is persisted and consumes no other budget. */
import type { Playbook, RetryPolicy } from '../playbook.ts'

/** 32-bit FNV-1a, so that the jitter of a retry is the same after a restart. */
const hash = (text: string): number => {
  let value = 0x811c9dc5
  for (const char of text) value = Math.imul(value ^ (char.codePointAt(0) ?? 0), 0x01000193)
  return value >>> 0
}

/** Exponential backoff with up to 20 % deterministic jitter, never above the maximum. Milliseconds. */
export const backoffMs = (retry: RetryPolicy, attempt: number, seed: string): number => {
  const base = Math.min(retry.transientMaxSeconds, retry.transientBaseSeconds * 2 ** attempt)
  const jitter = 1 + (0.2 * (hash(`${seed}:${attempt}`) % 1000)) / 1000
  return Math.round(1000 * Math.min(retry.transientMaxSeconds, base * jitter))
}

/** An outage of the git remote ends by itself, so nobody is asked for a long time: the later waits are long ones, whatever is configured. */
const remoteWaits = 100
const shortRemoteWaits = 20
const longWaitMs = 1_800_000

export const remoteBackoff: Playbook = {
  id: 'remote-backoff',
  rung: 2,
  scope: 'task',
  title: 'Wait with a persisted, growing delay until the git remote answers again',
  answers: ['remote_unreachable'],
  needs: "git's own report that the connection to the remote failed or did not end in time",
  plan: (_diagnosis, { attempts, taskId, retry }) => ({
    type: 'wait',
    name: 'WAIT_AND_REQUEUE',
    delayMs: Math.max(attempts < shortRemoteWaits ? 0 : longWaitMs, backoffMs(retry, attempts, taskId)),
    count: attempts + 1,
    limit: remoteWaits,
  }),
  postCondition: () => ({ type: 'remote_answers' }),
  budget: remoteWaits,
  counted: false,
}

export const transientBackoff: Playbook = {
  id: 'transient-backoff',
  rung: 2,
  scope: 'task',
  title: 'Wait with a persisted, growing delay, then run the task again',
  answers: ['provider_overloaded', 'network_transient', 'temporary_failure'],
  needs:
    "a structured error of the CLI that names an overload, a 5xx/429 status or a broken connection, or a command harness's exit status 75",
  plan: (_diagnosis, { attempts, taskId, retry }) =>
    retry.transientLimit >= 0 && attempts >= retry.transientLimit
      ? undefined
      : {
          type: 'wait',
          name: 'WAIT_AND_REQUEUE',
          delayMs: backoffMs(retry, attempts, taskId),
          count: attempts + 1,
          limit: retry.transientLimit,
        },
  postCondition: () => ({ type: 'provider_answers' }),
  // The configured retry.transientLimit ends it; this is the ceiling where that one was lifted with -1.
  budget: 100,
  counted: false,
}
