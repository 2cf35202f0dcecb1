/** The type of a run's phases. Every phase can be repeated after a crash, and returns whether the run continues. */
import type { Session } from '../core/session.ts'

/** Whether the run continues with its (possibly new) phase, or has ended. */
export type Next = 'on' | 'ended'

export type Phase = (session: Session) => Promise<Next>
