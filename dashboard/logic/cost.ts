/** What a recovery cost: the time until its outcome was observed, and the spend of the launch or run that followed. Pure. */
import type { Recovery, Run } from '../../src/api/contract.ts'
import { spanText } from './clock.ts'
import { moneyText, plural, tokensText } from './text.ts'

type Found = Recovery
type Attempt = Run

const spentText = ({ tokens, costUsd }: { tokens: number; costUsd: number }): string =>
  tokens === 0 && costUsd === 0 ? '' : `, ${tokensText(tokens)}, ${moneyText(costUsd)}`

/** What it started: the next launch of its run, else the next run of its task. */
const ledTo = (recovery: Found, runs: readonly Attempt[]): string => {
  const own = runs.find(({ id }) => id === recovery.runId)
  const launch = own?.launches.find(({ startedAt }) => startedAt !== null && startedAt >= recovery.startedAt)
  if (launch !== undefined && recovery.scope === 'launch')
    return `launch ${launch.number}${launch.spend === null ? ' (running)' : spentText(launch.spend)}`
  const run = runs.find((candidate) => candidate.taskId === recovery.taskId && candidate.startedAt > recovery.startedAt)
  if (run !== undefined && recovery.scope === 'task') return `run ${run.number}${spentText(run.spend)}`
  return ''
}

export const costText = (recovery: Found, runs: readonly Attempt[]): string => {
  const took =
    recovery.decidedAt === null
      ? 'not decided yet'
      : spanText(Date.parse(recovery.decidedAt) - Date.parse(recovery.startedAt))
  return [took, ledTo(recovery, runs)].filter((part) => part !== '').join('; ')
}

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

export const conditionText = (condition: Condition): string =>
  conditions[condition.type]?.(condition) ?? condition.type.replaceAll('_', ' ')

/** `npm test: 2 findings` of what an agent was told. */
const feedbackText = (part: unknown): string | undefined => {
  if (typeof part !== 'object' || part === null || !('command' in part) || !('failing' in part)) return undefined
  const count = Array.isArray(part.failing) ? part.failing.length : 0
  return `${textOf(part.command)}: ${plural(count, 'finding')}`
}

/** What tells one recovery from another in the store, and says nothing to people; `because` repeats the evidence. */
const internal = new Set(['type', 'name', 'key', 'tree', 'restart', 'because'])

/** The parameters of an action or post-condition for people. */
export const parametersOf = (value: Record<string, unknown>): [string, string][] =>
  Object.entries(value)
    .filter(([name, part]) => !internal.has(name) && part !== null && part !== false && part !== '')
    .map(([name, part]) => {
      if (name.endsWith('Ms') && typeof part === 'number') return [name.slice(0, -2), spanText(part)]
      if (Array.isArray(part) && part.every((each) => typeof each === 'string')) return [name, part.join(', ')]
      if (typeof part !== 'string') return [name, feedbackText(part) ?? JSON.stringify(part)]
      return [name, /^[0-9a-f]{40}$/.test(part) ? part.slice(0, 12) : part]
    })
