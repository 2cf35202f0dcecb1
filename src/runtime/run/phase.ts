/** What every phase of a run is: work that can be entered again after a crash, and whether the run goes on after it. */
import type { Session } from '../core/session.ts'

/** Whether the run continues with its (possibly new) phase, or has ended. */
export type Next = 'on' | 'ended'

export type Phase = (session: Session) => Promise<Next>
