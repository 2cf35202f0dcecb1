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

/** `npm test: 2 findings` of what an agent was told. */
const feedbackText = (part: unknown): string | undefined => {
  if (typeof part !== 'object' || part === null || !('command' in part) || !('failing' in part)) return undefined
  const count = Array.isArray(part.failing) ? part.failing.length : 0
  return `${String(part.command)}: ${plural(count, 'finding')}`
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
