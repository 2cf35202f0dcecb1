/** What a launch that has ended shows about the recoveries that are still open: their post-conditions, as far as it can tell. */
import { lastLaunch, type Launch } from '../domain/run.ts'
import type { ObservedStall } from '../recovery/evidence.ts'
import type { PostCondition } from '../recovery/playbook.ts'
import { holdLease } from '../store/run.ts'
import { observe, type Observed } from './denials.ts'
import { lookAtDirectory } from './folder-access.ts'
import { isInside, isRefusedAgain } from './observe-denial.ts'
import { settleOpen } from './recover.ts'
import type { Session } from './session.ts'
import { gotOn } from './stalled.ts'
import type { LaunchResult } from './supervise.ts'

type Ended = Extract<LaunchResult, { kind: 'ended' }>

interface Shown extends Pick<Ended, 'reading' | 'settled'>, Observed {
  session: Session
  launch: Launch
  stall: ObservedStall | undefined
}

/** Undefined = this launch shows nothing about it. */
type Outcome = { holds: boolean; detail: string } | undefined
type OutcomeOf<T extends PostCondition['type']> = (
  shown: Shown,
  condition: Extract<PostCondition, { type: T }>,
) => Outcome

/** A correction helped when what it is for was not refused again, in a turn that ended well. */
const unrefused = ({ settled }: Shown, again: boolean, texts: { again: string; holds: string }): Outcome => {
  if (again) return { holds: false, detail: texts.again }
  return { holds: settled.ok, detail: settled.ok ? texts.holds : 'the relaunched turn ended in an error' }
}

const sessionOpens: OutcomeOf<'session_opens'> = ({ launch, reading, settled }, { fresh }) => {
  // A grant ends with its run: after an interruption a launch without it shows nothing about it.
  if (fresh === true ? launch.resumeSession !== null : !launch.corrections.skipGitCheck) return undefined
  const lost = !settled.ok && (settled.error.type ?? '').startsWith('session_')
  const opened = reading.sessionId !== undefined && !lost
  return { holds: opened, detail: opened ? `session ${reading.sessionId} opened` : 'the CLI opened no session' }
}

const directoryUsable: OutcomeOf<'directory_usable'> = (shown, { directory }) => {
  if (!shown.launch.corrections.addDirs.includes(directory)) return undefined
  return unrefused(shown, isRefusedAgain(shown.denials, directory), {
    again: 'the directory was refused again',
    holds: `no denial below ${directory}`,
  })
}

const toolAllowed: OutcomeOf<'tool_allowed'> = (shown, { toolRules }) => {
  const granted = shown.launch.corrections.toolRules ?? []
  if (!toolRules.every((rule) => granted.includes(rule))) return undefined
  const again = shown.denials.some(
    (seen) => seen.kind === 'tool' && shown.rulesFor(seen).some((rule) => toolRules.includes(rule)),
  )
  return unrefused(shown, again, {
    again: 'the tool call was refused again',
    holds: `not refused with ${toolRules.join(', ')}`,
  })
}

/** The mode stays as it was made, so any launch after it shows whether it helped. */
const directoryAccessible: OutcomeOf<'directory_accessible'> = (shown, { directory, relaunch }) => {
  if (relaunch !== true) return undefined
  if (lookAtDirectory(shown.session.context.ports.files, directory) !== undefined)
    return { holds: false, detail: `${directory} cannot be used again` }
  const again = shown.denials.some(({ kind, directory: at }) => kind === 'filesystem' && isInside(at ?? '', directory))
  return unrefused(shown, again, {
    again: `the system refused a path below ${directory} again`,
    holds: `no refusal below ${directory}`,
  })
}

const outcomeOf = (shown: Shown, condition: PostCondition): Outcome => {
  const { settled, stall } = shown
  switch (condition.type) {
    case 'session_opens':
      return sessionOpens(shown, condition)
    case 'directory_usable':
      return directoryUsable(shown, condition)
    case 'tool_allowed':
      return toolAllowed(shown, condition)
    case 'directory_accessible':
      return directoryAccessible(shown, condition)
    case 'agent_gets_on':
      if (settled.ok) return { holds: true, detail: 'the restarted turn ended by itself' }
      return stall === undefined ? undefined : gotOn(condition.tree, stall)
    case 'provider_answers':
      return settled.ok ? { holds: true, detail: 'the provider answered' } : undefined
    case 'check_runs':
    case 'remaining_checks_pass':
    case 'work_appears':
    case 'remote_answers':
      return undefined
  }
}

export const judgeLaunchRecoveries = async (
  session: Session,
  { reading, settled }: Ended,
  stall: ObservedStall | undefined,
): Promise<void> => {
  const launch = lastLaunch(session.run) as Launch
  const shown: Shown = { session, launch, reading, settled, stall, ...(await observe(session, reading.denials)) }
  await session.context.db.transaction(async (tx) => {
    await holdLease(tx, session.run)
    await settleOpen(session.context, tx, session.task.id, (condition) => outcomeOf(shown, condition))
  })
}
