/** When a recovery counts as a success, in words. Pure. */
import type { Recovery } from '../../src/api/contract.ts'
import { words } from './text.ts'

type Condition = Recovery['postCondition']

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** What has to be observed, as the end of "Succeeds when …". */
const conditions: Readonly<Record<string, (condition: Condition) => string>> = {
  session_opens: () => 'the agent opens a session',
  directory_usable: (c) => `the next turn ends without a refusal in ${textOf(c['directory'])}`,
  directory_accessible: (c) => `${textOf(c['directory'])} can be read, written and entered`,
  tool_allowed: () => 'the next turn ends without a refusal of what is allowed now',
  check_runs: (c) => `${textOf(c['command'])} runs, and passes or judges the work`,
  proposal_helps: (c) => `${textOf(c['command'])} passes or fails in another way`,
  remaining_checks_pass: () => 'the remaining checks pass',
  agent_gets_on: () => 'the agent ends its turn or changes a file',
  tests_pass: () => 'all of its tests pass',
  fewer_failures: (c) => `${textOf(c['command'])} has fewer failures`,
  tests_kept: () => 'every test that failed is still part of the work',
  checks_kept: () => 'what was weakened is restored, or the task names it',
  markers_gone: () => 'no conflict marker is left',
  paths_allowed: () => 'the rules of the task allow every change of these paths',
  work_appears: () => 'the next turn leaves a change',
  provider_answers: () => 'the next launch ends without this failure',
  work_merges: () => 'the next commit of the task is merged',
  remote_answers: () => 'the base commit could be fetched',
  workspace_ready: () => 'the set-up of the next run passes',
}

/** A type that this page does not know yet is named as it is. */
export const conditionText = (condition: Condition): string =>
  conditions[condition.type]?.(condition) ?? words(condition.type)
