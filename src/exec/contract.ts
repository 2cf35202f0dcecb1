/** What `unstuck exec` is given, what it tells on the way, and what it ends with. */
import type { AgentNote } from '../harness/driver.ts'
import type { LoopSettings } from '../recovery/doom-loop.ts'
import type { RetryPolicy } from '../recovery/playbook.ts'
import type { StallCause, StallSettings } from '../recovery/stall.ts'
import type { Quieted } from '../runtime/agent/stall-looks.ts'
import type { StreamName } from './agent.ts'
import type { AgentCommand } from './command.ts'

/** Events as the founding document prints them; `note` and `output` are what the agent itself says. */
export type ExecEvent =
  | { type: 'launch'; number: number; harness: string; resumed: boolean; because: string | null; argv: string[] }
  | ({ type: 'note' } & AgentNote)
  | { type: 'output'; stream: StreamName; text: string }
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
  /** It stands still: only told of, or the reason for which it is ended now. */
  | { type: 'quiet'; timestamp: string; payload: Quieted }
  | { type: 'stalled'; timestamp: string; payload: Partial<Quieted> & { stall: StallCause } }
  | { type: 'result'; timestamp: string; payload: ExecResult }

interface RecoveryPayload {
  worker: string
  issue_detected: string
  action_taken: string
  status: 'success' | 'failed'
  retry_count: number
}

export interface ExecResult {
  /** `refused`: it ended with 0, but a refused write stands, or something was refused and no file changed. */
  outcome: 'done' | 'refused' | 'failed' | 'waiting' | 'stopped'
  /** What the command ends with: the agent's own status, 75 when a provider's limit has to be waited for, 3 with `refused` and where it left what cannot be ended. */
  exitCode: number
  text: string
  /** Our name of the failure, as in docs/recovery.md. */
  label: string | null
  launches: number
  tokens: number
  costUsd: number | null
  session: string | null
  /** `remedy`: what would allow it, in the options of this CLI. */
  denials: { kind: string; tool: string; target: string | null; text: string; remedy: string }[]
  /** Whether a file of the working folder was changed; null = it was not looked at, or there are too many files. */
  changed: boolean | null
  /** Set with `waiting`, where the provider says it. */
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
  /** The pause before another launch: the first one, doubled each time up to the longest. */
  pause: { firstMs: number; longestMs: number }
  stall: StallSettings
  loops: LoopSettings
  signal: AbortSignal
  emit(event: ExecEvent): void
}
