/** The evidence of a launch that failed: a stall of the agent, or the error that the CLI reported. */
import type { Transcript, ReportedError } from '../../harness/driver.ts'
import { isCorrectable, refusalIn, type LaunchRefusal } from '../../recovery/diagnosis/launch-failure.ts'
import type { Evidence, ObservedDenial, ObservedStall } from '../../recovery/evidence.ts'
import { defined } from '../../domain/defined.ts'

/** The time zone of the reset times that a CLI on this host prints. A `TZ` that is not the name of a zone is ignored. */
const timeZoneOf = (environment: Record<string, string | undefined>): string => {
  const { TZ = '' } = environment
  return TZ.includes('/') || TZ === 'UTC' ? TZ : Intl.DateTimeFormat().resolvedOptions().timeZone
}

/** Undefined = the stall is not the cause: the agent looped around or died of a refusal that can be corrected. */
export const stallEvidence = (
  stall: ObservedStall | undefined,
  denials: readonly ObservedDenial[],
): Evidence | undefined => {
  const mayBeRefused = stall?.kind === 'doom_loop' || stall?.kind === 'agent_died'
  return stall === undefined || (mayBeRefused && denials.some(isCorrectable)) ? undefined : { kind: 'stall', stall }
}

export interface FailedLaunch {
  harness: string
  error: ReportedError
  reading: Pick<Transcript, 'sessionId' | 'announcedSession'>
  denials: ObservedDenial[]
  /** Observes the refusal that the failure itself reports. */
  observeRefusal: (refusal: LaunchRefusal | undefined) => ObservedDenial[]
  endedAt: Date
  environment: Record<string, string | undefined>
  /** See `Evidence`. */
  next?: string | undefined
  renewedLogin?: string | undefined
  left?: string | undefined
}

/** Whether a session was open before the launch ended. */
export const openedIn = (reading: Pick<Transcript, 'sessionId' | 'announcedSession'>): { opened?: true } =>
  (reading.sessionId ?? reading.announcedSession) === undefined ? {} : { opened: true }

export const failureEvidence = ({
  harness,
  error,
  reading,
  denials,
  observeRefusal,
  next,
  renewedLogin,
  left,
  ...said
}: FailedLaunch): Evidence => {
  const failure = { ...error, messageTime: { at: said.endedAt, timeZone: timeZoneOf(said.environment) } }
  const failed = { harness, failure, ...openedIn(reading) }
  return {
    ...{ kind: 'launch', ...failed, denials, refused: observeRefusal(refusalIn(failed)) },
    ...defined({ next, renewedLogin, left }),
  }
}
