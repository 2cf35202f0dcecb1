/**
 * The outcome of open recoveries, as far as an ended launch can show it. A post-condition about which the launch shows nothing stays
 * open: checks, the collected work or the git remote decide it later.
 */
import type { Launch } from '../../domain/run.ts'
import type { Transcript, Conclusion } from '../../harness/driver.ts'
import type { ObservedStall } from '../../recovery/evidence.ts'
import type { PostCondition } from '../../recovery/playbook.ts'
import type { Files } from '../core/files.ts'
import { inspectDirectory } from '../core/folder-access.ts'
import type { PostConditionOutcome } from '../core/recovery-record.ts'
import { isInside, isRefusedAgain, type ObservedDenials } from './observe-denial.ts'

export interface WatchedLaunch extends ObservedDenials {
  launch: Pick<Launch, 'corrections' | 'resumeSession'>
  reading: Transcript
  conclusion: Conclusion
  stall: ObservedStall | undefined
  files: Files
}

type OutcomeOf<T extends PostCondition['type']> = (
  shown: WatchedLaunch,
  condition: Extract<PostCondition, { type: T }>,
) => PostConditionOutcome

/** A correction helped if nothing was refused again in a turn that ended without an error. */
const unrefused = (
  { conclusion }: WatchedLaunch,
  again: boolean,
  texts: { again: string; holds: string },
): PostConditionOutcome => {
  if (again) return { satisfied: false, detail: texts.again }
  return { satisfied: conclusion.ok, detail: conclusion.ok ? texts.holds : 'the relaunched turn ended in an error' }
}

const sessionOpens: OutcomeOf<'session_opens'> = ({ launch, reading, conclusion }, { fresh }) => {
  // A grant ends with its run: a launch without the grant, after an interruption, proves nothing about it.
  if (fresh === true ? launch.resumeSession !== null : !launch.corrections.skipGitCheck) return undefined
  const lost = !conclusion.ok && (conclusion.error.type ?? '').startsWith('session_')
  const opened = reading.sessionId !== undefined && !lost
  return { satisfied: opened, detail: opened ? `session ${reading.sessionId} opened` : 'the CLI opened no session' }
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

/** A changed mode stays, so any later launch shows whether it helped. */
const directoryAccessible: OutcomeOf<'directory_accessible'> = (shown, { directory, relaunch }) => {
  if (relaunch !== true) return undefined
  if (inspectDirectory(shown.files, directory) !== undefined)
    return { satisfied: false, detail: `${directory} is still not usable` }
  const again = shown.denials.some(({ kind, directory: at }) => kind === 'filesystem' && isInside(at ?? '', directory))
  return unrefused(shown, again, {
    again: `the system refused a path below ${directory} again`,
    holds: `no refusal below ${directory}`,
  })
}

/** A restarted turn that stalled as well still helped if it changed files: then the next restart continues from them. */
const progressSince = (before: string, now: ObservedStall): PostConditionOutcome => {
  // The tree before the restart is unknown, so there is nothing to compare.
  if (before === '') return undefined
  return now.tree === before
    ? { satisfied: false, detail: `the agent stalled again (${now.kind.replaceAll('_', ' ')}) and changed no file` }
    : {
        satisfied: true,
        detail: `the agent stalled again (${now.kind.replaceAll('_', ' ')}), but it changed ${now.changed?.length ?? 0} path(s)`,
      }
}

const agentGetsOn: OutcomeOf<'agent_gets_on'> = ({ conclusion, stall }, { tree }) => {
  if (conclusion.ok) return { satisfied: true, detail: 'the restarted turn ended by itself' }
  return stall === undefined ? undefined : progressSince(tree, stall)
}

const providerAnswers: OutcomeOf<'provider_answers'> = ({ conclusion }) =>
  conclusion.ok ? { satisfied: true, detail: 'the provider answered' } : undefined

/** For post-conditions that checks, the collected work or the git remote decide. */
const notShown = (): PostConditionOutcome => undefined

const outcomes: { [T in PostCondition['type']]: OutcomeOf<T> } = {
  session_opens: sessionOpens,
  directory_usable: directoryUsable,
  directory_accessible: directoryAccessible,
  tool_allowed: toolAllowed,
  agent_gets_on: agentGetsOn,
  provider_answers: providerAnswers,
  check_runs: notShown,
  proposal_helps: notShown,
  remaining_checks_pass: notShown,
  tests_pass: notShown,
  fewer_failures: notShown,
  paths_allowed: notShown,
  tests_kept: notShown,
  checks_kept: notShown,
  markers_gone: notShown,
  work_appears: notShown,
  work_merges: notShown,
  remote_answers: notShown,
  workspace_ready: notShown,
}

const outcomeBy = <T extends PostCondition['type']>(
  shown: WatchedLaunch,
  condition: Extract<PostCondition, { type: T }>,
): PostConditionOutcome => {
  const type: T = condition.type
  return outcomes[type](shown, condition)
}

export const launchOutcome = (shown: WatchedLaunch, condition: PostCondition): PostConditionOutcome =>
  outcomeBy(shown, condition)
