/**
 * Waits, mostly of rung 2: the provider refuses, is overloaded or cannot be reached. The wait itself is the change. It is persisted and
 * uses up no other budget. Where the provider states when it will answer again, the wait lasts until then.
 */
import { backoff, jitterFraction } from '../../domain/backoff.ts'
import type { LimitFacts } from '../types.ts'
import { playbook, type Action, type Playbook, type RetryPolicy } from '../playbook.ts'
import { defined } from '../../domain/defined.ts'

/** The delay after a transient failure, in milliseconds. The jitter spreads tasks that failed at the same moment. */
export const transientDelayMs = (retry: RetryPolicy, attempts: number, taskId: string): number =>
  backoff(attempts, {
    firstMs: 1_000 * retry.transientBaseSeconds,
    maxMs: 1_000 * retry.transientMaxSeconds,
    jitter: { share: 0.2, seed: taskId },
  })

/** Parts of the first transient delay: 5, 30 and 120 s by default. */
const machineSteps: readonly number[] = [1 / 6, 1, 4]

/** The delay before the checks run again after a fault of the machine, in milliseconds; undefined = there were enough. */
const machineDelayMs = (retry: RetryPolicy, attempts: number): number | undefined => {
  const part = machineSteps[attempts]
  return part === undefined ? undefined : Math.round(1_000 * retry.transientBaseSeconds * part)
}

const quotaDelayMs = (retry: RetryPolicy, attempts: number, taskId: string): number =>
  backoff(attempts, {
    firstMs: 1_000 * retry.quotaBaseSeconds,
    maxMs: 1_000 * retry.quotaMaxSeconds,
    jitter: { share: 0.2, seed: taskId },
  })

/** Spreads the tasks that wait for the same limit: jitter of up to a tenth of the wait, between one second and one minute. */
const afterReset = (
  { resetAt, resetInMs = 0 }: LimitFacts,
  attempts: number,
  taskId: string,
): Pick<Extract<Action, { type: 'wait' }>, 'until' | 'jitterMs'> => {
  if (resetAt === undefined) return {}
  const most = Math.min(60_000, Math.max(2_000, resetInMs / 10))
  return {
    until: resetAt.toISOString(),
    jitterMs: Math.round(1_000 + (most - 1_000) * jitterFraction(taskId, attempts)),
  }
}

/** About two days of the longest default wait, two years of a weekly limit: a limit ends by itself, so a person is asked late. */
const quotaWaits = 100
/** After this many attempts a stated reset time is no longer trusted, and the delay grows as if no time had been stated. */
const trustedResets = 3

export const quotaWait = playbook({
  id: 'quota-wait',
  rung: 2,
  scope: 'task',
  title: 'Park the task until the limit of the account resets, then run it again',
  labels: ['llm_quota'],
  neededEvidence:
    'a structured error of the CLI, or its own last lines of output, that name a usage limit, used-up credit or a rate limit. The wait ends at the reset time that the provider states, else after a growing delay',
  plan: ({ facts }, { attempts, taskId, retry }) => {
    // A time that has passed does not say when the provider answers again.
    const isAhead = facts.resetAt !== undefined && facts.resetInMs !== 0
    const trusted = isAhead && attempts < trustedResets
    return {
      type: 'wait',
      name: 'WAIT_FOR_QUOTA',
      delayMs: trusted ? 0 : quotaDelayMs(retry, isAhead ? 0 : attempts, taskId),
      ...afterReset(facts, attempts, taskId),
      count: attempts + 1,
      limit: quotaWaits,
    }
  },
  postCondition: () => ({ type: 'provider_answers' }),
  budget: quotaWaits,
  counted: false,
})

/** An outage of the git remote ends by itself, so a person is asked late. The later waits are long, whatever is configured. */
const remoteWaits = 100
const shortRemoteWaits = 20
const longWaitMs = 1_800_000

const remoteBackoff = playbook({
  id: 'remote-backoff',
  rung: 2,
  scope: 'task',
  title: 'Wait with a persisted, growing delay until the git remote answers again',
  labels: ['remote_unreachable'],
  neededEvidence: "git's own message that the connection to the remote failed or timed out",
  plan: (_diagnosis, { attempts, taskId, retry }) => ({
    type: 'wait',
    name: 'WAIT_AND_REQUEUE',
    delayMs: Math.max(attempts < shortRemoteWaits ? 0 : longWaitMs, transientDelayMs(retry, attempts, taskId)),
    count: attempts + 1,
    limit: remoteWaits,
  }),
  postCondition: () => ({ type: 'remote_answers' }),
  budget: remoteWaits,
  counted: false,
})

const harnessFailover = playbook({
  id: 'harness-failover',
  rung: 2,
  scope: 'task',
  title: 'Continue with the next configured harness, from the work so far',
  labels: ['llm_quota'],
  neededEvidence:
    'the same as for `quota-wait`, and `harness.failover` names an installed harness with another account that is not at its limit; the task names no model',
  example: { nextHarness: '<harness>' },
  plan: (diagnosis, context) => {
    const wait = quotaWait.plan(diagnosis, context)
    const { nextHarness } = diagnosis.facts
    if (nextHarness === undefined || wait?.type !== 'wait') return undefined
    const { delayMs, until } = wait
    return {
      ...{ type: 'switch_harness', name: 'SWITCH_HARNESS', harness: nextHarness, delayMs },
      ...defined({ until }),
    }
  },
  postCondition: () => ({ type: 'provider_answers' }),
  budget: 10,
  counted: false,
})

const freshSession = playbook({
  id: 'fresh-session',
  rung: 2,
  scope: 'launch',
  title: 'Relaunch with a new session, with a summary of what was done so far',
  labels: ['context_overflow'],
  neededEvidence: 'a structured error of the CLI, or its own message, that the conversation is too long for the model',
  plan: () => ({
    type: 'relaunch',
    name: 'RELAUNCH_WITH_FRESH_SESSION',
    fresh: true,
    resume: false,
    hint: 'The previous session grew too long for the model and ended. Its work is in the workspace: continue from it, do not start over, and read no more than you need.',
  }),
  postCondition: () => ({ type: 'provider_answers' }),
  // A second overflow shows that the task itself is too long.
  budget: 1,
  counted: true,
})

/** The new login is already on disk. If that is refused as well, only a person can log in. */
const loginRelaunch = playbook({
  id: 'login-relaunch',
  rung: 2,
  scope: 'launch',
  title: 'Relaunch with the login that another process renewed during the launch',
  labels: ['auth_failure'],
  neededEvidence:
    'a structured error of the CLI that its login was refused, and the file of that login was written after the launch began: a refresh token works only once, and another run used it',
  example: { renewedLogin: '<file>' },
  // A check may be refused a login too; that login is not the one of the harness.
  plan: ({ facts }) =>
    'renewedLogin' in facts
      ? {
          type: 'relaunch',
          name: 'RELAUNCH_WITH_RENEWED_LOGIN',
          resume: true,
          hint: 'Your login was refused and has been renewed. Continue and finish the task.',
        }
      : undefined,
  postCondition: () => ({ type: 'provider_answers' }),
  budget: 1,
  counted: true,
})

const transientBackoff = playbook({
  id: 'transient-backoff',
  rung: 2,
  scope: 'task',
  title: 'Wait with a persisted, growing delay, then run the task again',
  labels: ['provider_overloaded', 'network_transient', 'stream_cut', 'temporary_failure', 'network_unreachable'],
  neededEvidence:
    'a structured error of the CLI that names an overload, a 5xx status or a broken connection; exit status 75 of a command harness; or a failed check whose package registry a probe could not reach either, or that the network fails on the base commit as well',
  plan: ({ label, facts }, { attempts, taskId, retry }) => {
    // The output of a check alone is no reason to wait: a probe or the base commit has to confirm that the network is at fault.
    if (label === 'network_unreachable' && facts.machine === undefined) return undefined
    if (retry.transientLimit >= 0 && attempts >= retry.transientLimit) return undefined
    return {
      type: 'wait',
      name: 'WAIT_AND_REQUEUE',
      delayMs:
        (label === 'network_unreachable' ? machineDelayMs(retry, attempts) : undefined) ??
        transientDelayMs(retry, attempts, taskId),
      count: attempts + 1,
      limit: retry.transientLimit,
      ...(label === 'network_unreachable' ? { forChecks: true } : afterReset(facts, attempts, taskId)),
    }
  },
  postCondition: (action) => ({
    type: action.type === 'wait' && action.forChecks === true ? 'remaining_checks_pass' : 'provider_answers',
  }),
  // Normally retry.transientLimit ends the waits. This is the limit where that setting is -1.
  budget: 100,
  counted: false,
})

/** A port, a disk or a service is often free again before a person could answer. The work is there, so no agent is called. */
const machineWait = playbook({
  id: 'machine-wait',
  rung: 4,
  scope: 'task',
  title: 'Wait, then run the checks on the same work again, without a call of the agent',
  labels: ['port_in_use', 'disk_full', 'service_unavailable', 'out_of_memory', 'resource_limit'],
  neededEvidence:
    'a failed check, and a probe that found this machine at fault (a port, a disk, memory, a service), or the same failure on the base commit',
  example: { command: '<command>', remaining: 1, machine: '<fact>' },
  plan: ({ facts }, { attempts, retry }) => {
    const delayMs = facts.machine === undefined ? undefined : machineDelayMs(retry, attempts)
    const limit = retry.transientLimit < 0 ? machineSteps.length : Math.min(machineSteps.length, retry.transientLimit)
    return delayMs === undefined || attempts >= limit
      ? undefined
      : { type: 'wait', name: 'WAIT_AND_REQUEUE', delayMs, count: attempts + 1, limit, forChecks: true }
  },
  postCondition: () => ({ type: 'remaining_checks_pass' }),
  budget: machineSteps.length,
  counted: false,
})

/** A set-up that downloads something fails with the network, and most network failures are short. */
const setupRetry = playbook({
  id: 'setup-retry',
  rung: 0,
  scope: 'task',
  title: 'Wait, then set the workspace up once more in a fresh clone',
  labels: ['workspace_setup_failed'],
  neededEvidence:
    'a `workspace.setup` command that failed because of a network, a service or a time limit, as its output shows',
  example: { transient: true },
  plan: ({ facts }, { attempts, taskId, retry }) =>
    facts.transient
      ? {
          type: 'wait',
          name: 'WAIT_AND_REQUEUE',
          delayMs: transientDelayMs(retry, attempts, taskId),
          count: attempts + 1,
          limit: 1,
        }
      : undefined,
  postCondition: () => ({ type: 'workspace_ready' }),
  budget: 1,
  counted: false,
})

/** The base commit and the snapshots are not lost. A second loss shows that it was no accident. */
const workspaceRenewal = playbook({
  id: 'workspace-renewal',
  rung: 0,
  scope: 'task',
  title: 'Run the task again in a new workspace, where the folder of the agent is gone',
  labels: ['workspace_gone'],
  neededEvidence: 'the workspace of an agent that was started is no folder any more, while the repository is there',
  plan: (_diagnosis, { attempts }) => ({
    type: 'wait',
    name: 'WAIT_AND_REQUEUE',
    delayMs: 0,
    count: attempts + 1,
    limit: 1,
  }),
  postCondition: () => ({ type: 'work_appears' }),
  budget: 1,
  counted: true,
})

export const providerPlaybooks: readonly Playbook[] = [
  harnessFailover,
  quotaWait,
  freshSession,
  loginRelaunch,
  transientBackoff,
  machineWait,
  remoteBackoff,
  setupRetry,
  workspaceRenewal,
]
