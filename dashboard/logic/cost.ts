/** What a recovery cost: the time until its outcome was observed, and the spend of the launch or run that followed. Pure. */
import type { Recovery, Run } from '../../src/api/contract.ts'
import { spanText } from './clock.ts'
import { moneyText, tokensText } from './text.ts'

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
