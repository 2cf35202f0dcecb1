/** What a launch that has ended shows about the recoveries that are still open: their post-conditions, as far as it can tell. */
import type { Launch } from '../../domain/run.ts'
import type { Reading, Settled } from '../../harness/driver.ts'
import type { ObservedStall } from '../../recovery/evidence.ts'
import type { PostCondition } from '../../recovery/playbook.ts'
import type { Files } from '../core/files.ts'
import { lookAtDirectory } from '../core/folder-access.ts'
import type { Outcome } from '../core/recovery-record.ts'
import { isInside, isRefusedAgain, type Observed } from './observe-denial.ts'

export interface Shown extends Observed {
  launch: Pick<Launch, 'corrections' | 'resumeSession'>
  reading: Reading
  settled: Settled
  stall: ObservedStall | undefined
  files: Files
}

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
  if (lookAtDirectory(shown.files, directory) !== undefined)
    return { holds: false, detail: `${directory} cannot be used again` }
  const again = shown.denials.some(({ kind, directory: at }) => kind === 'filesystem' && isInside(at ?? '', directory))
  return unrefused(shown, again, {
    again: `the system refused a path below ${directory} again`,
    holds: `no refusal below ${directory}`,
  })
}

/** Whether a restart helped although its turn stood still as well: work that was written counts. */
const progressSince = (before: string, now: ObservedStall): Outcome => {
  // What it left before is not known, so this shows nothing.
  if (before === '') return undefined
  return now.tree === before
    ? { holds: false, detail: `it did not get on again (${now.kind}) and changed nothing` }
    : {
        holds: true,
        detail: `it ended too early again (${now.kind}), but got on: ${now.changed?.length ?? 0} changed path(s)`,
      }
}

const agentGetsOn: OutcomeOf<'agent_gets_on'> = ({ settled, stall }, { tree }) => {
  if (settled.ok) return { holds: true, detail: 'the restarted turn ended by itself' }
  return stall === undefined ? undefined : progressSince(tree, stall)
}

const providerAnswers: OutcomeOf<'provider_answers'> = ({ settled }) =>
  settled.ok ? { holds: true, detail: 'the provider answered' } : undefined

/** A launch shows nothing about them: checks, collected work and the remote do. */
const notShown = (): Outcome => undefined

const outcomes: { [T in PostCondition['type']]: OutcomeOf<T> } = {
  session_opens: sessionOpens,
  directory_usable: directoryUsable,
  directory_accessible: directoryAccessible,
  tool_allowed: toolAllowed,
  agent_gets_on: agentGetsOn,
  provider_answers: providerAnswers,
  check_runs: notShown,
  remaining_checks_pass: notShown,
  tests_pass: notShown,
  fewer_failures: notShown,
  paths_allowed: notShown,
  tests_kept: notShown,
  checks_kept: notShown,
  work_appears: notShown,
  work_merges: notShown,
  remote_answers: notShown,
  workspace_ready: notShown,
}

const outcomeBy = <T extends PostCondition['type']>(
  shown: Shown,
  condition: Extract<PostCondition, { type: T }>,
): Outcome => {
  const type: T = condition.type
  return outcomes[type](shown, condition)
}

export const outcomeOf = (shown: Shown, condition: PostCondition): Outcome => outcomeBy(shown, condition)
