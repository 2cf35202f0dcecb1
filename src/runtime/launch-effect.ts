/** What a launch that has ended shows about the recoveries that are still open: their post-conditions, as far as it can tell. */
import { lastLaunch, type Launch } from '../domain/run.ts'
import type { ObservedStall } from '../recovery/evidence.ts'
import { holdLease } from '../store/run.ts'
import { settleOpen } from './recover.ts'
import type { Session } from './session.ts'
import { gotOn } from './stalled.ts'
import type { LaunchResult } from './supervise.ts'

export const judgeLaunchRecoveries = (
  session: Session,
  result: Extract<LaunchResult, { kind: 'ended' }>,
  stall: ObservedStall | undefined,
): Promise<void> => {
  const { reading, settled } = result
  const { corrections: granted, resumeSession } = lastLaunch(session.run) as Launch
  return session.context.db.transaction(async (tx) => {
    await holdLease(tx, session.run)
    return settleOpen(session.context, tx, session.task.id, (condition) => {
      // A grant ends with its run: after an interruption a launch without it shows nothing about it.
      if (condition.type === 'session_opens') {
        if (condition.fresh === true ? resumeSession !== null : !granted.skipGitCheck) return undefined
        const lost = !settled.ok && (settled.error.type ?? '').startsWith('session_')
        const opened = reading.sessionId !== undefined && !lost
        return { holds: opened, detail: opened ? `session ${reading.sessionId} opened` : 'the CLI opened no session' }
      }
      if (condition.type === 'directory_usable') {
        if (!granted.addDirs.includes(condition.directory)) return undefined
        const again = reading.denials.some(
          (denial) => denial.kind === 'scope' && (denial.target ?? '').startsWith(condition.directory),
        )
        const holds = settled.ok && !again
        return {
          holds,
          detail: holds
            ? `no denial below ${condition.directory}`
            : again
              ? 'the directory was refused again'
              : 'the relaunched turn ended in an error',
        }
      }
      if (condition.type === 'agent_gets_on') {
        if (settled.ok) return { holds: true, detail: 'the restarted turn ended by itself' }
        return stall === undefined ? undefined : gotOn(condition.tree, stall)
      }
      if (condition.type === 'provider_answers') {
        return settled.ok ? { holds: true, detail: 'the provider answered' } : undefined
      }
      return undefined
    })
  })
}
