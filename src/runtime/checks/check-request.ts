/** The parameters of a round of checks and of a probe, and the report of the checks. */
import type { CheckResult, CheckSource } from '../../domain/run.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import type { FailedOutput } from '../../recovery/failing-set.ts'
import type { Context, MachineView } from '../core/context.ts'

export interface CheckRequest extends Pick<Context, 'clock' | 'ports' | 'repository'> {
  commands: string[]
  source(command: string): CheckSource
  workspace: string
  /** Folder for the output files of the n-th command, counted from 1. */
  folder(number: number): string
  marker: string
  environment: Record<string, string | undefined>
  extraNames: string[]
  /** Folder of the caches that only checks use (private-caches.ts); absent = the user's caches. */
  caches?: string
  /** Added to the user's environment. */
  variables?: Record<string, string>
  timeoutMs: number
  totalMs: number
  keepAliveMs: number
  signal: AbortSignal
  /** Paths that the work changed; absent = no check may be narrowed to them. */
  changed?: readonly string[]
  /** Called after each command that passed. */
  passed(): void
}

export interface CheckReport {
  results: CheckResult[]
  failed?: ObservedCheck
  /** Output of the failed command; absent = none of its programs ran. */
  output?: FailedOutput
  /** Number of folders that were used. */
  used: number
}

export interface ProbeRequest extends Pick<
  CheckRequest,
  'ports' | 'repository' | 'workspace' | 'environment' | 'extraNames' | 'marker' | 'keepAliveMs' | 'signal'
> {
  machine: MachineView
  /** Folder for the files of a command that a probe runs. */
  folder(name: string): string
  /** Number of processes that the kernel had killed for lack of memory before the check; undefined = unknown. */
  killsBefore: number | undefined
}
