/** What a round of checks and a probe of the machine are given, and what the checks report. */
import type { CheckResult, CheckSource } from '../../domain/run.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import type { FailedOutput } from '../../recovery/failing-set.ts'
import type { Context, MachineView } from '../core/context.ts'

export interface CheckRequest extends Pick<Context, 'clock' | 'ports'> {
  commands: string[]
  source(command: string): CheckSource
  workspace: string
  /** Folder for the files of the n-th command. */
  folder(number: number): string
  marker: string
  environment: Record<string, string | undefined>
  extraNames: string[]
  /** Folder of the repository's own caches of build tools; absent = those of the user. */
  caches?: string
  /** Of ours, beside the user's environment. */
  variables?: Record<string, string>
  timeoutMs: number
  totalMs: number
  keepAliveMs: number
  signal: AbortSignal
  /** Paths that the work changed; absent where nothing may be narrowed to them. */
  changed?: readonly string[]
  /** Called after each command that passed. */
  passed(): void
}

export interface CheckReport {
  results: CheckResult[]
  failed?: ObservedCheck
  /** What the failed command printed, where a program of it ran. */
  output?: FailedOutput
  /** Folders that were used. */
  used: number
}

export interface ProbeRequest extends Pick<
  CheckRequest,
  'ports' | 'workspace' | 'environment' | 'extraNames' | 'marker' | 'keepAliveMs' | 'signal'
> {
  machine: MachineView
  /** Folder for the files of a command that a probe runs. */
  folder(name: string): string
  /** The owner's checkout: what it names may be asked for. */
  owners: string
  /** The kernel's count of processes ended for want of memory, before the check. */
  killsBefore: number | undefined
}
