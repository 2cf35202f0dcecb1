/** Input, events and result of `unstuck exec`. */
import type { AgentNote } from '../harness/driver.ts'
import type { LoopSettings } from '../recovery/doom-loop.ts'
import type { RetryPolicy } from '../recovery/playbook.ts'
import type { StallCause, StallSettings } from '../recovery/stall.ts'
import type { QuietObservation } from '../runtime/agent/quiet-watch.ts'
import type { OutputStream } from '../process/shim-protocol.ts'
import type { AgentCommand } from './agent-command.ts'

/** Events in the form that users' programs match on, so it does not change; `note` and `output` are the agent's own words. */
export type ExecEvent =
  | { type: 'launch'; number: number; harness: string; resumed: boolean; because: string | null; argv: string[] }
  | ({ type: 'note' } & AgentNote)
  | { type: 'output'; stream: OutputStream; text: string }
  | { type: 'recovery'; id: string; timestamp: string; payload: RecoveryPayload }
  | {
      type: 'waiting'
      timestamp: string
      payload: { reason: string; evidence: string; until: string; seconds: number }
    }
  | {
      type: 'blocker'
      timestamp: string
      payload: { text: string; details: string; kind: 'permission' | 'left_running' }
    }
  /** `quiet`: the agent makes no progress, without consequence so far; `stalled`: it is stopped for that. */
  | { type: 'quiet'; timestamp: string; payload: QuietObservation }
  | { type: 'stalled'; timestamp: string; payload: Partial<QuietObservation> & { stall: StallCause } }
  | { type: 'result'; timestamp: string; payload: ExecResult }

interface RecoveryPayload {
  worker: string
  issue_detected: string
  action_taken: string
  status: 'success' | 'failed'
  retry_count: number
}

export interface ExecResult {
  /** `refused`: the agent exited with 0, but a refused write was not made up for, or something was refused and no file changed. */
  outcome: 'done' | 'refused' | 'failed' | 'waiting' | 'stopped'
  /** Exit status of `unstuck exec`: the agent's own; 75 = a provider's limit has to be waited for; 3 = `refused`, or processes are left that cannot be ended. */
  exitCode: number
  text: string
  /** Label of the failure, as in docs/recovery.md. */
  label: string | null
  launches: number
  tokens: number
  costUsd: number | null
  session: string | null
  /** `remedy`: how a person allows the call, in the options of this CLI. */
  denials: { kind: string; tool: string; target: string | null; text: string; remedy: string }[]
  /** Whether a file in the working folder or in an allowed directory changed; null = not checked, or too many files. */
  changed: boolean | null
  /** End of the wait, with `waiting`, where the provider states it. */
  until: string | null
}

export interface ExecParts {
  command: AgentCommand
  cwd: string
  environment: Record<string, string | undefined>
  stdinFile: string | null
  allowDirs: readonly string[]
  retry: RetryPolicy
  /** The longest single wait for a provider. */
  maxWaitMs: number
  /** Pause before a relaunch: `firstMs` before the first one, then doubled up to `longestMs`. */
  pause: { firstMs: number; longestMs: number }
  stall: StallSettings
  loops: LoopSettings
  signal: AbortSignal
  emit(event: ExecEvent): void
}
