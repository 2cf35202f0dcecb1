/** What a launch that ended badly is evidence of: the agent's own standstill, or what the CLI reported. */
import type { ReportedError } from '../../harness/driver.ts'
import { isCorrectable } from '../../recovery/diagnosis/agent.ts'
import type { Evidence, ObservedDenial, ObservedStall } from '../../recovery/evidence.ts'

/** The zone in which a CLI here tells the time of day; a `TZ` that is no zone's name is the system's business. */
const timeZoneOf = (environment: Record<string, string | undefined>): string => {
  const { TZ = '' } = environment
  return TZ.includes('/') || TZ === 'UTC' ? TZ : Intl.DateTimeFormat().resolvedOptions().timeZone
}

/** Circles around a refusal, or a death behind one, have a cause that can be cured: then the stall is not the evidence. */
export const stallEvidence = (
  stall: ObservedStall | undefined,
  denials: readonly ObservedDenial[],
): Evidence | undefined => {
  const mayBeRefused = stall?.kind === 'doom_loop' || stall?.kind === 'agent_died'
  return stall === undefined || (mayBeRefused && denials.some(isCorrectable)) ? undefined : { kind: 'stall', stall }
}

export interface Failed {
  harness: string
  error: ReportedError
  denials: ObservedDenial[]
  endedAt: Date
  environment: Record<string, string | undefined>
  /** See `Evidence`. */
  next?: string | undefined
  renewedLogin?: string | undefined
}

export const failureEvidence = ({ harness, error, denials, next, renewedLogin, ...said }: Failed): Evidence => ({
  kind: 'launch',
  harness,
  failure: { ...error, said: { at: said.endedAt, timeZone: timeZoneOf(said.environment) } },
  denials,
  ...(next === undefined ? {} : { next }),
  ...(renewedLogin === undefined ? {} : { renewedLogin }),
})
