/** The type of a run's phases. Every phase can be repeated after a crash, and returns whether the run continues. */
import type { RunContext } from '../core/run-context.ts'

/** Whether the run continues with its (possibly new) phase, or has ended. */
export type PhaseResult = 'on' | 'ended'

export type Phase = (runContext: RunContext) => Promise<PhaseResult>
